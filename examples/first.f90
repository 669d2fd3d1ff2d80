! Every rank writes its parts of three arrays into one file, reads them back and checks them.
program first
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  use mpi
  use weir
  implicit none

  integer, parameter :: elements = 1000
  real(kind(1d0)), target :: arrays(elements, 3), back(elements, 3)
  type(weir_context) :: context
  type(weir_declaration) :: declaration
  type(weir_file) :: file
  type(weir_step) :: step
  integer :: rank, ranks, code, decomposition, variable(3), a
  integer(int64) :: part, everything(1), start(1), mine(1)
  logical :: wrong

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  do a = 1, 3
    arrays(:, a) = rank + 0.25d0 * a
  end do
  back = -1

  call weir_context_create(MPI_COMM_WORLD, context, code); call check(code)
  call weir_declaration_new(declaration, code); call check(code)
  everything = int(elements, int64) * ranks
  start = int(elements, int64) * rank + 1
  mine = elements
  call weir_declaration_box(declaration, everything, start, mine, 8_int64, 0_int64, decomposition, code)
  call check(code)
  part = everything(1) * 8
  do a = 1, 3
    call weir_declaration_variable(declaration, decomposition, (a - 1) * part, variable(a), code); call check(code)
  end do

  call weir_create(context, 'first_f90.dat', file, code); call check(code)
  call weir_declare(file, declaration, step, code); call check(code)
  do a = 1, 3
    call weir_write(step, variable(a), arrays(:, a), code); call check(code)
  end do
  call weir_finish(step, code); call check(code)
  call weir_step_free(step, code); call check(code)
  call weir_close(file, code); call check(code)

  call weir_open(context, 'first_f90.dat', file, code); call check(code)
  call weir_declare(file, declaration, step, code); call check(code)
  do a = 1, 3
    call weir_read(step, variable(a), back(:, a), code); call check(code)
  end do
  call weir_finish(step, code); call check(code)
  call weir_step_free(step, code); call check(code)
  call weir_close(file, code); call check(code)

  call weir_declaration_free(declaration, code); call check(code)
  call weir_context_free(context, code); call check(code)
  wrong = any(arrays /= back)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a)', trim(merge('wrong data                ', 'read back what was written', wrong))
  call MPI_Finalize(code)
  if (wrong) error stop 1

contains

  subroutine check(code)
    integer, intent(in) :: code
    integer :: ignored
    if (code == weir_ok) return
    write (error_unit, '(a)') weir_last_message()
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine

end program
