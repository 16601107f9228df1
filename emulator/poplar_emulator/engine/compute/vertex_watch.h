#ifndef IPULSE_EMULATOR_VERTEX_WATCH_H
#define IPULSE_EMULATOR_VERTEX_WATCH_H

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <vector>

namespace poplar::emulator {

/// Ends a compute() of this thread that takes more processor time than
/// $IPULSE_EMULATOR_VERTEX_SECONDS, by default 60; 0 never ends one. A thread of the process looks
/// at all of them once a second. A compute() that causes a signal, as a division by 0 does, is
/// ended, too, instead of the process.
class VertexWatch {
public:
  /// Returns that of this thread.
  static VertexWatch &ofThread();
  /// Returns the limit in seconds. Raises invalid_option for a variable that is not a number.
  static double limit();

  /// Call it before each compute().
  void begin() { count.fetch_add(1, std::memory_order_relaxed); }

  /// Calls `work` and returns true, or false if it was ended. Objects that the functions between
  /// here and compute() have on the stack are not destroyed then.
  template <typename Work> bool run(const Work &work) {
    why.clear();
    signal = 0;
    if (sigsetjmp(back, 0) != 0) {
      running = nullptr;
      isRunning.store(false, std::memory_order_relaxed);
      return false;
    }
    begin();
    running = this;
    isRunning.store(true, std::memory_order_release);
    work();
    running = nullptr;
    isRunning.store(false, std::memory_order_release);
    return true;
  }
  /// Ends the compute() that runs in this thread, for this reason.
  [[noreturn]] void end(const std::string &reason);
  /// Returns why the last compute() was ended; "" if it took too long.
  std::string reason() const;

  VertexWatch(const VertexWatch &) = delete;
  VertexWatch &operator=(const VertexWatch &) = delete;

private:
  friend class Watcher;
  VertexWatch();
  ~VertexWatch();

  static void onSignal(int number, siginfo_t *info, void *context);
  static thread_local VertexWatch *running; // of this thread, while compute() runs

  sigjmp_buf back;
  std::string why;
  int signal = 0;             // that ended compute()
  std::uintptr_t address = 0; // that the signal is about
  const pthread_t thread;
  std::vector<char> signalStack; // another, because that of the thread may be full
  std::atomic<bool> isRunning{false};
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> ended{0}; // the count of the compute() to end
  // The next two belong to the thread that watches.
  std::uint64_t seen = 0;
  double since = 0; // processor time of the thread when it was first seen in this compute()
};

} // namespace poplar::emulator

#endif
