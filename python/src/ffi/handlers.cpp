#include "handlers.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "finishers.hpp"
#include "meetings.hpp"
#include "products.hpp"
#include "site.hpp"

namespace cmm::python::ffi {
namespace {

// What is left for each device once the product is there.
void copy_gathered(const Site& site, const Meeting& meeting, const Operands& operands) {
  if (operands.gathered == nullptr) return;
  const void* const x =
      meeting.gathered != nullptr ? static_cast<const void*>(meeting.gathered.get()) : operands.x;
  std::memcpy(operands.gathered, x,
              static_cast<std::size_t>(site.options().num_ranks * site.shape().shard_bytes()));
}

// By the last device to come, on its own thread. No device is told before the product is complete:
// with its result, the runtime frees its operands.
void multiply(const Site& site, const std::shared_ptr<Meeting>& meeting) {
  std::optional<xla::Failure> failure;
  try {
    Products::instance().run(site, *meeting);
  } catch (...) {
    failure = xla::failure_in_flight();
  }
  Meetings::instance().end(meeting, failure, [&site, meeting](const Arrival& arrival) {
    copy_gathered(site, *meeting, arrival.operands);
    xla::complete(*arrival.api, arrival.future);
  });
  if (failure) throw Meetings::Failed{*failure};
}

}  // namespace

xla::Error* instantiate(xla::CallFrame* frame) {
  try {
    // Here rather than by Python: JAX keeps what Python registers until it makes its client, and
    // then registers handlers before types; the runtime wants the type to be known with its
    // handler.
    if (frame->api != nullptr) xla::register_type(*frame->api, Site::type());
    if (xla::answer_metadata(*frame, *Site::type().id)) return nullptr;
    auto site = std::make_unique<Site>(*frame);
    xla::set_state(*frame, Site::type(), site.get());
    site.release();
    return nullptr;
  } catch (...) {
    return xla::make_error(*frame->api, xla::failure_in_flight());
  }
}

xla::Error* execute(xla::CallFrame* frame) {
  if (xla::answer_metadata(*frame, xla::TypeId{0})) return nullptr;
  const xla::Api& api = *frame->api;
  Meetings& meetings = Meetings::instance();
  Site* site = nullptr;
  std::int64_t run = 0;
  try {
    site = static_cast<Site*>(xla::get_state(*frame, Site::type()));
    run = xla::run_id(*frame);
    Operands operands = site->operands(*frame);
    const Place place = site->place(*frame);
    const std::shared_ptr<Meeting> meeting = meetings.enter(*site, run, place);
    if (meeting->gathered != nullptr) {
      const std::int64_t bytes = site->shape().shard_bytes();
      std::memcpy(meeting->gathered.get() + place.rank * bytes, operands.x,
                  static_cast<std::size_t>(bytes));
    }
    const Operands& kept = meeting->arrivals[static_cast<std::size_t>(place.rank)].operands;
    const auto [last, future] = meetings.arrive(*meeting, place.rank, api, std::move(operands));
    if (last) multiply(*site, meeting);
    if (future == nullptr) copy_gathered(*site, *meeting, kept);
    frame->future = future;
    return nullptr;
  } catch (const Meetings::Failed& failed) {
    return xla::make_error(api, failed.failure);
  } catch (...) {
    const xla::Failure failure = xla::failure_in_flight();
    if (site != nullptr) meetings.fail(*site, run, failure);
    return xla::make_error(api, failure);
  }
}

}  // namespace cmm::python::ffi
