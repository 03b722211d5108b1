/* A rank sleeps until two peers have counted to 2, on processors that delay stores. It announces its
 * sleep and then looks; a peer counts and then looks for sleepers: without a full fence between the
 * two on either side both may miss each other, and it sleeps for ever (here; 2 ms in the code). */
#include "buffers.pml"

#define ASLEEP FIRST
#define COUNT(peer) (peer == 1 -> SECOND : THIRD)

byte doorbell; /* changed by read-modify-write only */

active proctype sleeper() {
  byte me = 0, count = 1, peer = 1, bell;
  bit announced;
  do
  :: count <= 2 ->
     do
     :: LOAD(COUNT(peer)) >= count -> break
     :: else ->
        if
        :: !announced ->
           announced = 1;
           STORE(ASLEEP, 1);
#ifndef BUG_NO_FENCE_OF_SLEEPER
           FULL_FENCE();
#endif
           bell = doorbell;
#ifdef BUG_SLEEP_AT_ONCE
           (doorbell != bell); bell = doorbell
#endif
        :: else ->
#ifdef BUG_BELL_AFTER_LOOK
           bell = doorbell;
#endif
           (doorbell != bell);
           bell = doorbell
        fi
     od;
     if
     :: announced -> announced = 0; STORE(ASLEEP, 0)
     :: else
     fi;
     bell = 0;
     if
     :: peer == 1 -> peer = 2
     :: else -> peer = 1; count++
     fi
  :: else -> break
  od
}

proctype peer_of_sleeper(byte me) {
  byte count = 1;
  do
  :: count <= 2 ->
     STORE_RELEASE(COUNT(me), count);
#ifndef BUG_NO_FENCE_OF_WAKER
     FULL_FENCE();
#endif
     if
     :: LOAD(ASLEEP) -> doorbell++
     :: else
     fi;
     count++
  :: else -> break
  od
}

init {
  atomic { run peer_of_sleeper(1); run peer_of_sleeper(2) }
}
