// Meshes whose ranks are processes of this host, and what the environment says of them.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "api/axes.hpp"
#include "api/collective.hpp"
#include "api/rank_variables.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "transport/memory/endpoint.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm {
namespace api {

std::string rank_socket_text(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) return {};
  return cat(descriptor, ":", status.st_ino);
}

}  // namespace api

namespace {

using transport::shm::Arena;
using transport::shm::MeetRequest;

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

MeetRequest request_of(const ProcessOptions& options, const std::vector<AxisSize>& axes) {
  MeetRequest request = {.rank = options.rank,
                         .num_ranks = options.num_ranks,
                         .axes_ranks = 0,
                         .axes_fingerprint = api::axes_fingerprint(axes),
                         .axes = api::axes_text(axes),
                         .token = options.token,
                         .control_bytes = 0,
                         .failure = {}};
  // The other ranks are on their way and must hear of it.
  try {
    if (options.deadline.count() <= 0) {
      reject(cat("deadline=", options.deadline.count(), " ms; it must be positive"));
    }
    request.axes_ranks = api::check_axes(axes);
    request.control_bytes = transport::memory::control_bytes(api::axis_lines(axes, options.rank),
                                                             axes.size(), request.axes_ranks);
  } catch (const Error& error) {
    request.failure = {error.code(), options.rank,
                       cat("rank ", options.rank, " cannot take part: ", error.what())};
  }
  return request;
}

Mesh mesh_in(const std::shared_ptr<Arena>& arena, int rank, const std::vector<AxisSize>& axes) {
  const int num_ranks = api::check_axes(axes);
  const std::vector<transport::memory::AxisLine> lines = api::axis_lines(axes, rank);
  std::vector<std::shared_ptr<transport::Endpoint>> endpoints;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::byte* const control =
        arena->control() + transport::memory::control_offset(lines, axis, num_ranks);
    std::vector<int> ranks;
    for (int i = 0; i < axes[axis].size; ++i) ranks.push_back(i);
    endpoints.push_back(transport::memory::make_endpoint(
        std::make_shared<transport::memory::Group>(
            transport::memory::Group::Config{.control = std::shared_ptr<std::byte>(arena, control),
                                             .space = arena,
                                             .index = lines[axis].rank,
                                             .members = lines[axis].members,
                                             .ranks = ranks}),
        "shared memory"));
  }
  return Mesh(rank, axes, std::move(endpoints));
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

int number_in(const char* name, int least, int most) {
  const char* const value = variable(name);
  if (value == nullptr) reject(cat(name, " is not set, but other variables of a rank are"));
  const std::string_view text = value;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    reject(cat(name, "='", text, "'; it must be a number from ", least, " to ", most));
  }
  return number;
}

// The descriptor that CMM_RANK_SOCKET names, where it is still the one that the launcher gave.
int rank_socket() {
  const std::string text = variable(api::kRankSocketVariable);
  const std::size_t colon = text.find(':');
  int descriptor = -1;
  std::from_chars(text.data(), text.data() + std::min(colon, text.size()), descriptor);
  if (colon == std::string::npos || descriptor < 0 || api::rank_socket_text(descriptor) != text) {
    reject(cat(api::kRankSocketVariable, "='", text,
               "' is no descriptor of this process that the launcher gave: a program between the "
               "launcher and this one has closed it (in Python: close_fds=False, or pass_fds)"));
  }
  // Programs that this one starts are no ranks.
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

// What keeps this rank from the place where the others meet, or from saying which rank it is: they
// cannot hear of it. What they can is in request_of().
void check(const ProcessOptions& options) {
  if (options.num_ranks < 1 || options.num_ranks > kMaxRanks) {
    reject(cat("num_ranks=", options.num_ranks, "; it must be 1 to ", kMaxRanks));
  }
  if (options.rank < 0 || options.rank >= options.num_ranks) {
    reject(cat("rank=", options.rank, "; with num_ranks=", options.num_ranks, " it must be 0 to ",
               options.num_ranks - 1));
  }
  if (options.token.size() > transport::shm::kMaxTokenBytes) {
    reject(cat("a token of ", options.token.size(), " bytes; at most ",
               transport::shm::kMaxTokenBytes, " are compared"));
  }
}

[[noreturn]] void reject_no_environment(const std::vector<AxisSize>& axes, int num_ranks) {
  std::string text =
      cat("the axes ", api::axes_text(axes), " have ", num_ranks,
          " ranks, and this process was not started as one of them: start it with `cmm launch -n ",
          num_ranks,
          " -- PROGRAM`, or set CMM_SOCKET, CMM_RANK and CMM_NUM_RANKS (and CMM_TOKEN) "
          "for each of ",
          num_ranks, " processes");
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"}) {
    if (variable(name) == nullptr) continue;
    text += cat("; ", name,
                " is set: under mpirun make the mesh with cmm::mesh_from_mpi of "
                "<cmm/mpi.hpp>");
    break;
  }
  reject(text);
}

}  // namespace

std::optional<RankEnvironment> rank_environment() {
  bool any = false;
  for (const char* name : {api::kRankVariable, api::kNumRanksVariable, api::kRankSocketVariable,
                           api::kSocketVariable}) {
    any = any || variable(name) != nullptr;
  }
  if (!any) return std::nullopt;
  const int num_ranks = number_in(api::kNumRanksVariable, 1, kMaxRanks);
  const int rank = number_in(api::kRankVariable, 0, num_ranks - 1);
  if (num_ranks > 1 && variable(api::kRankSocketVariable) == nullptr &&
      variable(api::kSocketVariable) == nullptr) {
    reject(cat("CMM_RANK=", rank, " and CMM_NUM_RANKS=", num_ranks,
               " are set, but not where the ranks meet: set CMM_SOCKET to a path that all are "
               "given, or start them with `cmm launch`"));
  }
  return RankEnvironment{.rank = rank, .num_ranks = num_ranks};
}

Mesh Mesh::processes(const ProcessOptions& options, const std::vector<AxisSize>& axes) {
  check(options);
  if (options.socket.empty() && options.num_ranks > 1) {
    reject(cat("no socket is named; ", options.num_ranks, " ranks need one to meet at"));
  }
  const Deadline deadline = api::agreement_deadline(options.deadline);
  return mesh_in(transport::shm::meet_at(options.socket, request_of(options, axes), deadline),
                 options.rank, axes);
}

Mesh Mesh::from_environment(const std::vector<AxisSize>& axes, std::chrono::milliseconds deadline) {
  const std::optional<RankEnvironment> environment = rank_environment();
  if (!environment.has_value()) {
    const int num_ranks = api::check_axes(axes);
    if (num_ranks > 1) reject_no_environment(axes, num_ranks);
    return Mesh::threads(axes).front();
  }
  const bool launched = variable(api::kRankSocketVariable) != nullptr;
  const char* const socket = variable(api::kSocketVariable);
  const char* const token = variable(api::kTokenVariable);
  const ProcessOptions options = {.socket = launched || socket == nullptr ? "" : socket,
                                  .rank = environment->rank,
                                  .num_ranks = environment->num_ranks,
                                  .token = launched || token == nullptr ? "" : token,
                                  .deadline = deadline};
  if (!launched) return processes(options, axes);
  check(options);
  // The connection to the launcher serves one thread at a time.
  static std::atomic<bool> busy{false};
  if (busy.exchange(true, std::memory_order_acquire)) {
    throw Error(ErrorCode::kBusy,
                "another thread of this process makes a mesh from the environment");
  }
  struct Unbusy {
    ~Unbusy() { busy.store(false, std::memory_order_release); }
  } unbusy;
  return mesh_in(transport::shm::meet({.socket = rank_socket()}, request_of(options, axes),
                                      api::agreement_deadline(deadline)),
                 options.rank, axes);
}

}  // namespace cmm
