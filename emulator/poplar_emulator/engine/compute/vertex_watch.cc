#include "vertex_watch.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {
namespace {

constexpr double kSeconds = 60;
constexpr int kSignal = SIGURG; // ignored by a process that does not handle it
constexpr int kFaults[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};
struct sigaction former[NSIG]; // actions for faults outside of vertices

double processorSeconds(pthread_t thread) {
  clockid_t clock;
  timespec time;
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace

/// The threads that run vertices, and the thread that looks at them. It is never destroyed, because
/// threads of the program may outlive it.
class Watcher {
public:
  static Watcher &get() {
    static Watcher *watcher = new Watcher;
    return *watcher;
  }

  void add(VertexWatch *watch) {
    const std::lock_guard<std::mutex> lock(mutex);
    catchFaults();
    watches.push_back(watch);
    if (process != getpid() && VertexWatch::limit() > 0) { // also in a child after a fork
      process = getpid();
      std::thread([this] { loop(); }).detach();
    }
  }

  void remove(VertexWatch *watch) {
    const std::lock_guard<std::mutex> lock(mutex);
    watches.erase(std::remove(watches.begin(), watches.end(), watch), watches.end());
  }

private:
  void catchFaults() {
#ifndef __SANITIZE_ADDRESS__ // which reports them itself
    if (catching)
      return;
    catching = true;
    struct sigaction action = {};
    action.sa_sigaction = VertexWatch::onSignal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK; // the handler may not return
    for (const int number : kFaults)
      sigaction(number, &action, &former[number]);
#endif
  }

  static void leave(int) {
    VertexWatch &watch = VertexWatch::ofThread();
    if (watch.isRunning.load() && watch.count.load() == watch.ended.load())
      siglongjmp(watch.back, 1); // else it ended by itself in the meantime
  }

  void loop() {
    sigset_t all; // signals of the program are for its own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const double limit = VertexWatch::limit();
    const auto pause = std::chrono::duration<double>(std::min(1.0, limit / 4));
    for (;;) {
      std::this_thread::sleep_for(pause);
      const std::lock_guard<std::mutex> lock(mutex);
      for (VertexWatch *watch : watches)
        look(*watch, limit);
    }
  }

  static void look(VertexWatch &watch, double limit) {
    const std::uint64_t count = watch.count.load(std::memory_order_relaxed);
    const double now = processorSeconds(watch.thread);
    if (!watch.isRunning.load(std::memory_order_acquire) || count != watch.seen) {
      watch.seen = count;
      watch.since = now;
      return;
    }
    if (now - watch.since <= limit)
      return;
    watch.since = now;
    watch.ended.store(count);
    struct sigaction action = {};
    action.sa_handler = leave;
    action.sa_flags = SA_NODEFER; // the handler does not return
    sigaction(kSignal, &action, nullptr);
    pthread_kill(watch.thread, kSignal);
  }

  std::mutex mutex;
  std::vector<VertexWatch *> watches;
  pid_t process = 0; // that has the thread
  bool catching = false;
};

VertexWatch &VertexWatch::ofThread() {
  static thread_local VertexWatch watch;
  return watch;
}

double VertexWatch::limit() {
  const char *named = std::getenv("IPULSE_EMULATOR_VERTEX_SECONDS");
  if (!named)
    return kSeconds;
  char *end = nullptr;
  const double value = std::strtod(named, &end);
  if (end == named || *end || !(value >= 0 && value <= 1e9))
    throw invalid_option("IPULSE_EMULATOR_VERTEX_SECONDS is '" + std::string(named) +
                         "': expected a number of seconds from 0");
  return value;
}

thread_local VertexWatch *VertexWatch::running = nullptr;

void VertexWatch::onSignal(int number, siginfo_t *info, void *) {
  VertexWatch *watch = running;
  if (watch && info->si_code > 0) { // by an instruction of this thread
    watch->signal = number;
    watch->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    siglongjmp(watch->back, 1);
  }
  sigaction(number, &former[number], nullptr); // the instruction is repeated
  if (info->si_code <= 0)
    raise(number);
}

void VertexWatch::end(const std::string &reason) {
  why = reason;
  siglongjmp(back, 1);
}

std::string VertexWatch::reason() const {
  switch (signal) {
  case 0:
    return why;
  case SIGFPE:
    return "divided an integer by 0, or the least one by -1";
  case SIGILL:
    return "reached an invalid instruction, which compilers put where code has no meaning, such as "
           "a write to address 0";
  default:
    return "accessed address " + std::to_string(address) +
           ", which is in no memory, or needed more stack than there is";
  }
}

VertexWatch::VertexWatch() : thread(pthread_self()), signalStack(1 << 16) {
  stack_t own = {}, present = {};
  sigaltstack(nullptr, &present);
  own.ss_sp = signalStack.data();
  own.ss_size = signalStack.size();
  if (present.ss_flags & SS_DISABLE)
    sigaltstack(&own, nullptr);
  else
    signalStack.clear();
  Watcher::get().add(this);
}

VertexWatch::~VertexWatch() {
  if (!signalStack.empty()) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  Watcher::get().remove(this);
}

} // namespace poplar::emulator
