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

VertexWatch::VertexWatch() : thread(pthread_self()) { Watcher::get().add(this); }
VertexWatch::~VertexWatch() { Watcher::get().remove(this); }

} // namespace poplar::emulator
