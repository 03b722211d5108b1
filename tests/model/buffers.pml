/* Processors whose stores wait in a buffer: a rank's stores become visible to others some time
 * later, those to one word in order, those to different words in any order. Loads take the memory's
 * value; no rank below loads what it stores. */
mtype = { FIRST, SECOND, THIRD, FOURTH };

#define BUFFERS 3
byte memory[5]; /* by word; mtype counts from 1 */
chan buffer[BUFFERS] = [4] of { mtype, byte };

#define LOAD(word) memory[word]
#define STORE(word, value) buffer[me]!word, value
/* Everything stored before is visible before this store is, or before anything that follows. */
#define STORE_RELEASE(word, value) atomic { empty(buffer[me]) -> buffer[me]!word, value }
#define FULL_FENCE() (empty(buffer[me]))

active [BUFFERS] proctype drain() {
  byte value;
end:
  do
  :: atomic { buffer[_pid]??FIRST, value -> memory[FIRST] = value; value = 0 }
  :: atomic { buffer[_pid]??SECOND, value -> memory[SECOND] = value; value = 0 }
  :: atomic { buffer[_pid]??THIRD, value -> memory[THIRD] = value; value = 0 }
  :: atomic { buffer[_pid]??FOURTH, value -> memory[FOURTH] = value; value = 0 }
  od
}
