#include "job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "child_processes.hpp"
#include "cmm/error.hpp"
#include "cmm/rank_server.hpp"
#include "files/unique_fd.hpp"
#include "tagged_output.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string system_text(const std::string& what) { return what + ": " + std::strerror(errno); }

constexpr std::chrono::milliseconds kLastWordsTake{500};  // for those that find a peer gone
constexpr std::chrono::milliseconds kGrace{2000};         // between SIGTERM and SIGKILL
constexpr std::chrono::milliseconds kKillAgain{20};       // what was killed may have just forked
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// While it lives, the forwarded signals and SIGCHLD arrive at a descriptor.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : kForwarded) sigaddset(&wanted, signal);
    sigaddset(&wanted, SIGCHLD);
    std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, no exit code can be had
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    descriptor_ = files::UniqueFd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (descriptor_.get() < 0) throw Error(ErrorCode::kIo, system_text("no signalfd"));
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // The next signal that another process has sent, or 0.
  int next_to_forward() {
    signalfd_siginfo info = {};
    while (::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD && info.ssi_code != SI_KERNEL) return signal;
    }
    return 0;
  }

 private:
  sigset_t before_ = {};
  files::UniqueFd descriptor_;
};

// Each rank takes some descriptors here; each gets the limit that this process was given.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t needed) {
    getrlimit(RLIMIT_NOFILE, &before_);
    if (before_.rlim_cur >= needed) return;
    const rlimit raised = {std::min(needed, before_.rlim_max), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  void restore() const { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return text("exited with code ", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return text("was killed by signal ", signal, " (", strsignal(signal), ")");
}

int exit_code_of_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Job {
 public:
  explicit Job(const JobOptions& options)
      : options_(options),
        limit_(static_cast<rlim_t>(options.num_ranks) * (options.tag_output ? 4 : 2) + 64),
        server_(options.num_ranks) {
    // Processes that ranks leave behind become children of this one, which ends them.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const ChildProcess& child : children_of_this_process()) inherited_.insert(child.pid);
  }
  // Whatever happens here, nobody is left.
  ~Job() {
    for (ending_ = Ending::kKilled; reap(); poll(nullptr, 0, 1)) signal_children(SIGKILL);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int run() {
    for (int rank = 0; rank < options_.num_ranks; ++rank) {
      if (const int error = start(rank); error != 0) {
        say("", text("cannot start '", options_.program[0], "': ", std::strerror(error)));
        return error == ENOENT ? kNotFound : kCannotExecute;
      }
    }
    if (options_.timeout) timeout_ = Clock::now() + *options_.timeout;
    while (reap()) {
      end_what_must_end();
      wait();
    }
    say_first_failure();
    pass_on_the_rest();
    return exit_code_;
  }

 private:
  // How far the end of the job has come.
  enum class Ending { kNot, kLastWords, kTerminated, kKilled };

  // 0, or the error number of the system call that failed.
  int start(int rank);
  [[noreturn]] void become_rank(int rank, const TaggedOutput::Pipes& pipes, int error_pipe);
  bool reap();
  void ended(int rank, int status);
  void end_what_must_end();
  void say_first_failure();
  void enter(Ending ending, Clock::duration lasts);
  void wait();
  void pass_on_the_rest();
  void forward_signals();
  std::vector<pid_t> own_children() const;
  void signal_children(int signal) const {
    for (const pid_t child : own_children()) ::kill(child, signal);
  }
  // Those that have not had it; a stopped process gets it when it runs again.
  void terminate_children() {
    for (const pid_t child : own_children()) {
      if (!terminated_.insert(child).second) continue;
      ::kill(child, SIGTERM);
      ::kill(child, SIGCONT);
    }
  }

  const JobOptions& options_;
  const pid_t launcher_ = getpid();
  DescriptorLimit limit_;
  Signals signals_;
  RankServer server_;
  TaggedOutput output_;
  std::vector<pid_t> ranks_;  // by rank; 0: ended
  int num_running_ = 0;
  int exit_code_ = 0;
  std::string first_failure_;  // not yet said
  Ending ending_ = Ending::kNot;
  std::optional<Clock::time_point> timeout_;
  std::optional<Clock::time_point> due_;                // of the next step of the end
  std::optional<Clock::time_point> told_to_end_until_;  // by a SIGTERM that was passed on
  std::set<pid_t> terminated_;
  std::set<pid_t> inherited_;      // children of the program that became this one by exec
  std::uint64_t start_ticks_ = 0;  // of the first rank
};

// The ranks, and what ranks have left behind: nothing that is older than they are, nor what a shell
// started before it became this process. Without /proc the ranks alone.
std::vector<pid_t> Job::own_children() const {
  std::vector<pid_t> own;
  for (const pid_t pid : ranks_) {
    if (pid > 0) own.push_back(pid);
  }
  for (const ChildProcess& child : children_of_this_process()) {
    if (child.start_ticks < start_ticks_ || inherited_.count(child.pid) > 0) continue;
    if (std::find(ranks_.begin(), ranks_.end(), child.pid) == ranks_.end())
      own.push_back(child.pid);
  }
  return own;
}

int Job::start(int rank) {
  TaggedOutput::Pipes pipes;
  if (options_.tag_output) pipes = output_.add(rank);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorCode::kIo, system_text("no pipe for a rank"));
  const files::UniqueFd error_of_rank(ends[0]);
  files::UniqueFd error_here(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) throw Error(ErrorCode::kIo, system_text(text("cannot start rank ", rank)));
  if (pid == 0) become_rank(rank, pipes, error_here.get());
  server_.started(rank);
  ranks_.push_back(pid);
  ++num_running_;
  if (rank == 0) {
    for (const ChildProcess& child : children_of_this_process()) {
      if (child.pid == pid) start_ticks_ = child.start_ticks;
    }
  }
  ::close(error_here.release());
  int error = 0;  // stays so where exec has closed the pipe
  while (::read(error_of_rank.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  return error;
}

void Job::become_rank(int rank, const TaggedOutput::Pipes& pipes, int error_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher_) _exit(kCannotExecute);  // it had died before
  signals_.restore();
  limit_.restore();
  if (rank > 0) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
  }
  if (options_.tag_output) {
    dup2(pipes.out.get(), STDOUT_FILENO);
    dup2(pipes.err.get(), STDERR_FILENO);
  }
  const RankServer::Rank of_rank = server_.rank(rank);
  fcntl(of_rank.descriptor, F_SETFD, 0);
  for (const auto& [name, value] : of_rank.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : options_.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  const ssize_t written = ::write(error_pipe, &error, sizeof error);
  _exit(written < 0 ? kCannotExecute : kNotFound);
}

// False when no child is left, nor any that a rank has left behind.
bool Job::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) return errno == EINTR;
    if (pid == 0) return num_running_ > 0 || !own_children().empty();
    terminated_.erase(pid);
    inherited_.erase(pid);  // its number may be given to another process
    const auto rank = std::find(ranks_.begin(), ranks_.end(), pid);
    if (rank != ranks_.end()) ended(static_cast<int>(rank - ranks_.begin()), status);
  }
}

// A rank that loses a peer may end before the peer's own end is known here. So a rank that was
// killed goes before one that exited, as long as nobody has been ended from here.
void Job::ended(int rank, int status) {
  const pid_t pid = std::exchange(ranks_[static_cast<std::size_t>(rank)], 0);
  --num_running_;
  server_.ended(rank, how_it_ended(status));
  if (status == 0 || ending_ > Ending::kLastWords) return;
  if (ending_ == Ending::kNot) {
    enter(Ending::kLastWords, kLastWordsTake);
  } else if (!WIFSIGNALED(status) || exit_code_ > 128) {
    return;
  }
  exit_code_ = exit_code_of_status(status);
  first_failure_ = text("rank ", rank, " (process ", pid, ") ", how_it_ended(status));
  if (WIFSIGNALED(status)) say_first_failure();
}

void Job::say_first_failure() {
  if (first_failure_.empty()) return;
  say("", std::exchange(first_failure_, {}) +
              (num_running_ > 0 ? text("; ending the other ", num_running_) : ""));
}

void Job::enter(Ending ending, Clock::duration lasts) {
  ending_ = ending;
  due_ = Clock::now() + lasts;
}

void Job::end_what_must_end() {
  const Clock::time_point now = Clock::now();
  if (ending_ == Ending::kNot && timeout_ && now >= *timeout_) {
    exit_code_ = kTimedOut;
    say("", text("the job has run for ", options_.timeout->count(), " s (--timeout); ending its ",
                 num_running_, " ranks"));
    enter(Ending::kTerminated, kGrace);
  }
  if (ending_ == Ending::kNot && told_to_end_until_ && now >= *told_to_end_until_) {
    exit_code_ = 128 + SIGKILL;
    say("", text(num_running_, " ranks have not ended ", kGrace.count() / 1000,
                 " s after SIGTERM was passed on to them; killing them"));
    enter(Ending::kKilled, Clock::duration::zero());
  }
  const bool due = due_ && now >= *due_;
  if (ending_ < Ending::kTerminated && (due || num_running_ == 0)) {
    say_first_failure();
    enter(Ending::kTerminated, kGrace);
  } else if (ending_ >= Ending::kTerminated && due) {
    enter(Ending::kKilled, kKillAgain);
    signal_children(SIGKILL);
  }
  if (ending_ == Ending::kTerminated) terminate_children();
}

// Until something happens or is due.
void Job::wait() {
  std::vector<pollfd> polled = {{signals_.descriptor(), POLLIN, 0},
                                {server_.descriptor(), POLLIN, 0}};
  output_.add_to(polled);
  int wait_ms = -1;
  std::vector<std::optional<Clock::time_point>> times = {due_};
  if (ending_ == Ending::kNot) times.insert(times.end(), {timeout_, told_to_end_until_});
  for (const auto& time : times) {
    if (!time) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*time - Clock::now()).count();
    const int left_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    wait_ms = wait_ms < 0 ? left_ms : std::min(wait_ms, left_ms);
  }
  if (poll(polled.data(), polled.size(), wait_ms) < 0) return;  // EINTR: looked at again
  forward_signals();
  // An end that has been told is seen first: the server then knows how the rank ended.
  if (polled[0].revents == 0 && polled[1].revents != 0) server_.serve();
  output_.pass_on();
}

// A stopped rank gets a signal when it runs again, and one that is to end must not wait for that.
void Job::forward_signals() {
  while (const int signal = signals_.next_to_forward()) {
    for (const pid_t pid : ranks_) {
      if (pid <= 0) continue;
      ::kill(pid, signal);
      if (signal == SIGTERM) ::kill(pid, SIGCONT);
    }
    if (signal == SIGTERM && !told_to_end_until_) told_to_end_until_ = Clock::now() + kGrace;
  }
}

// As any program this one waits for its reader, and ends by what a terminal or another process
// sends; but it does not wait beyond --timeout, nor when it has been told to end.
void Job::pass_on_the_rest() {
  for (const int signal : {SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);  // meant for ranks
  signals_.restore();
  output_.no_more_comes();
  std::optional<Clock::time_point> until = timeout_;
  if (exit_code_ == kTimedOut || told_to_end_until_) until = Clock::now() + kGrace;
  for (output_.pass_on(); !output_.all_passed_on(); output_.pass_on()) {
    if (until && Clock::now() >= *until) {
      say("", "some of what the ranks have printed is lost: its reader takes no more");
      if (exit_code_ == 0) exit_code_ = kTimedOut;
      return;
    }
    std::vector<pollfd> polled;
    output_.add_to(polled);
    poll(polled.data(), polled.size(), until ? 20 : -1);
  }
}

}  // namespace

int run_job(const JobOptions& options) { return Job(options).run(); }

}  // namespace cmm::cli
