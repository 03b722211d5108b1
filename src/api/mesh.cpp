#include "cmm/mesh.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "api/axes.hpp"
#include "api/collective.hpp"
#include "api/plan_state.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "transport/threads/threads.hpp"
#include "transport/transport.hpp"

namespace cmm {

int Axis::rank() const { return endpoint_->rank(); }
int Axis::num_ranks() const { return endpoint_->num_ranks(); }
std::string_view Axis::transport_name() const { return endpoint_->transport_name(); }
const std::vector<int>& Axis::hosts() const { return endpoint_->hosts(); }
int Axis::num_hosts() const {
  const std::vector<int>& hosts = endpoint_->hosts();
  return 1 + *std::max_element(hosts.begin(), hosts.end());
}

namespace {

struct ExchangeKind {
  transport::History::Kind in_history;
  transport::Purpose purpose;
};

// A text starts with 'e' (error) or 't' (text): the peers of a rank whose arguments are wrong are
// in the exchange, too.
std::vector<std::string> exchange_as(const ExchangeKind& kind, const Axis& axis,
                                     const std::string& text, std::chrono::milliseconds deadline) {
  const api::Claim claim(axis, {.kind = kind.in_history});
  transport::Endpoint& endpoint = axis.endpoint();
  endpoint.check_usable();
  return api::collectively(endpoint, "an exchange", [&] {
    const std::string mine = deadline.count() > 0
                                 ? "t" + text
                                 : cat("edeadline=", deadline.count(), " ms; it must be positive");
    std::vector<std::string> all =
        endpoint.exchange(mine, api::agreement_deadline(deadline), kind.purpose);
    for (int rank = 0; std::string & of_rank : all) {
      if (!of_rank.starts_with('t')) {
        throw api::Refused(
            ErrorCode::kInvalidArgument,
            cat("rank ", rank, " of axis '", axis.name(), "': ", of_rank.substr(!of_rank.empty())),
            rank);
      }
      of_rank.erase(0, 1);
      ++rank;
    }
    return all;
  });
}

}  // namespace

std::vector<std::string> Axis::exchange(const std::string& text,
                                        std::chrono::milliseconds deadline) const {
  return exchange_as({transport::History::Kind::kExchange, transport::Purpose::kText}, *this, text,
                     deadline);
}

void Axis::barrier(std::chrono::milliseconds deadline) const {
  exchange_as({transport::History::Kind::kBarrier, transport::Purpose::kBarrier}, *this, "",
              deadline);
}

Mesh::Mesh(int rank, std::vector<AxisSize> axes,
           std::vector<std::shared_ptr<transport::Endpoint>> endpoints)
    : rank_(rank),
      num_ranks_(api::check_axes(axes)),
      axes_(std::move(axes)),
      endpoints_(std::move(endpoints)) {}

std::vector<Mesh> Mesh::threads(const std::vector<AxisSize>& axes) {
  const int num_ranks = api::check_axes(axes);
  std::vector<std::vector<std::shared_ptr<transport::Endpoint>>> endpoints(
      static_cast<std::size_t>(num_ranks));
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    for (int rank = 0; rank < num_ranks; ++rank) {
      const auto line = api::axis_line(axes, axis, rank);
      if (line.rank != 0) continue;
      const auto ends = transport::threads::make_endpoints(axes[axis].size);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        endpoints[static_cast<std::size_t>(line.members[i])].push_back(ends[i]);
      }
    }
  }
  std::vector<Mesh> meshes;
  for (int rank = 0; rank < num_ranks; ++rank) {
    meshes.push_back(Mesh(rank, axes, std::move(endpoints[static_cast<std::size_t>(rank)])));
  }
  return meshes;
}

namespace {

[[noreturn]] void throw_moved_from() {
  throw Error(ErrorCode::kInvalidArgument, "this mesh was moved from; use the one it was moved to");
}

}  // namespace

Memory Mesh::allocate(std::int64_t bytes) const {
  if (bytes < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("memory of ", bytes, " bytes was asked for"));
  }
  if (endpoints_.empty()) throw_moved_from();
  Memory memory;
  transport::Block block = endpoints_.front()->allocate(bytes);
  memory.data_ = std::move(block.data);
  memory.bytes_ = bytes;
  return memory;
}

Axis Mesh::axis(std::string_view name) const {
  if (endpoints_.empty()) throw_moved_from();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return Axis(axes_[i].name, endpoints_[i]);
  }
  const auto quoted = [](const AxisSize& axis) { return cat("'", axis.name, "'"); };
  throw Error(ErrorCode::kInvalidArgument,
              cat("no axis '", name, "'; this mesh has ", joined(axes_, ", ", quoted)));
}

void Mesh::leave(const char* reason) noexcept {
  for (const auto& endpoint : endpoints_) endpoint->leave(reason);
}

namespace {

// Built without allocating; a long name is cut.
class Owner {
 public:
  Owner(int rank, std::string_view axis) {
    add("rank ");
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, rank).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
    add(" of axis '");
    add(axis.substr(0, 64));
    add("'");
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  void add(std::string_view part) {
    std::memcpy(text_ + size_, part.data(), part.size());
    size_ += part.size();
  }
  char text_[128];
  std::size_t size_ = 0;
};

}  // namespace

std::string Axis::history() const { return endpoint_->history().text(Owner(rank(), name_).text()); }

void Mesh::write_history(int fd) const noexcept {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const transport::Endpoint& endpoint = *endpoints_[i];
    endpoint.history().write(fd, Owner(endpoint.rank(), axes_[i].name).text());
  }
}

void Mesh::abort(const std::string& reason) {
  for (const auto& endpoint : endpoints_) {
    endpoint->fail(Error(ErrorCode::kPeerFailed,
                         cat("rank ", endpoint->rank(), " left the call: ", reason),
                         endpoint->rank()));
  }
}

namespace {

// Takes a failed rank out of its axes with the reason in words where memory allows.
void abort_with(Mesh& mesh, const std::exception_ptr& failure) noexcept {
  try {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      mesh.abort(error.what());
    } catch (...) {
      mesh.abort("an exception of unknown type");
    }
  } catch (...) {
    // No memory for the words: leaving, which follows, still tells the peers that it has gone.
  }
}

}  // namespace

void run_ranks(const std::vector<AxisSize>& axes, const std::function<void(Mesh&)>& body) {
  std::vector<Mesh> meshes = Mesh::threads(axes);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](Mesh& mesh) noexcept {
    try {
      body(mesh);
      mesh.leave("its body returned");
    } catch (...) {
      {
        // Recorded before the peers learn of it, so that the first failure stays the first.
        const std::lock_guard lock(mutex);
        if (first == nullptr) first = std::current_exception();
      }
      abort_with(mesh, std::current_exception());
      mesh.leave("its body failed");
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(meshes.size());
  try {
    for (Mesh& mesh : meshes) threads.emplace_back([&run, &mesh] { run(mesh); });
  } catch (const std::exception& error) {
    const std::size_t num_started = threads.size();
    for (std::size_t rank = num_started; rank < meshes.size(); ++rank) {
      meshes[rank].leave("the system gave no thread for it");
    }
    for (std::thread& thread : threads) thread.join();
    throw Error(ErrorCode::kOutOfMemory, cat("the system gave ", num_started, " of ", meshes.size(),
                                             " threads for the ranks: ", error.what()));
  }
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace cmm
