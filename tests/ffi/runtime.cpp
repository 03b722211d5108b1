#include "runtime.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "ffi/handlers.hpp"

namespace cmm::python::xla {

struct Error {
  std::string message;
};
struct Context {
  void* state = nullptr;
  void (*destroy)(void*) = nullptr;
  std::int64_t run = 0;
};
struct Future {
  std::mutex mutex;
  std::condition_variable ended;
  bool complete = false;
  std::string error;
};

namespace {

void end(Future& future, const std::string& error) {
  const std::lock_guard lock(future.mutex);
  future.complete = true;
  future.error = error;
  future.ended.notify_all();
}

// The functions of the table. Those for the state exist once for each layout.
Error* create_error(ErrorCreate* arguments) { return new Error{arguments->message}; }
void message_of(ErrorMessage* arguments) { arguments->message = arguments->error->message.c_str(); }
void destroy_error(ErrorDestroy* arguments) { delete arguments->error; }
Error* set_state_1(StateSet1* arguments) {
  arguments->context->state = arguments->state;
  arguments->context->destroy = arguments->destroy;
  return nullptr;
}
// Of the one type there is. The library keeps its number, whatever version the next site is of.
const TypeInfo* registered_type = nullptr;
Error* register_type(TypeRegister* arguments) {
  arguments->type->id = 1;
  registered_type = arguments->info;
  return nullptr;
}
template <class Arguments>  // from 0.2 on, the type tells how a state is destroyed
Error* set_state(Arguments* arguments) {
  arguments->context->state = arguments->state;
  arguments->context->destroy = registered_type->destroy;
  return nullptr;
}
template <class Arguments>
Error* get_state(Arguments* arguments) {
  arguments->state = arguments->context->state;
  return nullptr;
}
Error* create_future(FutureCreate* arguments) {
  arguments->future = new Future;
  return nullptr;
}
Error* set_available(FutureSetAvailable* arguments) {
  end(*arguments->future, "");
  return nullptr;
}
Error* set_error(FutureSetError* arguments) {
  end(*arguments->future, arguments->error->message);
  delete arguments->error;
  return nullptr;
}
Error* run_id(RunId* arguments) {
  arguments->run_id = arguments->context->run;
  return nullptr;
}

struct Table {
  Head head{};
  Version version{};
  const void* internal = nullptr;
  std::array<void*, 18> functions{};
};
static_assert(offsetof(Table, functions) == offsetof(Api, functions));

const Api& api_of(int minor) {
  static const std::array<Table, 3> tables = [] {
    std::array<Table, 3> of_minor;
    for (int version = 1; version <= 3; ++version) {
      Table& table = of_minor[static_cast<std::size_t>(version - 1)];
      table.version.minor = version;
      const auto set = [&](Function function, auto* entry) {
        table.functions[static_cast<std::size_t>(function)] = reinterpret_cast<void*>(entry);
      };
      set(Function::kErrorCreate, create_error);
      set(Function::kErrorMessage, message_of);
      set(Function::kErrorDestroy, destroy_error);
      set(Function::kTypeRegister, register_type);
      if (version == 1) set(Function::kStateSet, set_state_1);
      if (version == 2) set(Function::kStateSet, set_state<StateSet2>);
      if (version == 3) set(Function::kStateSet, set_state<StateSet3>);
      if (version == 3) {
        set(Function::kStateGet, get_state<StateGet3>);
      } else {
        set(Function::kStateGet, get_state<StateGet1>);
      }
      set(Function::kFutureCreate, create_future);
      set(Function::kFutureSetAvailable, set_available);
      set(Function::kFutureSetError, set_error);
      set(Function::kRunId, run_id);
    }
    return of_minor;
  }();
  return reinterpret_cast<const Api&>(tables[static_cast<std::size_t>(minor - 1)]);
}

}  // namespace

LoadedSite::LoadedSite(const SiteAttributes& attributes, int minor) : minor_(minor) {
  struct Named {
    const char* name;
    std::int64_t value;
  };
  std::array<Named, 6> integers = {{{"deadline_ms", attributes.deadline_ms},
                                    {"num_groups", 1},
                                    {"num_ranks", attributes.num_ranks},
                                    {"return_gathered", attributes.return_gathered},
                                    {"rhs_transpose", 0},
                                    {"swiglu", 0}}};
  Text no_activations = {"", 0};
  std::array<Text, 7> texts = {{{"activations", 11}}};
  std::array<Text*, 7> names = {&texts[0]};
  std::array<Scalar, 7> scalars = {};
  std::array<void*, 7> values = {&no_activations};
  std::array<AttributeKind, 7> kinds = {AttributeKind::kString};
  for (std::size_t i = 0; i < integers.size(); ++i) {
    texts[i + 1] = {integers[i].name, std::string(integers[i].name).size()};
    names[i + 1] = &texts[i + 1];
    scalars[i + 1] = {DataType::kS64, &integers[i].value};
    values[i + 1] = &scalars[i + 1];
    kinds[i + 1] = AttributeKind::kScalar;
  }
  Context context;
  CallFrame frame = {};
  frame.api = &api_of(minor);
  frame.context = &context;
  frame.stage = Stage::kInstantiate;
  frame.attributes = {{}, 7, kinds.data(), names.data(), values.data()};
  const std::unique_ptr<Error> error(ffi::instantiate(&frame));
  if (error != nullptr) throw std::runtime_error(error->message);
  state_ = context.state;
  destroy_ = context.destroy;
}

LoadedSite::~LoadedSite() { destroy_(state_); }

struct DeviceCall::Frame {
  Context context;
  std::array<Matrix, 2> operands;
  std::vector<Matrix> results;
  std::array<std::int32_t, 2> where{};
  std::int64_t where_extent = 2;
  std::vector<std::array<std::int64_t, 2>> extents;
  std::vector<Buffer> buffers;
  std::vector<void*> arguments;
  std::vector<void*> outs;
  CallFrame frame{};
  std::unique_ptr<Error> error;
  std::unique_ptr<Future> future;
};

DeviceCall::DeviceCall(const LoadedSite& site, std::int64_t run, int rank, Matrix x, Matrix y,
                       std::vector<Matrix> results)
    : frame_(std::make_unique<Frame>()) {
  Frame& f = *frame_;
  f.context = {site.state_, nullptr, run};
  f.operands = {std::move(x), std::move(y)};
  f.results = std::move(results);
  f.where = {rank, 0};
  f.buffers.reserve(3 + f.results.size());
  f.extents.reserve(f.buffers.capacity());
  const auto add = [&](Matrix& matrix, std::vector<void*>& to) {
    f.extents.push_back({matrix.rows, matrix.cols});
    matrix.values.resize(static_cast<std::size_t>(matrix.rows * matrix.cols));
    f.buffers.push_back({{}, DataType::kF32, matrix.values.data(), 2, f.extents.back().data()});
    to.push_back(&f.buffers.back());
  };
  for (Matrix& operand : f.operands) add(operand, f.arguments);
  f.buffers.push_back({{}, DataType::kS32, f.where.data(), 1, &f.where_extent});
  f.arguments.push_back(&f.buffers.back());
  for (Matrix& result : f.results) add(result, f.outs);
  f.frame.api = &api_of(site.minor_);
  f.frame.context = &f.context;
  f.frame.stage = Stage::kExecute;
  f.frame.arguments = {
      {}, static_cast<std::int64_t>(f.arguments.size()), nullptr, f.arguments.data()};
  f.frame.results = {{}, static_cast<std::int64_t>(f.outs.size()), nullptr, f.outs.data()};
}

DeviceCall::~DeviceCall() = default;
DeviceCall::DeviceCall(DeviceCall&&) noexcept = default;
DeviceCall& DeviceCall::operator=(DeviceCall&&) noexcept = default;

void DeviceCall::start() {
  frame_->error.reset(ffi::execute(&frame_->frame));
  frame_->future.reset(frame_->frame.future);
}

std::string DeviceCall::wait(std::chrono::milliseconds time) {
  if (frame_->error != nullptr) return frame_->error->message;
  if (frame_->future == nullptr) return "";
  Future& future = *frame_->future;
  std::unique_lock lock(future.mutex);
  if (!future.ended.wait_for(lock, time, [&] { return future.complete; })) return "hangs";
  return future.error;
}

const DeviceCall::Matrix& DeviceCall::result(std::size_t i) const { return frame_->results[i]; }

}  // namespace cmm::python::xla
