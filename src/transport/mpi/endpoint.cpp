#include "transport/mpi/endpoint.hpp"

#include "base/text.hpp"
#include "transport/mpi/channel.hpp"
#include "transport/mpi/exchange.hpp"
#include "transport/mpi/retired.hpp"

namespace cmm::transport::mpi {
namespace {

class MpiEndpoint final : public Endpoint {
 public:
  MpiEndpoint(const Mailbox::Config& config, std::vector<int> hosts)
      : Endpoint(config.group->history()),
        mailbox_(std::make_shared<Mailbox>(config)),
        hosts_(std::move(hosts)) {}
  ~MpiEndpoint() override {
    leave("its handle on the axis was destroyed");
    if (group().space().owned_by_this_process()) retire(std::move(mailbox_));
  }

  int rank() const override { return mailbox_->rank(); }
  int num_ranks() const override { return mailbox_->num_ranks(); }
  std::string_view transport_name() const override { return "MPI"; }
  const std::vector<int>& hosts() const override { return hosts_; }

  std::vector<std::string> exchange(const std::string& mine, const Deadline& deadline,
                                    Purpose purpose) override {
    check_thread();
    return mpi::exchange(*mailbox_, mine, deadline, purpose);
  }

  std::unique_ptr<transport::Channel> open_channel(const ChannelShape& shape) override {
    check_thread();
    if (shape.num_chunks > mailbox_->world().max_chunks()) {
      throw Error(
          ErrorCode::kUnsupported,
          cat("the plan has ", shape.num_chunks, " chunks; the tags of this MPI tell at most ",
              mailbox_->world().max_chunks(), " apart: take fewer pieces"));
    }
    return std::make_unique<Channel>(
        mailbox_, shape, std::make_shared<memory::Channel>(mailbox_->group(), local_part(shape)));
  }

  Block allocate(std::int64_t bytes) override { return group().allocate(bytes); }

  void fail(const Error& error) override {
    if (!group().space().owned_by_this_process()) return;
    const CallsLock lock(calls_mutex());
    mailbox_->fail(error);
    group().set_told();
  }
  void check_alive() const override { group().check_alive(); }
  void check_usable() const override {
    if (!group().space().owned_by_this_process()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "this mesh was made by the process from which this one was forked; a forked "
                  "process cannot use MPI");
    }
    group().check_usable();
    check_thread();
  }
  void leave(const char* reason) override {
    if (!group().space().owned_by_this_process()) return;
    const CallsLock lock(calls_mutex());
    mailbox_->leave(reason);
  }

 private:
  memory::Group& group() const { return *mailbox_->group(); }

  // Of this host, by index in the group.
  ChannelShape local_part(ChannelShape shape) const {
    for (std::vector<int>& fetchers : shape.fetchers) {
      std::vector<int> local;
      for (const int rank : fetchers) {
        const int index = mailbox_->local_index(rank);
        if (index >= 0) local.push_back(index);
      }
      fetchers = std::move(local);
    }
    return shape;
  }

  void check_thread() const {
    if (!running()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "MPI was finalised; this mesh cannot be used any more");
    }
    const ThreadRule& threads = mailbox_->world().threads();
    if (threads.may_call()) return;
    throw Error(ErrorCode::kInvalidArgument,
                cat("MPI was initialised with ", level_name(threads.level()),
                    ": only the thread that made the mesh may make calls on it; initialise with "
                    "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"));
  }

  std::shared_ptr<Mailbox> mailbox_;
  std::vector<int> hosts_;
};

}  // namespace

std::shared_ptr<Endpoint> make_endpoint(const Mailbox::Config& config, std::vector<int> hosts) {
  return std::make_shared<MpiEndpoint>(config, std::move(hosts));
}

}  // namespace cmm::transport::mpi
