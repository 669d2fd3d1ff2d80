!> Weir for Fortran: the verbs of weir.h and weir.hpp with Fortran's types.
!>
!> Every call gives a code, 0 when all went well; weir_last_message() tells what went wrong.
!> A communicator is the integer of `use mpi`, or comm%mpi_val of `use mpi_f08`.
!> Arrays given to weir_write and weir_read must be contiguous and stay where they are until the step is finished;
!> declare them `target` or `asynchronous`. Boxes have the first dimension fastest and start at 1, as Fortran's arrays.
module weir
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private

  integer, parameter, public :: weir_ok = 0, weir_invalid = 1, weir_mismatch = 2, weir_settings = 3, &
    weir_finalized = 4, weir_no_space = 5, weir_quota = 6, weir_too_large = 7, weir_read_only = 8, weir_access = 9, &
    weir_not_found = 10, weir_exists = 11, weir_too_many_files = 12, weir_no_memory = 13, weir_end_of_file = 14, &
    weir_corrupt = 15, weir_unsupported = 16, weir_io = 17, weir_internal = 18

  type, public :: weir_context
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, public :: weir_file
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, public :: weir_step
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, public :: weir_plan
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, public :: weir_declaration
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, public :: weir_drain
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, public :: weir_setting
    character(len=64) :: name = ''
    character(len=256) :: value = ''
  end type

  !> `count` pieces of `length` bytes, the first at `offset` (from 0), each `stride` after the one before.
  type, bind(C), public :: weir_run
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: length = 0
    integer(c_int64_t) :: stride = 0
    integer(c_int64_t) :: count = 1
  end type

  !> What a step did, on this rank; as weir::Report.
  type, bind(C), public :: weir_step_report
    integer(c_int64_t) :: bytes = 0, stored_bytes = 0, stored_while_aggregating = 0, buffer_bytes = 0
    integer(c_int64_t) :: list_bytes = 0, remote_bytes = 0, storage_calls = 0, messages = 0
    real(c_double) :: plan_s = 0, copy_s = 0, storage_s = 0, wait_s = 0, meeting_s = 0, leaving_s = 0
  end type

  type, bind(C) :: c_setting
    type(c_ptr) :: name = c_null_ptr, value = c_null_ptr
  end type

  public :: weir_version, weir_last_message, weir_last_bytes
  public :: weir_context_create, weir_context_free
  public :: weir_create, weir_open, weir_update, weir_file_step, weir_sync, weir_close
  public :: weir_drain_start, weir_drain_progress, weir_drain_wait
  public :: weir_declaration_new, weir_declaration_free, weir_declaration_runs, weir_declaration_box, &
    weir_declaration_variable
  public :: weir_declare, weir_write, weir_read, weir_finish, weir_start, weir_absorb, weir_test, weir_wait, &
    weir_explain, weir_report, weir_step_free
  public :: weir_step_plan, weir_plan_step, weir_plan_hash, weir_plan_text, weir_plan_explain, weir_plan_save, &
    weir_load_plan, weir_plan_free

  include 'c_interface.inc'

  !> Settings as C wants them: texts that end with a null character, and a last entry of null pointers.
  type :: setting_list
    character(kind=c_char, len=65), allocatable :: names(:)
    character(kind=c_char, len=257), allocatable :: values(:)
    type(c_setting), allocatable :: entries(:)
  end type

contains

  function weir_version() result(text)
    character(len=:), allocatable :: text
    text = text_of(c_version())
  end function

  function weir_last_message() result(text)
    character(len=:), allocatable :: text
    text = text_of(c_last_message())
  end function

  function weir_last_bytes() result(bytes)
    integer(int64) :: bytes
    bytes = c_last_bytes()
  end function

  subroutine weir_context_create(communicator, context, code, settings)
    integer, intent(in) :: communicator
    type(weir_context), intent(out) :: context
    integer, intent(out) :: code
    type(weir_setting), intent(in), optional :: settings(:)
    type(setting_list), target :: list
    call fill(list, settings)
    code = c_context_create(communicator, c_loc(list%entries), context%handle)
  end subroutine

  subroutine weir_context_free(context, code)
    type(weir_context), intent(inout) :: context
    integer, intent(out) :: code
    code = c_context_free(context%handle)
  end subroutine

  subroutine weir_create(context, path, file, code, settings, plan)
    type(weir_context), intent(in) :: context
    character(len=*), intent(in) :: path
    type(weir_file), intent(out) :: file
    integer, intent(out) :: code
    type(weir_setting), intent(in), optional :: settings(:)
    type(weir_plan), intent(in), optional :: plan
    type(setting_list), target :: list
    call fill(list, settings)
    if (present(plan)) then
      code = c_create_planned(context%handle, trim(path)//c_null_char, plan%handle, c_loc(list%entries), file%handle)
    else
      code = c_create(context%handle, trim(path)//c_null_char, c_loc(list%entries), file%handle)
    end if
  end subroutine

  subroutine weir_open(context, path, file, code, settings, plan)
    type(weir_context), intent(in) :: context
    character(len=*), intent(in) :: path
    type(weir_file), intent(out) :: file
    integer, intent(out) :: code
    type(weir_setting), intent(in), optional :: settings(:)
    type(weir_plan), intent(in), optional :: plan
    type(setting_list), target :: list
    call fill(list, settings)
    if (present(plan)) then
      code = c_open_planned(context%handle, trim(path)//c_null_char, plan%handle, c_loc(list%entries), file%handle)
    else
      code = c_open(context%handle, trim(path)//c_null_char, c_loc(list%entries), file%handle)
    end if
  end subroutine

  subroutine weir_update(context, path, file, code, settings, plan)
    type(weir_context), intent(in) :: context
    character(len=*), intent(in) :: path
    type(weir_file), intent(out) :: file
    integer, intent(out) :: code
    type(weir_setting), intent(in), optional :: settings(:)
    type(weir_plan), intent(in), optional :: plan
    type(setting_list), target :: list
    call fill(list, settings)
    if (present(plan)) then
      code = c_update_planned(context%handle, trim(path)//c_null_char, plan%handle, c_loc(list%entries), file%handle)
    else
      code = c_update(context%handle, trim(path)//c_null_char, c_loc(list%entries), file%handle)
    end if
  end subroutine

  !> A step of the plan that the file was opened with, all offsets moved by `shift` bytes.
  subroutine weir_file_step(file, shift, step, code)
    type(weir_file), intent(in) :: file
    integer(int64), intent(in) :: shift
    type(weir_step), intent(out) :: step
    integer, intent(out) :: code
    code = c_file_step(file%handle, shift, step%handle)
  end subroutine

  subroutine weir_sync(file, code)
    type(weir_file), intent(in) :: file
    integer, intent(out) :: code
    code = c_sync(file%handle)
  end subroutine

  !> With `step`, finishes it too: the ranks meet once instead of twice.
  subroutine weir_close(file, code, step)
    type(weir_file), intent(inout) :: file
    integer, intent(out) :: code
    type(weir_step), intent(in), optional :: step
    if (present(step)) then
      code = c_close_step(file%handle, step%handle)
    else
      code = c_close(file%handle)
    end if
  end subroutine

  subroutine weir_drain_start(context, path, drain, code, settings)
    type(weir_context), intent(in) :: context
    character(len=*), intent(in) :: path
    type(weir_drain), intent(out) :: drain
    integer, intent(out) :: code
    type(weir_setting), intent(in), optional :: settings(:)
    type(setting_list), target :: list
    call fill(list, settings)
    code = c_drain_start(context%handle, trim(path)//c_null_char, c_loc(list%entries), drain%handle)
  end subroutine

  subroutine weir_drain_progress(drain, done, total, code)
    type(weir_drain), intent(in) :: drain
    integer(int64), intent(out) :: done, total
    integer, intent(out) :: code
    code = c_drain_progress(drain%handle, done, total)
  end subroutine

  subroutine weir_drain_wait(drain, code)
    type(weir_drain), intent(inout) :: drain
    integer, intent(out) :: code
    code = c_drain_wait(drain%handle)
  end subroutine

  subroutine weir_declaration_new(declaration, code)
    type(weir_declaration), intent(out) :: declaration
    integer, intent(out) :: code
    code = c_declaration_new(declaration%handle)
  end subroutine

  subroutine weir_declaration_free(declaration, code)
    type(weir_declaration), intent(inout) :: declaration
    integer, intent(out) :: code
    code = c_declaration_free(declaration%handle)
  end subroutine

  subroutine weir_declaration_runs(declaration, runs, decomposition, code)
    type(weir_declaration), intent(in) :: declaration
    type(weir_run), intent(in) :: runs(:)
    integer, intent(out) :: decomposition, code
    code = c_declaration_runs(declaration%handle, size(runs, kind=c_size_t), runs, decomposition)
  end subroutine

  subroutine weir_declaration_box(declaration, array, start, extent, element, at, decomposition, code)
    type(weir_declaration), intent(in) :: declaration
    integer(int64), intent(in) :: array(:), start(:), extent(:), element, at
    integer, intent(out) :: decomposition, code
    integer :: n
    n = size(array)
    if (size(start) /= n .or. size(extent) /= n) then
      code = c_refuse('weir_declaration_box: array, start and extent have different numbers of dimensions'// &
        c_null_char)
      return
    end if
    code = c_declaration_box(declaration%handle, n, array(n:1:-1), start(n:1:-1) - 1, extent(n:1:-1), element, at, &
      decomposition)
  end subroutine

  subroutine weir_declaration_variable(declaration, decomposition, at, variable, code)
    type(weir_declaration), intent(in) :: declaration
    integer, intent(in) :: decomposition
    integer(int64), intent(in) :: at
    integer, intent(out) :: variable, code
    code = c_declaration_variable(declaration%handle, decomposition, at, variable)
  end subroutine

  subroutine weir_declare(file, declaration, step, code)
    type(weir_file), intent(in) :: file
    type(weir_declaration), intent(in) :: declaration
    type(weir_step), intent(out) :: step
    integer, intent(out) :: code
    code = c_declare(file%handle, declaration%handle, step%handle)
  end subroutine

  subroutine weir_write(step, variable, data, code)
    type(weir_step), intent(in) :: step
    integer, intent(in) :: variable
    type(*), dimension(..), intent(in), asynchronous :: data
    integer, intent(out) :: code
    code = c_write(step%handle, variable, data)
  end subroutine

  subroutine weir_read(step, variable, data, code)
    type(weir_step), intent(in) :: step
    integer, intent(in) :: variable
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer, intent(out) :: code
    code = c_read(step%handle, variable, data)
  end subroutine

  subroutine weir_finish(step, code)
    type(weir_step), intent(in) :: step
    integer, intent(out) :: code
    code = c_finish(step%handle)
  end subroutine

  subroutine weir_start(step, code)
    type(weir_step), intent(in) :: step
    integer, intent(out) :: code
    code = c_start(step%handle)
  end subroutine

  subroutine weir_absorb(step, code)
    type(weir_step), intent(in) :: step
    integer, intent(out) :: code
    code = c_absorb(step%handle)
  end subroutine

  subroutine weir_test(step, done, code)
    type(weir_step), intent(in) :: step
    logical, intent(out) :: done
    integer, intent(out) :: code
    integer(c_int) :: c_done
    c_done = 0
    code = c_test(step%handle, c_done)
    done = c_done /= 0
  end subroutine

  subroutine weir_wait(step, code)
    type(weir_step), intent(in) :: step
    integer, intent(out) :: code
    code = c_wait(step%handle)
  end subroutine

  subroutine weir_explain(step, text, code)
    type(weir_step), intent(in) :: step
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out) :: code
    type(c_ptr) :: c_text
    c_text = c_null_ptr
    code = c_explain(step%handle, c_text)
    text = text_of(c_text)
  end subroutine

  subroutine weir_report(step, report, code)
    type(weir_step), intent(in) :: step
    type(weir_step_report), intent(out) :: report
    integer, intent(out) :: code
    code = c_report(step%handle, report)
  end subroutine

  subroutine weir_step_free(step, code)
    type(weir_step), intent(inout) :: step
    integer, intent(out) :: code
    code = c_step_free(step%handle)
  end subroutine

  subroutine weir_step_plan(step, plan, code)
    type(weir_step), intent(in) :: step
    type(weir_plan), intent(out) :: plan
    integer, intent(out) :: code
    code = c_step_plan(step%handle, plan%handle)
  end subroutine

  subroutine weir_plan_step(file, plan, shift, step, code)
    type(weir_file), intent(in) :: file
    type(weir_plan), intent(in) :: plan
    integer(int64), intent(in) :: shift
    type(weir_step), intent(out) :: step
    integer, intent(out) :: code
    code = c_plan_step(file%handle, plan%handle, shift, step%handle)
  end subroutine

  subroutine weir_plan_hash(plan, hash, code)
    type(weir_plan), intent(in) :: plan
    integer(int64), intent(out) :: hash
    integer, intent(out) :: code
    code = c_plan_hash(plan%handle, hash)
  end subroutine

  subroutine weir_plan_text(plan, text, code)
    type(weir_plan), intent(in) :: plan
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out) :: code
    type(c_ptr) :: c_text
    c_text = c_null_ptr
    code = c_plan_text(plan%handle, c_text)
    text = text_of(c_text)
  end subroutine

  subroutine weir_plan_explain(plan, text, code)
    type(weir_plan), intent(in) :: plan
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out) :: code
    type(c_ptr) :: c_text
    c_text = c_null_ptr
    code = c_plan_explain(plan%handle, c_text)
    text = text_of(c_text)
  end subroutine

  subroutine weir_plan_save(plan, path, code)
    type(weir_plan), intent(in) :: plan
    character(len=*), intent(in) :: path
    integer, intent(out) :: code
    code = c_plan_save(plan%handle, trim(path)//c_null_char)
  end subroutine

  subroutine weir_load_plan(context, path, plan, code)
    type(weir_context), intent(in) :: context
    character(len=*), intent(in) :: path
    type(weir_plan), intent(out) :: plan
    integer, intent(out) :: code
    code = c_load_plan(context%handle, trim(path)//c_null_char, plan%handle)
  end subroutine

  subroutine weir_plan_free(plan, code)
    type(weir_plan), intent(inout) :: plan
    integer, intent(out) :: code
    code = c_plan_free(plan%handle)
  end subroutine

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    if (.not. c_associated(pointer)) then
      text = ''
      return
    end if
    call c_f_pointer(pointer, letters, [c_strlen(pointer)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  subroutine fill(list, settings)
    type(setting_list), intent(out), target :: list
    type(weir_setting), intent(in), optional :: settings(:)
    integer :: i, n
    n = 0
    if (present(settings)) n = size(settings)
    allocate (list%names(n), list%values(n), list%entries(n + 1))
    do i = 1, n
      list%names(i) = trim(settings(i)%name)//c_null_char
      list%values(i) = trim(settings(i)%value)//c_null_char
      list%entries(i) = c_setting(c_loc(list%names(i)), c_loc(list%values(i)))
    end do
  end subroutine

end module
