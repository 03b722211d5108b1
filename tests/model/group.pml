/* What the models of a whole group share: its words, waiting, failing, dying. docs/protocol.md says
 * what each stands for. Every word is written by one rank, but for failed_by and the doorbells, as
 * in src/transport/memory/layout.hpp.
 *
 * P          ranks: threads, or PROCESSES 1
 * KILLS      of them (0 or 1, processes only) may be killed before any step
 * THROWS     times a rank fails for a reason of its own
 * QUITS      times a rank leaves before its time
 * STAYS      a rank that has made its calls, or failed, does other things without leaving
 * SLEEP 1    a rank that waits announces its sleep, looks once more and sleeps until its doorbell
 *            rings, without a time-out, but for one after a peer was killed (the code's naps are
 *            2 ms); 0: it looks for ever
 * COARSE 1   steps between which nothing is hidden at other ranks are taken at once, for larger P
 * BUG_...    one line of the protocol is taken away, and a check must then fail */

#if COARSE
#define AT_ONCE atomic
#else
#define AT_ONCE
#endif
#if COARSE && !SLEEP
#define WAIT_AT_ONCE atomic /* a wait that never sleeps, and what follows it */
#else
#define WAIT_AT_ONCE
#endif

#define BY_THROW 1 /* causes */
#define BY_LOSS 2
#define BY_LEAVING 3

byte failed_by; /* 1 + the first rank that failed */
byte cause[P];  /* written before failed_by */
bit reading[P];
bit left[P];
bit asleep[P];
bit rung[P]; /* the doorbell has changed since its rank last read it; a counter in the code */

#define NOBODY 255
byte throws = THROWS;
byte quits = QUITS;
byte to_kill = NOBODY;
bit dead[P];   /* its process has ended: what a pidfd tells */
byte reported; /* the cause that a rank has reported, and its rank */

#define LOST(rank) (dead[rank] && !left[rank])
#if P == 2
#define ANY_LOST (LOST(0) || LOST(1))
#elif P == 3
#define ANY_LOST (LOST(0) || LOST(1) || LOST(2))
#else
#define ANY_LOST (LOST(0) || LOST(1) || LOST(2) || LOST(3))
#endif

/* After the store that the peer waits for. */
inline wake(who) {
#if SLEEP
  if
  :: asleep[who] -> rung[who] = 1
  :: else
  fi
#else
  skip
#endif
}

inline wake_all() {
#if SLEEP
  other = 0;
  do
  :: other < P ->
     if
     :: other != me -> wake(other)
     :: else
     fi;
     other++
  :: else -> break
  od;
  other = 0
#else
  skip
#endif
}

/* The first that fails wins. */
inline fail(why) {
#ifndef BUG_CAUSE_AFTER_CAS
  cause[me] = why;
#endif
#ifdef BUG_NO_CAS
  check_cause(why);
  failed_by = me + 1;
#else
  d_step {
    if
    :: failed_by == 0 ->
       check_cause(why);
       failed_by = me + 1
    :: else
    fi
  };
#endif
#ifdef BUG_CAUSE_AFTER_CAS
  cause[me] = why;
#endif
#ifndef BUG_FAIL_WAKES_NOBODY
  wake_all()
#endif
}

/* Nobody fails without a reason. */
inline check_cause(why) {
  assert(why != BY_THROW || THROWS > 0);
  assert(why != BY_LOSS || to_kill != NOBODY);
  assert(why != BY_LEAVING || quits < QUITS)
}

inline may_throw() {
#if THROWS
  if
  :: atomic { throws > 0 -> throws-- }; fail(BY_THROW); goto failed
  :: skip
  fi
#else
  skip
#endif
}

/* What a doze looks at, since it costs system calls. A rank that left before its process ended is
 * missed by those who wait for it only. */
inline check_peers() {
#ifndef BUG_DEATH_UNSEEN
  other = 0;
  do
  :: other < P ->
#ifdef BUG_LEFT_BEFORE_ENDED
     gone = left[other];
     if
     :: dead[other] && !gone -> fail(BY_LOSS); goto failed
     :: else
     fi;
#elif defined(BUG_EXIT_IS_LOSS)
     if
     :: dead[other] -> fail(BY_LOSS); goto failed
     :: else
     fi;
#else
     if
     :: dead[other] ->
        if
        :: left[other] -> skip
        :: else -> fail(BY_LOSS); goto failed
        fi
     :: else
     fi;
#endif
     other++
  :: else -> break
  od;
  other = 0; gone = 0
#else
  skip
#endif
}

inline look_for(ready, whom) {
#ifndef BUG_NO_CHECK_ALIVE
  if
  :: failed_by != 0 -> goto failed
  :: else
  fi;
#endif
#ifdef BUG_COUNT_BEFORE_LEFT
  if
  :: ready -> break
  :: else
  fi;
  if
  :: left[whom] -> fail(BY_LEAVING); goto failed
  :: else
  fi
#else
#ifndef BUG_LEFT_UNSEEN
  gone = left[whom];
#endif
  if
  :: ready -> gone = 0; break
  :: else ->
     if
     :: gone -> fail(BY_LEAVING); goto failed
     :: else
     fi
  fi
#endif
}

/* Waits for `ready`, a count that `whom` makes. */
inline await(ready, whom) {
  do
  :: true ->
     AT_ONCE { look_for(ready, whom) };
     may_throw();
#if SLEEP
     if
     :: !announced ->
#ifdef BUG_BELL_AFTER_LOOK
        asleep[me] = 1; announced = 1
     :: else ->
        rung[me] = 0;
#elif defined(BUG_ASLEEP_AFTER_LOOK)
        rung[me] = 0; announced = 1
     :: else ->
        asleep[me] = 1;
#else
        asleep[me] = 1; rung[me] = 0; announced = 1
     :: else ->
#endif
        (rung[me] || (to_kill != NOBODY && !napped));
        rung[me] = 0;
        napped = (to_kill != NOBODY);
        AT_ONCE { check_peers() }
     fi
#else
#ifdef BUG_LEFT_UNSEEN
     (ready || failed_by != 0 || ANY_LOST);
#else
     (ready || left[whom] || failed_by != 0 || ANY_LOST);
#endif
     if
     :: ready || left[whom] || failed_by != 0
     :: ANY_LOST -> AT_ONCE { check_peers() }
     fi
#endif
  od;
#if SLEEP
  if
  :: announced -> asleep[me] = 0; announced = 0; napped = 0; rung[me] = 0
  :: else
  fi
#endif
}

/* Threads: waits, in a call that failed, for peers that may still read this rank's memory. */
inline await_readers() {
  other = 0;
  do
  :: other < P -> (other == me || !reading[other]); other++
  :: else -> break
  od;
  other = 0
}

/* Every rank whose call fails tells its caller the cause of the first that failed. */
inline report() {
  assert(cause[failed_by - 1] != 0);
  assert(reported == 0 || reported == failed_by * 8 + cause[failed_by - 1]);
  reported = failed_by * 8 + cause[failed_by - 1]
}

/* As an endpoint's destructor does; then the process may end. */
inline leave() {
#ifdef BUG_END_BEFORE_LEAVING
  dead[me] = 1;
#endif
  left[me] = 1;
#ifndef BUG_LEAVE_WAKES_NOBODY
  wake_all();
#endif
#if PROCESSES
  dead[me] = 1
#endif
}

active proctype killer() {
#if KILLS
  byte who;
  select(who : 0 .. P - 1);
  if
  :: d_step { to_kill = who; dead[who] = 1 }
  :: skip
  fi
#else
  skip
#endif
}
