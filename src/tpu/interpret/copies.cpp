#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "tpu/interpret/run_state.hpp"

namespace cmm::tpu {
namespace {

bool finished(const Copy& copy) { return copy.num_written == copy.num_elements; }

// Calls body(first, last) for the next `count` elements after the `done` ones.
template <class Body>
void next_elements(const Copy& copy, std::int64_t done, std::int64_t count, const Body& body) {
  const std::int64_t begin = copy.from_last ? copy.num_elements - done - count : done;
  body(begin, begin + count);
}

// Of `remaining` elements, at least one: often all, else any number.
std::int64_t part_of(Random& random, std::int64_t remaining) {
  return random.below(4) == 0 ? remaining : 1 + random.below(remaining);
}

void read_elements(Copy& copy, std::int64_t count) {
  CMM_DCHECK(count >= 0 && copy.num_read + count <= copy.num_elements);
  const std::int64_t bytes = copy.element_bytes;
  next_elements(copy, copy.num_read, count, [&](std::int64_t begin, std::int64_t end) {
    copy.source_runs.each_run(
        begin, end, [&](std::int64_t to, std::int64_t from, std::int64_t num) {
          std::memcpy(copy.staged.data() + to * bytes, copy.source + from * bytes,
                      static_cast<std::size_t>(num * bytes));
        });
  });
  copy.num_read += count;
  if (copy.departure != nullptr) copy.departure->add_bytes(count * bytes);
}

void write_elements(Copy& copy, std::int64_t count) {
  CMM_DCHECK(count >= 0 && copy.num_written + count <= copy.num_read);
  const std::int64_t bytes = copy.element_bytes;
  next_elements(copy, copy.num_written, count, [&](std::int64_t begin, std::int64_t end) {
    copy.target_runs.each_run(
        begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t num) {
          std::memcpy(copy.target + to * bytes, copy.staged.data() + from * bytes,
                      static_cast<std::size_t>(num * bytes));
        });
  });
  copy.num_written += count;
  copy.arrival->add_bytes(count * bytes);
}

}  // namespace

void start(RunState& run, Copy copy) {
  copy.staged.resize(static_cast<std::size_t>(copy.num_elements * copy.element_bytes));
  switch (run.options.copies) {
    case CopyMode::kEager:
      read_elements(copy, copy.num_elements);
      write_elements(copy, copy.num_elements);
      return;
    case CopyMode::kRandom:
      copy.from_last = run.random.coin();
      break;
    case CopyMode::kAtAwait:
      break;
  }
  run.in_flight.push_back(std::make_unique<Copy>(std::move(copy)));
}

void progress(RunState& run) {
  const auto at =
      static_cast<std::size_t>(run.random.below(static_cast<std::int64_t>(run.in_flight.size())));
  Copy& copy = *run.in_flight[at];
  const std::int64_t unread = copy.num_elements - copy.num_read;
  const std::int64_t staged = copy.num_read - copy.num_written;
  if (staged == 0 || (unread > 0 && run.random.coin())) {
    read_elements(copy, part_of(run.random, unread));
  } else {
    write_elements(copy, part_of(run.random, staged));
  }
  if (finished(copy)) run.in_flight.erase(run.in_flight.begin() + static_cast<std::ptrdiff_t>(at));
}

bool can_progress_for(const RunState& run, const Semaphore* semaphore) {
  return std::any_of(run.in_flight.begin(), run.in_flight.end(), [&](const auto& copy) {
    return copy->arrival == semaphore || (copy->departure == semaphore && copy->num_read == 0);
  });
}

bool progress_for(RunState& run, const Semaphore* semaphore) {
  for (std::size_t i = run.in_flight.size(); i-- > 0;) {
    Copy& copy = *run.in_flight[i];
    if (copy.departure == semaphore && copy.num_read == 0) {
      read_elements(copy, copy.num_elements);
      return true;
    }
    if (copy.arrival == semaphore) {
      read_elements(copy, copy.num_elements - copy.num_read);
      write_elements(copy, copy.num_elements);
      run.in_flight.erase(run.in_flight.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  return false;
}

}  // namespace cmm::tpu
