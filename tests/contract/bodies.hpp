// Every body that runs alike over ranks that are threads and ranks that are processes.
#pragma once

#include "agreement.hpp"
#include "faults.hpp"
#include "interrupts.hpp"
#include "life.hpp"

// test(body, arguments...): body(world, arguments...)
#define CMM_FOR_EACH_CONTRACT_BODY(test)                                                         \
  test(meshes_come_and_go, 300) test(plans_come_and_go, 300) test(calls_of_changing_sizes, 1000) \
      test(sixteen_ranks) test(two_meshes_at_once) test(sub_meshes_in_parallel)                  \
          test(a_failure_stays_in_its_sub_mesh) test(idle_ranks_use_no_processor)                \
              test(a_forked_child_is_no_rank) test(plans_that_differ_are_refused_on_all)         \
                  test(a_rank_one_call_behind_is_named) test(a_rank_that_never_comes_is_named)   \
                      test(exchanges_for_different_purposes_fail_on_all)                         \
                          test(a_wrong_deadline_is_refused_though_a_rank_is_late)                \
                              test(a_wrong_deadline_of_an_exchange_is_refused_on_all)            \
                                  test(abort_of_a_waiting_rank) test(interrupted_system_calls)   \
                                      test(a_signal_shows_the_history)
