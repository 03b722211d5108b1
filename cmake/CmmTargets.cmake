# The targets every other target is made of: common flags, one object library per layer, tests.

# Flags of our own code only; nothing of it reaches the users of the installed package.
# -ffp-contract=off: a sum is fused where the source says fma and nowhere else, so that every
# instruction set computes the same bits.
add_library(cmm_flags INTERFACE)
target_compile_features(cmm_flags INTERFACE cxx_std_20)
target_compile_options(cmm_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                           -ffp-contract=off -fno-math-errno)
target_include_directories(cmm_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_SOURCE_DIR}/src)
if(CMM_DEBUG_CHECKS)
  target_compile_definitions(cmm_flags INTERFACE CMM_DEBUG_CHECKS)
endif()
if(CMM_SANITIZE)
  target_compile_definitions(cmm_flags INTERFACE CMM_SANITIZED)
  target_compile_options(cmm_flags INTERFACE -fsanitize=${CMM_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
  target_link_options(cmm_flags INTERFACE -fsanitize=${CMM_SANITIZE})
endif()

# cmm_layer(NAME SOURCES...): object library cmm_NAME. Layers do not link each other: the library
# `cmm` is made of all of them, and tools/check_layers keeps their includes pointing down.
function(cmm_layer name)
  add_library(cmm_${name} OBJECT ${ARGN})
  target_link_libraries(cmm_${name} PRIVATE cmm_flags Threads::Threads)
  set_target_properties(cmm_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                               CXX_VISIBILITY_PRESET default)
endfunction()

# cmm_test(NAME LABEL label TIMEOUT seconds SOURCES...): a GoogleTest program, run as one test.
# Target tests_<label> builds all of one label; a label not listed here is an error. Tests that may
# take long start first (COST), so that none of them is left to run alone at the end.
if(CMM_TESTS)
  foreach(label unit ranks procs mpi tpu aot cli long)
    add_custom_target(tests_${label})
  endforeach()
endif()
function(cmm_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cmm cmm_flags GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # Compiles in two thirds of the time, and what the tests are about lies in the library.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_test(NAME ${name} COMMAND ${name})
  # A sanitizer slows code ten times, and by itself ends a program that asks for too much memory.
  if(CMM_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 10")
    set(sanitizer_options "ASAN_OPTIONS=allocator_may_return_null=1"
                          "TSAN_OPTIONS=allocator_may_return_null=1")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
                                          COST ${arg_TIMEOUT} ENVIRONMENT "${sanitizer_options}")
  add_dependencies(tests_${arg_LABEL} ${name})
endfunction()

# cmm_mpi_test(NAME TIMEOUT seconds RANKS n... SOURCES... [ARGUMENTS argument...]): a program with a
# main of its own, run as one test for each number of ranks. Again without SOURCES: the same program
# with other arguments.
function(cmm_mpi_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "RANKS;SOURCES;ARGUMENTS" ${ARGN})
  if(arg_SOURCES)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE cmm_mpi cmm_flags GTest::gtest)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    add_dependencies(tests_mpi ${name})
  endif()
  foreach(num_ranks IN LISTS arg_RANKS)
    set(words ${name} ${arg_ARGUMENTS} ${num_ranks})
    list(JOIN words "_" test)
    if(CMM_MPIEXEC)
      add_test(NAME ${test} COMMAND ${CMM_MPIEXEC} ${num_ranks} $<TARGET_FILE:${name}>
                                    ${arg_ARGUMENTS})
      # Ranks that wait for each other on too few cores take long: not beside other tests.
      set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ON)
    else()
      cmm_skipped_test(${test} mpi "nothing here starts MPI's ranks (mpiexec is missing)")
    endif()
  endforeach()
endfunction()

# cmm_skipped_test(NAME LABEL REASON): what ctest lists as skipped.
function(cmm_skipped_test name label reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_REGULAR_EXPRESSION "skipped:")
endfunction()

# cmm_hosts_test(NAME SCRIPT PROGRAM TIMEOUT): `SCRIPT tools/hosts PROGRAM`, which makes several
# hosts of this one, or says why it cannot and ends with 77. Not beside other tests.
function(cmm_hosts_test name script program timeout)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script}
                                ${PROJECT_SOURCE_DIR}/tools/hosts $<TARGET_FILE:${program}>)
  set_tests_properties(${name} PROPERTIES
    LABELS mpi TIMEOUT ${timeout} RUN_SERIAL ON SKIP_RETURN_CODE 77
    ENVIRONMENT "MPIRUN=${MPIEXEC_EXECUTABLE}")
endfunction()

# cmm_bench(NAME SOURCES...): a benchmark program that `./dev bench` runs. It takes `--json FILE`.
if(CMM_BENCH)
  add_custom_target(cmm_bench)
endif()
function(cmm_bench name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE cmm::cmm cmm_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  add_dependencies(cmm_bench ${name})
  set_property(GLOBAL APPEND PROPERTY cmm_bench_programs ${name})
endfunction()

# cmm_bench_list(): writes the names of those programs, one a line, to bench/programs.txt.
function(cmm_bench_list)
  get_property(programs GLOBAL PROPERTY cmm_bench_programs)
  list(JOIN programs "\n" lines)
  file(WRITE ${PROJECT_BINARY_DIR}/bench/programs.txt "${lines}\n")
endfunction()
