! The Fortran module against what is particular to it: order of dimensions, starts from 1, arrays of any type and rank,
! arrays that are not contiguous, settings, communicators of mpi_f08.
program fortran_api
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  use mpi_f08
  use weir
  implicit none

  integer, parameter :: nx = 3, ny = 5
  type(weir_context) :: context
  integer :: rank, ranks, code, failures
  character(len=32) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  failures = 0
  write (path, '(a,i0,a)') 'fortran_api_', ranks, '.dat'

  call weir_context_create(MPI_COMM_WORLD%mpi_val, context, code, [weir_setting('plan.memroy', '1MiB')])
  call expect(code == weir_settings, 'an unknown setting is an error')
  call expect(index(weir_last_message(), "did you mean 'plan.memory'") > 0, 'with the nearest match')
  call weir_context_create(MPI_COMM_WORLD%mpi_val, context, code, [weir_setting('plan.buffers', '3')])
  call expect(code == weir_ok, 'a context with settings')

  call write_columns()
  if (rank == 0) call check_file()
  call read_columns()
  call drain_columns()
  if (rank == 0) call check_file()
  call null_handles()

  call weir_context_free(context, code)
  call expect(code == weir_ok, 'freeing the context')
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures > 0) error stop 1

contains

  subroutine expect(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (true) return
    failures = failures + 1
    write (error_unit, '(a,i0,4a)') 'rank ', rank, ': FAILED: ', what, ': ', weir_last_message()
  end subroutine

  ! An (nx, ny * ranks) array of integers, each rank having ny columns, and a text of 4 letters a rank behind it.
  subroutine declare(declaration, variable)
    type(weir_declaration), intent(out) :: declaration
    integer, intent(out) :: variable(2)
    integer :: decomposition
    integer(int64) :: whole(2)
    whole = [integer(int64) :: nx, ny * ranks]
    call weir_declaration_new(declaration, code)
    call weir_declaration_box(declaration, whole, [integer(int64) :: 1, ny * rank + 1], [integer(int64) :: nx, ny], &
      4_int64, 0_int64, decomposition, code)
    call expect(code == weir_ok, 'declaring a box')
    call weir_declaration_variable(declaration, decomposition, 0_int64, variable(1), code)
    call weir_declaration_runs(declaration, [weir_run(offset=4 * rank, length=4)], decomposition, code)
    call expect(code == weir_ok, 'declaring runs')
    call weir_declaration_variable(declaration, decomposition, 4 * product(whole), variable(2), code)
    call weir_declaration_box(declaration, whole, [1_int64], [1_int64], 4_int64, 0_int64, decomposition, code)
    call expect(code == weir_invalid, 'dimensions that differ are refused')
  end subroutine

  function value_at(x, y) result(value)
    integer, intent(in) :: x, y
    integer :: value
    value = 100 * y + x
  end function

  function columns() result(values)
    integer :: values(nx, ny), x, y
    do y = 1, ny
      do x = 1, nx
        values(x, y) = value_at(x, ny * rank + y)
      end do
    end do
  end function

  subroutine write_columns()
    type(weir_declaration) :: declaration
    type(weir_file) :: file
    type(weir_step) :: step
    type(weir_plan) :: plan
    type(weir_step_report) :: report
    integer, target :: values(nx, ny), wide(2 * nx, ny)
    character(len=4), target :: letters
    character(len=:), allocatable :: text
    integer :: variable(2)
    integer(int64) :: hash

    values = columns()
    wide = 0
    letters = repeat(achar(iachar('a') + rank), 4)
    call declare(declaration, variable)
    call weir_create(context, path, file, code)
    call expect(code == weir_ok, 'creating')
    call weir_declare(file, declaration, step, code)
    call expect(code == weir_ok, 'declaring')
    call weir_write(step, variable(1), wide(1:nx, :), code)
    call expect(code == weir_invalid .and. index(weir_last_message(), 'not contiguous') > 0, &
      'an array that is not contiguous is refused')
    call weir_write(step, variable(1), values, code)
    call expect(code == weir_ok, 'writing an array of rank 2')
    call weir_write(step, variable(2), letters, code)
    call expect(code == weir_ok, 'writing a text')
    call weir_finish(step, code)
    call expect(code == weir_ok, 'finishing')
    call expect(weir_last_bytes() == 4_int64 * (nx * ny + 1) * ranks, 'the bytes of all ranks')
    call weir_report(step, report, code)
    call expect(code == weir_ok .and. report%bytes == 4 * (nx * ny + 1), 'the report')
    call weir_explain(step, text, code)
    call expect(code == weir_ok .and. len(text) > 0, 'the explanation')
    call weir_step_plan(step, plan, code)
    call weir_plan_hash(plan, hash, code)
    call expect(code == weir_ok, 'the hash')
    call weir_plan_text(plan, text, code)
    call expect(code == weir_ok .and. len(text) > 0, 'the text of the plan')
    call weir_step_free(step, code)
    call weir_sync(file, code)
    call expect(code == weir_ok, 'syncing')
    call weir_close(file, code)
    call expect(code == weir_ok, 'closing')

    call weir_update(context, path, file, code, plan=plan)
    call expect(code == weir_ok, 'updating with a plan')
    call weir_file_step(file, 0_int64, step, code)
    call expect(code == weir_ok, 'a step of the file''s plan')
    call weir_write(step, variable(1), values, code)
    call weir_write(step, variable(2), letters, code)
    call weir_close(file, code, step)
    call expect(code == weir_ok, 'finishing and closing the update')
    call weir_step_free(step, code)
    call weir_plan_free(plan, code)
    call weir_declaration_free(declaration, code)
  end subroutine

  subroutine check_file()
    integer :: unit, x, y, whole(nx, ny * ranks)
    character(len=4 * ranks) :: letters
    open (newunit=unit, file=path, access='stream', form='unformatted', status='old', action='read')
    read (unit) whole, letters
    close (unit)
    call expect(all(whole == reshape([((value_at(x, y), x=1, nx), y=1, ny * ranks)], shape(whole))), &
      'the file holds the array in Fortran''s order')
    do x = 0, ranks - 1
      call expect(letters(4 * x + 1:4 * x + 4) == repeat(achar(iachar('a') + x), 4), 'and the texts behind it')
    end do
  end subroutine

  subroutine read_columns()
    type(weir_declaration) :: declaration
    type(weir_file) :: file
    type(weir_step) :: step
    integer, target :: values(nx, ny)
    character(len=1), target :: letters(4)
    integer :: variable(2)
    logical :: done

    values = -1
    letters = '?'
    call declare(declaration, variable)
    call weir_open(context, path, file, code)
    call expect(code == weir_ok, 'opening')
    call weir_declare(file, declaration, step, code)
    call weir_read(step, variable(1), values, code)
    call weir_read(step, variable(2), letters, code)
    call expect(code == weir_ok, 'reading')
    call weir_start(step, code)
    call expect(code == weir_ok, 'starting')
    done = .false.
    do while (.not. done .and. code == weir_ok)
      call weir_test(step, done, code)
    end do
    call weir_wait(step, code)
    call expect(code == weir_ok, 'waiting')
    call expect(all(values == columns()), 'the array comes back')
    call expect(all(letters == achar(iachar('a') + rank)), 'the text comes back')
    call weir_step_free(step, code)
    call weir_close(file, code)
    call weir_declaration_free(declaration, code)
    call weir_open(context, 'absent.dat', file, code)
    call expect(code == weir_not_found, 'a file that is not there')
  end subroutine

  subroutine drain_columns()
    type(weir_setting) :: on_nodes(2)
    type(weir_declaration) :: declaration
    type(weir_file) :: file
    type(weir_step) :: step
    type(weir_drain) :: drain
    integer, target :: values(nx, ny)
    character(len=1), target :: letters(4)
    integer :: variable(2)
    integer(int64) :: done, total

    on_nodes(1) = weir_setting('storage.tier', 'node')
    on_nodes(2) = weir_setting('memory.node_directory', trim(path)//'.node')
    values = columns()
    letters = achar(iachar('a') + rank)
    call declare(declaration, variable)
    call weir_create(context, path, file, code, settings=on_nodes)
    call expect(code == weir_ok, 'creating on the nodes')
    call weir_declare(file, declaration, step, code)
    call weir_write(step, variable(1), values, code)
    call weir_write(step, variable(2), letters, code)
    call weir_close(file, code, step)
    call expect(code == weir_ok, 'closing on the nodes')
    call weir_drain_start(context, path, drain, code, settings=on_nodes)
    call expect(code == weir_ok, 'starting to drain')
    call weir_drain_progress(drain, done, total, code)
    call expect(code == weir_ok .and. done <= total, 'the progress of draining')
    call weir_drain_wait(drain, code)
    call expect(code == weir_ok, 'draining')
    call weir_step_free(step, code)
    call weir_declaration_free(declaration, code)
  end subroutine

  subroutine null_handles()
    type(weir_step) :: step
    type(weir_file) :: file
    call weir_finish(step, code)
    call expect(code == weir_invalid, 'a step that was never made')
    call weir_close(file, code)
    call expect(code == weir_invalid, 'a file that was never opened')
    call weir_step_free(step, code)
    call expect(code == weir_ok, 'freeing nothing')
  end subroutine

end program
