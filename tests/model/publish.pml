/* The rows and the header of an offer, and their release, over two calls, on processors that delay
 * stores; loads that a missing order would let run early are written early. In the second call the
 * owner may fail and write over its rows at once, as processes do: a reader that took them must
 * find the failure before its call returns. */
#include "buffers.pml"

#define ROWS FIRST
#define HEADER SECOND
#define OFFERED THIRD
#define FAILED FOURTH /* of the owner */

byte released; /* by the reader; its stores need no buffer: it stores this word only */

active proctype owner() {
  byte me = 0, call = 1;
  do
  :: call <= 2 ->
     STORE(ROWS, call);
     STORE(HEADER, call);
#ifdef BUG_OFFERED_RELAXED
     STORE(OFFERED, call);
#else
     STORE_RELEASE(OFFERED, call);
#endif
     if
     :: released >= call
     :: call == 2 ->
#ifdef BUG_FAILED_RELAXED
        STORE(FAILED, 1);
#else
        STORE_RELEASE(FAILED, 1);
        FULL_FENCE();
#endif
        STORE(ROWS, 9);
        break
     fi;
     call++
  :: else -> break
  od
}

active proctype reader() {
  byte call = 1, rows, header;
  bit failed;
  do
  :: call <= 2 ->
#ifdef BUG_OFFERED_NOT_ACQUIRED
     rows = LOAD(ROWS);
     (LOAD(OFFERED) >= call);
#else
     (LOAD(OFFERED) >= call);
#ifdef BUG_NO_FENCE_AFTER_RELEASE
     failed = LOAD(FAILED);
#endif
#ifdef BUG_RELEASED_RELAXED
     released = call;
#endif
     rows = LOAD(ROWS);
#endif
     header = LOAD(HEADER);
     released = call;
#ifndef BUG_NO_FENCE_AFTER_RELEASE
     failed = LOAD(FAILED);
#endif
     assert(failed || (rows == call && header == call));
     call++
  :: else -> break
  od
}
