! A Fortran program with collective accesses, for all bindings: WEIR_F08 is `use mpi_f08`, WEIR_MPIF_H the include file.
program fortran_access
#if defined(WEIR_F08)
  use mpi_f08
#elif !defined(WEIR_MPIF_H)
  use mpi
#endif
  implicit none
#if defined(WEIR_MPIF_H)
  include 'mpif.h'
#endif
#if defined(WEIR_F08)
  type(MPI_File) :: file
  type(MPI_Datatype) :: view
  type(MPI_Info) :: info
  type(MPI_Status) :: status
  type(MPI_Request) :: request
#else
  integer :: file, view, info, request
  integer :: status(MPI_STATUS_SIZE)
#endif
  integer, parameter :: rows = 5, columns = 4
  integer :: rank, ranks, error, count, i, j
  integer(MPI_OFFSET_KIND) :: place
  double precision :: mine(rows, columns), back(rows, columns)
  character(len=200) :: path, text
  logical :: found

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)

  do j = 1, columns
    do i = 1, rows
      mine(i, j) = 1000 * rank + 10 * i + j
    end do
  end do

  call MPI_File_open(MPI_COMM_WORLD, path, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, error)
  call check(error == MPI_SUCCESS, 'opened')
  call MPI_File_get_info(file, info, error)
  call MPI_Info_get(info, 'weir', len(text), text, found, error)
  call check(found .and. text == 'collective', 'taken over')
  call MPI_Info_free(info, error)

  ! The ranks' blocks stand side by side in an array of rows x (columns * ranks).
  call MPI_Type_create_subarray(2, [rows * ranks, columns], [rows, columns], [rows * rank, 0], MPI_ORDER_FORTRAN, &
                                MPI_DOUBLE_PRECISION, view, error)
  call MPI_Type_commit(view, error)
  place = 0
  call MPI_File_set_view(file, place, MPI_DOUBLE_PRECISION, view, 'native', MPI_INFO_NULL, error)
  call check(error == MPI_SUCCESS, 'view set')

  call MPI_File_write_all(file, mine, rows * columns, MPI_DOUBLE_PRECISION, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  call check(count == rows * columns, 'written')
  call MPI_File_get_position(file, place, error)
  call check(place == rows * columns, 'pointer moved')

  back = 0
  place = 0
  call MPI_File_read_at_all(file, place, back, rows * columns, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
  call check(error == MPI_SUCCESS .and. all(back == mine), 'read again')

  mine = mine + 0.5d0
  call MPI_File_write_at_all_begin(file, place, mine, rows * columns, MPI_DOUBLE_PRECISION, error)
  call MPI_File_write_at_all_end(file, mine, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  call check(count == rows * columns, 'written in two halves')

  back = 0
  call MPI_File_iread_at_all(file, place, back, rows * columns, MPI_DOUBLE_PRECISION, request, error)
  call MPI_Wait(request, status, error)
  call check(all(back == mine), 'read without blocking')

  call MPI_File_seek(file, place, MPI_SEEK_SET, error)
  back = 0
  call MPI_File_read(file, back, rows * columns, MPI_DOUBLE_PRECISION, status, error)
  call check(all(back == mine), 'read alone')

  call MPI_Type_free(view, error)
  call MPI_File_close(file, error)
  call check(error == MPI_SUCCESS, 'closed')
  if (rank == 0) print '(a)', 'all right'
  call MPI_Finalize(error)

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer :: ignored
    if (right) return
    print '(2a)', 'not ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine check

end program fortran_access
