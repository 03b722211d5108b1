#include "transport/shm/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::shm {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A rank needs room for its copies of x and for what its caller allocates; beyond the memory of the
// machine there is nothing to gain. All regions together stay far from the 128 TiB of a process,
// and under a sanitizer from the ranges it keeps for itself.
constexpr std::int64_t kMaxRegionBytes = 64 * kGiB;
constexpr std::int64_t kMinRegionBytes = kMiB;
#ifdef CMM_SANITIZED
constexpr std::int64_t kMaxRangeBytes = 256 * kGiB;
#else
constexpr std::int64_t kMaxRangeBytes = 16 * 1024 * kGiB;
#endif

// Reserved in one system call, which a signal undoes and makes start anew.
constexpr std::int64_t kReserveStepBytes = 64 * kMiB;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE of Linux 5.14

// Smaller requests are weighed once those of all ranks have taken so much: to read how much memory
// is present costs more than to reserve some pages.
constexpr std::int64_t kWeighedBytes = kMiB;

// Of what is present, this part is left to the processes that take memory meanwhile: 1 / 20.
constexpr std::int64_t kMarginPart = 20;

std::int64_t page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

// The arena's own words in the control area come after what its user asked for.
std::int64_t words_at(std::int64_t control_bytes) { return round_up(control_bytes, 64); }

std::int64_t control_area_bytes(std::int64_t control_bytes, std::int64_t num_ranks) {
  const auto words = static_cast<std::int64_t>(sizeof(std::int64_t)) * (num_ranks + 1);
  return round_up(words_at(control_bytes) + words, page_bytes());
}

std::string reason(int error) { return std::generic_category().message(error); }

// -1: unlimited.
std::int64_t limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())) {
    return -1;
  }
  return static_cast<std::int64_t>(limit.rlim_cur);
}

// Addresses that this process has taken already; 0 where /proc is not there.
std::int64_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  return statm >> pages ? pages * page_bytes() : 0;
}

[[noreturn]] void refuse(std::int64_t bytes, std::int64_t present, const std::string& why) {
  throw Error(
      ErrorCode::kOutOfMemory,
      cat(bytes, " bytes of shared memory are needed and ",
          present < 0 ? std::string("an unknown number") : cat(present), " are present", why,
          "; use less, or raise the memory limit of the container or job (its --shm-size "
          "does not matter: the memory is no file of /dev/shm)"));
}

std::int64_t most_bytes() {
  std::int64_t most = kMaxRangeBytes;
  // The rest of the program needs addresses too, and other meshes do.
  if (const std::int64_t limit = limit_of(RLIMIT_AS); limit >= 0) {
    most = std::min(most, std::max<std::int64_t>(limit - mapped_bytes(), 0) / 4);
  }
  // A file that grows past this limit costs the process a signal that ends it.
  if (const std::int64_t limit = limit_of(RLIMIT_FSIZE); limit >= 0) most = std::min(most, limit);
  return most;
}

}  // namespace

AddressRange::AddressRange(const Limits& limits) {
  const std::int64_t control = control_area_bytes(limits.control_bytes, limits.num_ranks);
  const std::int64_t most = most_bytes();
  const std::int64_t machine = sysconf(_SC_PHYS_PAGES) * page_bytes();
  std::int64_t region = std::min(
      kMaxRegionBytes, static_cast<std::int64_t>(std::bit_ceil(
                           static_cast<std::uint64_t>(std::max(machine, kMinRegionBytes)))));
  for (; region >= kMinRegionBytes; region /= 2) {
    const std::int64_t needed = control + region * limits.num_ranks;
    if (needed > most) continue;
    void* const mapped = mmap(nullptr, static_cast<std::size_t>(needed), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) continue;
    data_ = static_cast<std::byte*>(mapped);
    bytes_ = needed;
    region_bytes_ = region;
    return;
  }
  std::string why = cat("no addresses for the shared memory of ", limits.num_ranks,
                        " ranks: at least ", control + kMinRegionBytes * limits.num_ranks,
                        " bytes are needed, and this process may map ", most, " more for it");
  if (const std::int64_t limit = limit_of(RLIMIT_AS); limit >= 0) {
    why += cat("; its limit is ", limit, " bytes: raise `ulimit -v`");
  }
  if (const std::int64_t limit = limit_of(RLIMIT_FSIZE); limit >= 0) {
    why += cat("; files are limited to ", limit, " bytes: raise `ulimit -f`");
  }
  throw Error(ErrorCode::kOutOfMemory, why);
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      region_bytes_(other.region_bytes_) {}

AddressRange::~AddressRange() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

void AddressRange::shrink(std::int64_t bytes) {
  if (bytes < bytes_) munmap(data_ + bytes, static_cast<std::size_t>(bytes_ - bytes));
  bytes_ = std::min(bytes, bytes_);
}

Arena::Arena(Config config, AddressRange range)
    : config_(std::move(config)),
      range_(std::move(range)),
      watch_(config_.processes, config_.watch),
      pages_(config_.region_bytes / page_bytes()) {
  const auto num_ranks = static_cast<std::int64_t>(config_.processes.size());
  const std::int64_t at_words = words_at(config_.control_bytes);
  config_.control_bytes = control_area_bytes(config_.control_bytes, num_ranks);
  const std::int64_t bytes = config_.control_bytes + config_.region_bytes * num_ranks;
  const auto refused = [&](const char* what) {
    return Error(ErrorCode::kOutOfMemory,
                 cat("the shared memory of ", num_ranks, " ranks, ", bytes,
                     " bytes of addresses, cannot be ", what, ": ", reason(errno)));
  };
  // Every rank does this, to the same size; the file's seal keeps it from shrinking.
  if (ftruncate(config_.memory.get(), bytes) != 0) throw refused("laid out");
  range_.shrink(bytes);
  std::byte* const data = range_.data();
  const auto writable = [](std::byte* at, std::int64_t length) {
    return mprotect(at, static_cast<std::size_t>(length), PROT_READ | PROT_WRITE) == 0;
  };
  if (mmap(data, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           config_.memory.get(), 0) == MAP_FAILED ||
      !writable(data, config_.control_bytes) ||
      !writable(region(config_.rank), config_.region_bytes)) {
    throw refused("mapped");
  }
  // A forked child must not take part by mistake; a core file would be as long as all regions.
  madvise(data, static_cast<std::size_t>(bytes), MADV_DONTFORK);
  madvise(data, static_cast<std::size_t>(bytes), MADV_DONTDUMP);
  // Every rank takes the same pages, so they are not announced, and could not be before.
  const Request control = {.bytes = config_.control_bytes};
  weigh(control, 0);
  take(0, config_.control_bytes, control);
  words_ = reinterpret_cast<std::atomic<std::int64_t>*>(data + at_words);
}

Arena::~Arena() {
  // In a forked child other things may lie at these addresses by now.
  if (!owned_by_this_process()) range_.forget();
}

std::byte* Arena::region(int rank) const {
  return range_.data() + config_.control_bytes + config_.region_bytes * rank;
}

std::byte* Arena::allocate(std::int64_t bytes) {
  if (!owned_by_this_process()) {
    throw Error(ErrorCode::kInvalidArgument,
                "memory of a mesh that the process made from which this one was forked");
  }
  if (bytes < 0 || bytes > config_.region_bytes) {
    throw Error(ErrorCode::kOutOfMemory,
                cat(bytes, " bytes of shared memory are needed; a rank of this mesh has ",
                    config_.region_bytes, " bytes of addresses for it"));
  }
  const std::int64_t num_pages = std::max<std::int64_t>(ceil_div(bytes, page_bytes()), 1);
  std::int64_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    first = pages_.take(num_pages);
    if (first < 0) {
      throw Error(
          ErrorCode::kOutOfMemory,
          cat(bytes,
              " bytes of shared memory are needed; the largest free range of this "
              "rank's ",
              config_.region_bytes, " bytes of addresses has ", pages_.largest() * page_bytes()));
    }
  }
  std::byte* const data = region(config_.rank) + first * page_bytes();
  try {
    reserve(offset_of(data), num_pages * page_bytes());
  } catch (...) {
    deallocate(data, bytes);
    throw;
  }
  return data;
}

void Arena::deallocate(std::byte* data, std::int64_t bytes) noexcept {
  if (!owned_by_this_process()) return;
  const std::int64_t num_pages = std::max<std::int64_t>(ceil_div(bytes, page_bytes()), 1);
  punch(offset_of(data), num_pages * page_bytes());
  const std::lock_guard lock(mutex_);
  try {
    pages_.give_back((data - region(config_.rank)) / page_bytes(), num_pages);
  } catch (const std::bad_alloc&) {
    // The memory is back with the system; only its addresses are lost until the mesh ends.
  }
}

std::int64_t Arena::address(const std::byte* data, std::int64_t bytes) const {
  const std::byte* const mine = region(config_.rank);
  // Compared as numbers: the pointer may be of any other memory.
  const auto begin = reinterpret_cast<std::uintptr_t>(mine);
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at < begin || bytes < 0) return -1;
  const std::uintptr_t offset = at - begin;
  const auto region_bytes = static_cast<std::uintptr_t>(config_.region_bytes);
  if (offset > region_bytes || static_cast<std::uintptr_t>(bytes) > region_bytes - offset)
    return -1;
  return static_cast<std::int64_t>(offset);
}

const std::byte* Arena::at(int member, std::int64_t address, std::int64_t bytes) const {
  if (member < 0 || member >= static_cast<int>(config_.processes.size()) || address < 0 ||
      bytes < 0 || bytes > config_.region_bytes || address > config_.region_bytes - bytes) {
    return nullptr;
  }
  return region(member) + address;
}

std::int64_t Arena::announced_by_others() const {
  std::int64_t bytes = 0;
  for (int rank = 0; rank < static_cast<int>(config_.processes.size()); ++rank) {
    if (rank == config_.rank) continue;
    const std::int64_t of_rank = announced(rank).load();
    // Spoilt by a stray write or left by a rank that was killed: nothing will be taken for it.
    if (of_rank <= 0 || of_rank > config_.region_bytes || watch_.ended(rank)) continue;
    bytes += of_rank;
  }
  return bytes;
}

void Arena::weigh(const Request& request, std::int64_t others) const {
  const std::int64_t present = config_.present_memory();
  const std::int64_t needed = request.bytes - request.taken + others;
  if (present < 0 || needed <= present - present / kMarginPart) return;
  refuse(request.bytes, present + request.taken,
         cat(", of which ", others, " go to other ranks and ", present / kMarginPart,
             " are left to other processes"));
}

// Throws Error(kOutOfMemory); pages taken so far stay so.
void Arena::reserve(std::int64_t offset, std::int64_t bytes) {
  Request request = {.bytes = bytes};
  announced(config_.rank).fetch_add(bytes);
  const bool small = bytes < kWeighedBytes;
  bool weighed = !small;
  if (small) {
    const std::int64_t before = small_bytes().fetch_add(bytes);
    weighed = before / kWeighedBytes != (before + bytes) / kWeighedBytes;
  }
  try {
    while (request.taken < bytes) {
      // Announced before the others are looked at: of two that do so at the same time at least one
      // sees the other. And those are looked at before the memory is: what they take in between is
      // counted twice rather than never.
      const std::int64_t others = announced_by_others();
      if (weighed || others >= kWeighedBytes) weigh(request, others);
      const std::int64_t step = std::min(kReserveStepBytes, bytes - request.taken);
      take(offset + request.taken, step, request);
      request.taken += step;
      announced(config_.rank).fetch_sub(step);
    }
  } catch (...) {
    announced(config_.rank).fetch_sub(bytes - request.taken);
    if (small) small_bytes().fetch_sub(bytes);  // the next one is weighed again
    throw;
  }
}

// At most kReserveStepBytes or the control area. The pages count as memory of this process from
// here on: those that are only in the file would be nobody's when the kernel looks whom to kill.
void Arena::take(std::int64_t offset, std::int64_t bytes, const Request& request) {
  while (fallocate(config_.memory.get(), 0, offset, bytes) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    struct statfs status = {};
    const bool limited = fstatfs(config_.memory.get(), &status) == 0 && status.f_blocks > 0;
    const std::int64_t present = limited
                                     ? static_cast<std::int64_t>(status.f_bavail) * status.f_bsize
                                     : config_.present_memory();
    refuse(request.bytes, present < 0 ? present : present + request.taken,
           cat(" (", reason(error), ")"));
  }
  std::byte* const data = range_.data() + offset;
  int error = 0;
  do {
    error = madvise(data, static_cast<std::size_t>(bytes), kPopulateWrite) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == 0) return;
  // Before Linux 5.14. Others write the control area by now, hence an addition of nothing.
  for (std::int64_t at = 0; at < bytes; at += page_bytes()) {
    reinterpret_cast<std::atomic<std::uint8_t>*>(data + at)->fetch_add(0);
  }
}

void Arena::punch(std::int64_t offset, std::int64_t bytes) noexcept {
  while (fallocate(config_.memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                   bytes) != 0 &&
         errno == EINTR) {
  }
}

}  // namespace cmm::transport::shm
