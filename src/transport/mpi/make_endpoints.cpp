#include "transport/mpi/make_endpoints.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>

#include "base/text.hpp"
#include "transport/memory/endpoint.hpp"
#include "transport/memory/heap_space.hpp"
#include "transport/mpi/endpoint.hpp"
#include "transport/mpi/exchange.hpp"
#include "transport/mpi/hosts.hpp"
#include "transport/mpi/private_space.hpp"
#include "transport/mpi/retired.hpp"

namespace cmm::transport::mpi {
namespace {

std::uint64_t random_identity() {
  std::random_device random;
  const std::uint64_t high = random();
  return (high << 32 | random()) | 1;  // 0 means none
}

// What a rank says of itself at the start, ended by zeros: what is wrong with its arguments, its
// axes, a random number (the mesh gets that of rank 0), and the communicators it may free.
std::string introduction(const MeshConfig& config, const World& world) {
  std::string text = cat(config.wrong, '\0', config.axes, '\0', random_identity(), '\n');
  for (const std::uint64_t unused : unused_communicators(world.num_ranks())) {
    text += cat(unused, ' ');
  }
  return text;
}

// Throws alike on all ranks.
void agree(World& world, const std::vector<std::string>& introductions) {
  std::vector<std::vector<std::uint64_t>> unused;
  std::string first_axes;
  for (std::size_t rank = 0; rank < introductions.size(); ++rank) {
    std::istringstream lines(introductions[rank]);
    std::string wrong, axes;
    std::uint64_t identity = 0;
    std::getline(lines, wrong, '\0');
    std::getline(lines, axes, '\0');
    lines >> identity;
    if (!wrong.empty()) {
      throw Error(ErrorCode::kInvalidArgument, cat("rank ", rank, ": ", wrong),
                  static_cast<int>(rank));
    }
    if (rank == 0) {
      first_axes = axes;
      world.set_identity(identity);
    }
    if (axes != first_axes) {
      throw Error(ErrorCode::kInvalidArgument, cat("the ranks disagree on the axes: rank 0 has ",
                                                   first_axes, ", rank ", rank, " has ", axes));
    }
    unused.emplace_back();
    while (lines >> identity) unused.back().push_back(identity);
  }
  free_communicators(unused);
}

// Of all meshes of this process, for leave_all(). Never destroyed, as calls_mutex().
std::vector<std::weak_ptr<Endpoint>>& living_endpoints() {
  static auto* const list = new std::vector<std::weak_ptr<Endpoint>>;
  return *list;
}
void remember(const std::vector<std::shared_ptr<Endpoint>>& endpoints) {
  const CallsLock lock(calls_mutex());
  auto& living = living_endpoints();
  living.erase(std::remove_if(living.begin(), living.end(),
                              [](const auto& endpoint) { return endpoint.expired(); }),
               living.end());
  living.insert(living.end(), endpoints.begin(), endpoints.end());
}

// The ranks of a line that are on this host, as a group; its memory begins at `control`.
memory::Group::Config local_group(const memory::AxisLine& line, const Host& host,
                                  std::byte* control) {
  memory::Group::Config config = {.control = std::shared_ptr<std::byte>(host.control, control),
                                  .space = host.space,
                                  .index = 0,
                                  .members = {},
                                  .ranks = {}};
  for (std::size_t rank = 0; rank < line.members.size(); ++rank) {
    const auto place =
        std::lower_bound(host.members.begin(), host.members.end(), line.members[rank]);
    if (place == host.members.end() || *place != line.members[rank]) continue;
    if (static_cast<int>(rank) == line.rank) config.index = static_cast<int>(config.ranks.size());
    config.members.push_back(static_cast<int>(place - host.members.begin()));
    config.ranks.push_back(static_cast<int>(rank));
  }
  return config;
}

// By rank on the line, counted anew: 0 .. number of hosts on it - 1, by their first ranks.
std::vector<int> hosts_of(const memory::AxisLine& line, const Host& host) {
  std::vector<int> seen;
  std::vector<int> hosts;
  for (const int member : line.members) {
    const int of = host.host_of[static_cast<std::size_t>(member)];
    auto place = std::find(seen.begin(), seen.end(), of);
    if (place == seen.end()) place = seen.insert(seen.end(), of);
    hosts.push_back(static_cast<int>(place - seen.begin()));
  }
  return hosts;
}

}  // namespace

std::vector<std::shared_ptr<Endpoint>> make_endpoints(const MeshConfig& config,
                                                      const Deadline& deadline) {
  clear_retired();
  const std::size_t num_axes = config.lines.size();
  const auto world = std::make_shared<World>(
      World::Config{.comm = config.comm,
                    .num_axes = static_cast<int>(num_axes),
                    .max_message_bytes = config.max_message_bytes,
                    .with_helper = config.with_helper && config.wrong.empty()},
      deadline);
  const int num_ranks = world->num_ranks();
  std::vector<int> everybody(static_cast<std::size_t>(num_ranks));
  std::iota(everybody.begin(), everybody.end(), 0);
  const auto mailbox = std::make_shared<Mailbox>(
      Mailbox::Config{.world = world,
                      .axis = -1,
                      .rank = world->rank(),
                      .ranks = everybody,
                      .group = std::make_shared<memory::Group>(memory::Group::Config{
                          .control = memory::zeroed_memory(memory::control_bytes(1)),
                          .space = make_private_space(),
                          .index = 0,
                          .members = {0},
                          .ranks = {world->rank()}})});
  const struct Leave {
    const std::shared_ptr<Mailbox>& mailbox;
    ~Leave() {
      {
        const CallsLock lock(calls_mutex());
        mailbox->leave("it could not make its part of the mesh, or has made it");
      }
      retire(mailbox);
    }
  } leave{mailbox};
  agree(*world, exchange(*mailbox, introduction(config, *world), deadline));
  const Host host =
      find_host(*mailbox,
                {.control_bytes = memory::control_bytes(config.lines, num_axes, num_ranks),
                 .apart = config.apart},
                deadline);
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    const memory::AxisLine& line = config.lines[axis];
    const auto group = std::make_shared<memory::Group>(local_group(
        line, host, host.control.get() + memory::control_offset(config.lines, axis, num_ranks)));
    if (group->size() == static_cast<int>(line.members.size())) {
      endpoints.push_back(memory::make_endpoint(group, "shared memory"));
      continue;
    }
    endpoints.push_back(make_endpoint({.world = world,
                                       .axis = static_cast<int>(axis),
                                       .rank = line.rank,
                                       .ranks = line.members,
                                       .group = group},
                                      hosts_of(line, host)));
  }
  // A rank that could not make its ends has left by now, and all others learn of it.
  exchange(*mailbox, "", deadline);
  remember(endpoints);
  return endpoints;
}

void leave_all(const char* reason) noexcept {
  std::vector<std::weak_ptr<Endpoint>> living;
  {
    const CallsLock lock(calls_mutex());
    living.swap(living_endpoints());
  }
  for (const std::weak_ptr<Endpoint>& endpoint : living) {
    if (const auto alive = endpoint.lock()) alive->leave(reason);
  }
}

}  // namespace cmm::transport::mpi
