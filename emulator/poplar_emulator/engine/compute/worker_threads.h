#ifndef IPULSE_EMULATOR_WORKER_THREADS_H
#define IPULSE_EMULATOR_WORKER_THREADS_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace poplar::emulator {

/// Host threads that share the tiles of a compute set: $IPULSE_EMULATOR_THREADS, by default one per
/// processor.
class WorkerThreads {
public:
  explicit WorkerThreads(unsigned threads);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads &) = delete;
  WorkerThreads &operator=(const WorkerThreads &) = delete;

  /// Calls work(i) for every i < count, and returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t)> &work);
  static unsigned defaultCount();

private:
  void loop();
  void takeAll();

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable started, finished;
  const std::function<void(std::size_t)> *job = nullptr; // guarded by mutex, as the next three
  std::uint64_t generation = 0;
  std::size_t busy = 0;
  bool stopping = false;
  std::size_t total = 0;
  std::atomic<std::size_t> next{0};
};

} // namespace poplar::emulator

#endif
