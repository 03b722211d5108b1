/* Threads: a rank fails and gives its rows back once nobody reads, while another enters calls and
 * reads them, on processors that delay stores. One of the two must see the other: that needs a full
 * fence between store and load on both sides. */
#include "buffers.pml"

#define READING FIRST
#define FAILED SECOND

bit given_back;

active proctype reader() {
  byte me = 0, call = 1;
  do
  :: call <= 2 ->
#ifndef BUG_ALIVE_BEFORE_READING
     STORE(READING, 1);
#ifndef BUG_NO_FENCE_OF_READER
     FULL_FENCE();
#endif
#endif
     if
     :: LOAD(FAILED) -> STORE_RELEASE(READING, 0); break
     :: else
     fi;
#ifdef BUG_ALIVE_BEFORE_READING
     STORE(READING, 1);
     FULL_FENCE();
#endif
     assert(!given_back);
#ifdef BUG_END_RELAXED
     STORE(READING, 0);
     assert(!given_back);
#else
     assert(!given_back);
     STORE_RELEASE(READING, 0);
#endif
     call++
  :: else -> break
  od
}

active proctype failing() {
  byte me = 1;
  STORE(FAILED, 1); /* a compare-exchange: of release order, for the cause's text, at least */
#ifndef BUG_NO_FENCE_OF_FAILING
  FULL_FENCE();
#endif
  (!LOAD(READING));
  given_back = 1
}
