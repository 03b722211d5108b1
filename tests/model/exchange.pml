/* Plans of P ranks, made and destroyed: the exchange of where each rank's board lies, a call that
 * looks at the peers' boards, and the boards' memory, used again after the next exchange.
 *
 * Shown: every rank gets the texts of this exchange, nobody looks at a board in memory that its
 * owner uses for something else, nobody waits for ever, all that fail report one cause. */
#include "group.pml"

#ifndef PLANS
#define PLANS 3
#endif
#define BLOCKS 2 /* of memory for boards, of each rank */

byte texts_written[P];
byte texts_read[P];
byte text_number[P]; /* the exchange that the text is of */
byte text[P];        /* where the board lies: a block */
byte memory[P * BLOCKS]; /* the plan whose board lies there; its words follow */
bit offered[P * BLOCKS];
bit released[P * BLOCKS];

/* By plan: the block that holds this rank's board, and the peers' boards as they told us. */
#define BOARD(rank) ((rank) * BLOCKS + where[rank])

inline make_board() {
  atomic {
    block = 0;
    do
    :: block < BLOCKS && taken[block] -> block++
    :: else -> break
    od;
    assert(block < BLOCKS);
    taken[block] = 1;
    memory[me * BLOCKS + block] = plan;
    offered[me * BLOCKS + block] = 0;
    released[me * BLOCKS + block] = 0
  }
}

#define AWAIT_ALL(count, value)                               \
  peer = 0;                                                   \
  do                                                          \
  :: peer < P -> await((count[peer] >= value), peer); peer++ \
  :: else -> break                                            \
  od;                                                         \
  peer = 0

inline exchange() {
  number++;
#ifndef BUG_TEXT_BEFORE_READ
  WAIT_AT_ONCE { AWAIT_ALL(texts_read, number - 1) };
#endif
#ifdef BUG_WRITTEN_BEFORE_TEXT
  texts_written[me] = number;
  wake_all();
  text_number[me] = number; text[me] = block;
#else
  text_number[me] = number; text[me] = block;
  texts_written[me] = number;
  wake_all();
#endif
#ifndef BUG_NO_AWAIT_WRITTEN
  WAIT_AT_ONCE { AWAIT_ALL(texts_written, number) };
#endif
  peer = 0;
  do
  :: peer < P ->
     assert(text_number[peer] == number);
     where[peer] = text[peer];
     peer++
  :: else -> break
  od;
  peer = 0;
  texts_read[me] = number;
  wake_all();
#ifndef BUG_REUSE_AT_ONCE
  /* free_retired */
  if
  :: retired < BLOCKS -> taken[retired] = 0; retired = BLOCKS
  :: else
  fi
#endif
}

/* A peer's board is looked at again and again until its count has come. */
inline look(ready) {
  peer = 0;
  do
  :: peer < P ->
     do
     :: true ->
        AT_ONCE {
          if
          :: failed_by != 0 -> goto failed
          :: else
          fi;
          assert(memory[BOARD(peer)] == plan);
          if
          :: ready -> break
          :: else
          fi
        };
        AT_ONCE {
          (ready || memory[BOARD(peer)] != plan || failed_by != 0 || ANY_LOST);
          check_peers()
        }
     od;
     peer++
  :: else -> break
  od;
  peer = 0
}

proctype rank(byte me) {
  byte plan = 1, number, block, retired = BLOCKS, peer, other;
  bit announced, gone, napped;
  bit taken[BLOCKS];
  byte where[P];
  {
    do
    :: plan <= PLANS ->
       if
       :: atomic { plan == PLANS && quits > 0 -> quits-- }; goto done
       :: true
       fi;
       make_board();
       exchange(); /* of what the plan is to be; then of where the boards lie */
       exchange();
       offered[me * BLOCKS + block] = 1;
       look((offered[BOARD(peer)]));
       released[me * BLOCKS + block] = 1;
       look((released[BOARD(peer)]));
       /* The plan is destroyed. */
#ifdef BUG_REUSE_AT_ONCE
       taken[block] = 0;
#else
       retired = block;
#endif
       plan++
    :: else -> goto done
    od;
  failed:
    report();
  done:
    leave()
  } unless { to_kill == me }
}

init {
  byte i;
  atomic {
    for (i : 0 .. P - 1) { run rank(i) }
  }
}
