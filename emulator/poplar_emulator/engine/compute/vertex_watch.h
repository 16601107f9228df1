#ifndef IPULSE_EMULATOR_VERTEX_WATCH_H
#define IPULSE_EMULATOR_VERTEX_WATCH_H

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <pthread.h>

namespace poplar::emulator {

/// Ends a compute() of this thread that takes more processor time than
/// $IPULSE_EMULATOR_VERTEX_SECONDS, by default 60; 0 never ends one. A thread of the process looks
/// at all of them once a second.
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
    if (sigsetjmp(back, 0) != 0) {
      isRunning.store(false, std::memory_order_relaxed);
      return false;
    }
    begin();
    isRunning.store(true, std::memory_order_release);
    work();
    isRunning.store(false, std::memory_order_release);
    return true;
  }

  VertexWatch(const VertexWatch &) = delete;
  VertexWatch &operator=(const VertexWatch &) = delete;

private:
  friend class Watcher;
  VertexWatch();
  ~VertexWatch();

  sigjmp_buf back;
  const pthread_t thread;
  std::atomic<bool> isRunning{false};
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> ended{0}; // the count of the compute() to end
  // The next two belong to the thread that watches.
  std::uint64_t seen = 0;
  double since = 0; // processor time of the thread when it was first seen in this compute()
};

} // namespace poplar::emulator

#endif
