/* Two consecutive calls of P ranks: boards, slots and credit, the end of a call, failure, death,
 * sleep. RING 0: every rank reads its peers' x in place; 1: chunks travel to rank + 1 through two
 * slots each, which are used again when their chunk is consumed and released.
 *
 * Shown: a call that returns has seen no other rows than its own; threads never look at rows after
 * their owner's call has returned; nobody waits for ever; all ranks that fail report one cause, and
 * none fails without a reason. */
#include "group.pml"

#ifndef CALLS
#define CALLS 2
#endif
#define TAG(call, chunk) ((call) * 8 + (chunk)) /* what rows of a call hold; 0: written over */
#define CELL(rank, chunk) ((rank) * P + (chunk))

/* Boards. */
byte header[P];
byte offered[P * P];
byte where[P * P]; /* of an offer: 0 its owner's x, 1 + s its slot s */
byte released[P * P];
/* The rows. */
byte x[P];
byte slot[P * 2];

#define AT(rank, chunk) \
  (where[CELL(rank, chunk)] == 0 -> x[rank] : slot[(rank) * 2 + where[CELL(rank, chunk)] - 1])

#if RING
#define PEER(step) ((me + P - 1) % P)
#define CHUNK(step) ((me + 2 * P - 1 - (step)) % P)
#define FIRST_FETCHER ((me + 1) % P)
#define LAST_STEP_OFFERED (P - 2) /* chunks of steps before it are sent on */
#else
#define PEER(step) ((me + 1 + (step)) % P)
#define CHUNK(step) PEER(step)
#endif

inline offer(what, slot_or_x) {
  where[CELL(me, what)] = slot_or_x;
  offered[CELL(me, what)] = call;
#ifndef BUG_OFFER_WAKES_NOBODY
#if RING
  wake(FIRST_FETCHER)
#else
  wake_all()
#endif
#endif
}

/* What a thread reads must be there. A process may find rows that their owner, whose call has
 * failed, has written over; then its own call must fail too. */
inline see_rows() {
#if PROCESSES
  if
  :: AT(PEER(step), CHUNK(step)) != TAG(call, CHUNK(step)) -> torn = 1
  :: else
  fi
#else
  assert(AT(PEER(step), CHUNK(step)) == TAG(call, CHUNK(step)))
#endif
}

inline release() {
  released[CELL(me, CHUNK(step))] = call;
#ifndef BUG_RELEASE_WAKES_NOBODY
  wake(PEER(step))
#endif
}

/* The multiply reads what step `taken` brought. */
inline consume(taken) { assert(slot[me * 2 + (taken) % 2] == TAG(call, CHUNK(taken))) }

inline await_released(chunk) {
#if RING
#ifndef BUG_RELEASED_IN_ANY_CALL
  await((released[CELL(FIRST_FETCHER, chunk)] >= call), FIRST_FETCHER)
#else
  await((released[CELL(FIRST_FETCHER, chunk)] >= 1), FIRST_FETCHER)
#endif
#else
  fetcher = 0;
  do
  :: fetcher < P ->
     if
     :: fetcher != me -> await((released[CELL(fetcher, chunk)] >= call), fetcher)
     :: else
     fi;
     fetcher++
  :: else -> break
  od;
  fetcher = 0
#endif
}

inline enter() {
#ifdef BUG_NOT_READING
  skip
#else
  reading[me] = 1;
  if
  :: failed_by != 0 -> goto failed
  :: else
  fi
#endif
}

/* Other ranks act between the first and the last look at the rows. */
inline begin_reading() {
  await((offered[CELL(PEER(step), CHUNK(step))] >= call), PEER(step));
#if RING
  if
  :: step >= 2 ->
     consume(step - 2);
#ifndef BUG_NO_CREDIT
     if
     :: step - 2 < LAST_STEP_OFFERED -> await_released(CHUNK(step - 2))
     :: else
     fi
#endif
  :: else
  fi;
  slot[me * 2 + step % 2] = 0;
#endif
  assert(header[PEER(step)] == call);
  see_rows()
}

inline end_reading() {
#if RING
  see_rows();
  slot[me * 2 + step % 2] = TAG(call, CHUNK(step));
  release();
  if
  :: step < LAST_STEP_OFFERED -> offer(CHUNK(step), 1 + step % 2)
  :: else
  fi
#elif defined(BUG_RELEASE_BEFORE_READ)
  release();
  see_rows()
#else
  see_rows();
  release()
#endif
}

/* The caller's x is its own again once all have read it, and so are the slots. */
inline end_call() {
#if RING && P > 3
  consume(P - 3);
#endif
#if RING && P > 2
  consume(P - 2);
#endif
  reading[me] = 0;
#ifndef BUG_END_BEFORE_RELEASED
  WAIT_AT_ONCE {
    await_released(me);
#if RING
    step = 0;
    do
    :: step < LAST_STEP_OFFERED -> await_released(CHUNK(step)); step++
    :: else -> break
    od;
    step = 0
#endif
  };
#endif
  assert(!torn);
  x[me] = 0
}

inline one_call() {
  x[me] = TAG(call, me);
  enter();
#ifdef BUG_OFFER_BEFORE_HEADER
  offer(me, 0);
  header[me] = call;
#else
  AT_ONCE {
    header[me] = call;
    offer(me, 0)
  };
#endif
  step = 0;
  do
  :: step < P - 1 ->
     WAIT_AT_ONCE { begin_reading() };
     may_throw();
     AT_ONCE { end_reading() };
     step++
  :: else -> break
  od;
  step = 0;
  end_call()
}

proctype rank(byte me) {
  byte call = 1, step, fetcher, other;
  bit announced, gone, napped, torn;
  {
    do
    :: call <= CALLS ->
       if
       :: atomic { call == CALLS && quits > 0 -> quits-- }; goto done
       :: true
       fi;
       one_call();
       call++
    :: else -> goto done
    od;
  failed:
    reading[me] = 0;
#if !PROCESSES && !defined(BUG_RETURN_WHILE_READ)
    await_readers();
#endif
    report();
    x[me] = 0;
  done:
#ifdef STAYS
    skip
#else
    leave()
#endif
  } unless { to_kill == me }
}

init {
  byte i;
  atomic {
    for (i : 0 .. P - 1) { run rank(i) }
  }
}
