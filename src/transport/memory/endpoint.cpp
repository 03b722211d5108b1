#include "transport/memory/endpoint.hpp"

#include "transport/memory/channel.hpp"

namespace cmm::transport::memory {
namespace {

class MemoryEndpoint final : public Endpoint {
 public:
  MemoryEndpoint(std::shared_ptr<Group> group, std::string_view transport_name)
      : Endpoint(group->history()),
        group_(std::move(group)),
        transport_name_(transport_name),
        hosts_(static_cast<std::size_t>(group_->size()), 0) {}
  ~MemoryEndpoint() override { MemoryEndpoint::leave("its handle on the axis was destroyed"); }

  int rank() const override { return group_->index(); }
  int num_ranks() const override { return group_->size(); }
  std::string_view transport_name() const override { return transport_name_; }
  const std::vector<int>& hosts() const override { return hosts_; }

  std::vector<std::string> exchange(const std::string& mine, const Deadline& deadline,
                                    Purpose purpose) override {
    return group_->exchange(mine, deadline, purpose);
  }

  std::unique_ptr<transport::Channel> open_channel(const ChannelShape& shape) override {
    return std::make_unique<Channel>(group_, shape);
  }

  Block allocate(std::int64_t bytes) override { return group_->allocate(bytes); }

  void fail(const Error& error) override {
    if (!group_->space().owned_by_this_process()) return;
    group_->fail(error);
    group_->set_told();
  }
  void check_alive() const override { group_->check_alive(); }
  void check_usable() const override {
    if (!group_->space().owned_by_this_process()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "this mesh was made by the process from which this one was forked; a forked "
                  "process makes a mesh of its own");
    }
    group_->check_usable();
  }
  void leave(const char* reason) override {
    if (group_->space().owned_by_this_process()) group_->leave(reason);
  }

 private:
  std::shared_ptr<Group> group_;
  std::string_view transport_name_;
  std::vector<int> hosts_;
};

}  // namespace

std::shared_ptr<Endpoint> make_endpoint(std::shared_ptr<Group> group,
                                        std::string_view transport_name) {
  return std::make_shared<MemoryEndpoint>(std::move(group), transport_name);
}

}  // namespace cmm::transport::memory
