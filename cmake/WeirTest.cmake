include(GoogleTest)
find_package(GTest REQUIRED)

set(WEIR_TEST_SECONDS 120 CACHE STRING "time limit of one test")

# What a launched program needs to know: set for every test.
set(weir_test_environment)
set(weir_ranks 1 2 4 7)  # of those that tests name which are not random
if(WEIR_SANITIZE)
  # By chance the sanitizers of GCC 12 take a thread's memory for that of an old libc, and the search for leaks crashes.
  set(weir_asan_options intercept_tls_get_addr=0)
  list(APPEND weir_test_environment
    RANDOM_CASES=40 FAULT_STRIDE=4
    HWLOC_PLUGINS_PATH=/nowhere  # what hwloc's plugins leak has no name once they are unloaded
    "ASAN_OPTIONS=detect_leaks=1:${weir_asan_options}"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
endif()

if(MPI_C_LIBRARY_VERSION_STRING MATCHES "Open MPI")
  set(weir_mpi_flags --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  list(APPEND weir_test_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  set(weir_most_ranks 64)
  set(weir_most_random_ranks 64)
  set(weir_most_fault_ranks 64)
  set(weir_ranks 1 4 7)  # MPICH has 2
  if(WEIR_SANITIZE)
    set(weir_most_fault_ranks 4)
    set(weir_ranks 1 4)
  endif()
else()
  # MPICH polls without giving way: more ranks than this on few cores measure only the scheduler.
  set(weir_mpi_flags)
  set(weir_most_ranks 2)
  set(weir_most_random_ranks 4)
  set(weir_most_fault_ranks 2)
  list(APPEND weir_test_environment RANDOM_CASES=40 FAULT_STRIDE=4)
endif()

# Under it Open MPI's sockets take little at once, and the library keeps the rest until it is called again.
set(weir_full_sockets env OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_sndbuf=4096 OMPI_MCA_btl_tcp_rcvbuf=4096
  OMPI_MCA_btl_tcp_eager_limit=4096 OMPI_MCA_btl_tcp_rndv_eager_limit=4096)

# Tests that are found when ctest starts cannot be given more than one variable each, so ctest itself has them.
set(weir_environment_file ${CMAKE_BINARY_DIR}/test_environment.cmake)
file(WRITE ${weir_environment_file} "")
foreach(variable IN LISTS weir_test_environment)
  string(REGEX MATCH "^([^=]*)=(.*)$" variable "${variable}")
  file(APPEND ${weir_environment_file} "set(ENV{${CMAKE_MATCH_1}} \"${CMAKE_MATCH_2}\")\n")
endforeach()
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${weir_environment_file})

# weir_mpi_run(name ranks... COMMAND command... [UNDER script words...]): ctest entries <name>.<n>ranks that start the
# command on n ranks; the script is given the words and the whole command line.
function(weir_mpi_run name)
  cmake_parse_arguments(PARSE_ARGV 1 run "" "" "UNDER;COMMAND")
  set(most ${weir_most_ranks})
  if(name MATCHES "^fault")  # thousands of short collective calls
    set(most ${weir_most_fault_ranks})
  elseif(name MATCHES "random")  # what needs several ranks on several nodes
    set(most ${weir_most_random_ranks})
  endif()
  if(WEIR_SANITIZE AND NOT run_COMMAND MATCHES "_test>")  # in others the MPI library unloads its parts: see tests/mpi/main.cpp
    list(APPEND run_UNDER env ASAN_OPTIONS=fast_unwind_on_malloc=0:${weir_asan_options})
  endif()
  set(some ${weir_ranks})
  if(most LESS 4 OR name MATCHES "random" OR NOT 4 IN_LIST run_UNPARSED_ARGUMENTS)
    set(some ${run_UNPARSED_ARGUMENTS})
  endif()
  foreach(ranks IN LISTS run_UNPARSED_ARGUMENTS)
    if(ranks GREATER most OR NOT ranks IN_LIST some)
      continue()
    endif()
    add_test(NAME ${name}.${ranks}ranks
      COMMAND ${run_UNDER} ${MPIEXEC_EXECUTABLE} ${weir_mpi_flags} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${run_COMMAND})
    set_tests_properties(${name}.${ranks}ranks PROPERTIES
      PROCESSORS ${ranks} TIMEOUT ${WEIR_TEST_SECONDS} ENVIRONMENT "${weir_test_environment}")
  endforeach()
endfunction()

set(weir_test_options -Wall -Wextra -Wno-subobject-linkage -O0 -g1)  # compiling costs more than running
if(WEIR_SANITIZE)  # what is tested is the library
  list(APPEND weir_test_options -fno-sanitize=undefined)
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # programs and weir_mpi_main share precompiled headers
add_library(weir_mpi_main STATIC ${PROJECT_SOURCE_DIR}/tests/mpi/main.cpp)
target_compile_options(weir_mpi_main PRIVATE ${weir_test_options})
target_link_libraries(weir_mpi_main PUBLIC weir_internal GTest::gtest)
target_precompile_headers(weir_mpi_main PRIVATE <fmt/format.h> <gtest/gtest.h> <weir/weir.hpp>)

# weir_test_program(name sources... [FIRST library]): the library is linked before all others.
function(weir_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" FIRST "")
  add_executable(${name} ${program_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${weir_test_options})
  target_precompile_headers(${name} REUSE_FROM weir_mpi_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${program_FIRST} weir_internal GTest::gtest)
endfunction()

# What results are compared with: byte after byte, and therefore optimised.
add_library(weir_test_reference STATIC ${PROJECT_SOURCE_DIR}/tests/bytes.cpp
  ${PROJECT_SOURCE_DIR}/tests/mpi/random_declaration.cpp)
target_compile_options(weir_test_reference PRIVATE -Wall -Wextra -O2 -g1)
target_include_directories(weir_test_reference PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(weir_test_reference PUBLIC weir_internal)

# weir_test(name sources...): a GoogleTest program without MPI, each case a ctest entry; with sanitizers, where a process
# takes longer to begin than most cases, in a few parts.
function(weir_test name)
  weir_test_program(${name}_tests ${ARGN})
  target_link_libraries(${name}_tests PRIVATE GTest::gtest_main)
  weir_compile_together(${name}_tests)
  if(NOT WEIR_SANITIZE)
    gtest_discover_tests(${name}_tests TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
      PROPERTIES TIMEOUT ${WEIR_TEST_SECONDS})
    return()
  endif()
  set(parts 4)
  foreach(part RANGE 1 ${parts})
    math(EXPR index "${part} - 1")
    add_test(NAME ${name}.part${part} COMMAND ${name}_tests)
    set_tests_properties(${name}.part${part} PROPERTIES TIMEOUT ${WEIR_TEST_SECONDS}
      ENVIRONMENT "${weir_test_environment};GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# weir_mpi_test(folder name ranks... [UNDER script]): the GoogleTest program <folder>/<name>_test.cpp on each of these
# numbers of ranks.
function(weir_mpi_test folder name)
  weir_test_program(${folder}_${name}_test ${folder}/${name}_test.cpp)
  target_link_libraries(${folder}_${name}_test PRIVATE weir_mpi_main weir_test_reference)
  weir_mpi_run(${folder}.${name} ${ARGN} COMMAND $<TARGET_FILE:${folder}_${name}_test>)
endfunction()
