program outside
  use mpi_f08
  use weir
  implicit none
  type(weir_context) :: context
  integer :: code
  call MPI_Init()
  call weir_context_create(MPI_COMM_WORLD%mpi_val, context, code, [weir_setting('plan.buffers', '3')])
  if (code == weir_ok) call weir_context_free(context, code)
  print '(a)', 'weir '//weir_version()
  call MPI_Finalize()
  if (code /= weir_ok) error stop 1
end program
