#include "pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "rounding.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace lif {
namespace {

// About 20 microseconds: phases of one call follow each other faster than a thread can be woken.
constexpr int SPINS = 4000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Pool {
public:
  void run(int threads, int64_t tasks, const std::function<void(int64_t, int)> &task) {
    std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    int helpers = static_cast<int>(tasks < threads ? tasks : threads) - 1;
    if (helpers < 1 || !turn.owns_lock()) {
      for (int64_t index = 0; index < tasks; ++index)
        task(index, 0);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (; started_ < helpers; ++started_)
        std::thread(&Pool::work, this, started_ + 1).detach();
      task_ = &task;
      tasks_ = tasks;
      helpers_ = helpers;
      next_.store(0, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    take(task, tasks, 0);
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = nullptr; // a helper that only now wakes has nothing to join, and nobody waits for it
    lock.unlock();
    for (int spin = 0; spin < SPINS && busy_.load(std::memory_order_acquire) != 0; ++spin)
      pause();
    lock.lock();
    done_.wait(lock, [&] { return busy_.load(std::memory_order_acquire) == 0; });
    if (std::exception_ptr failure = std::exchange(failure_, nullptr)) {
      lock.unlock();
      std::rethrow_exception(failure);
    }
  }

private:
  void take(const std::function<void(int64_t, int)> &task, int64_t tasks, int worker) {
    for (;;) {
      int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= tasks)
        return;
      try {
        task(index, worker);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_)
          failure_ = std::current_exception();
        next_.store(tasks, std::memory_order_relaxed); // nobody needs to begin another
      }
    }
  }

  void work(int worker) {
    StandardRounding rounding; // not that of the caller that started the thread
    // The generation that started this thread is the first it takes part in.
    uint64_t seen;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      seen = generation_.load(std::memory_order_relaxed) - 1;
    }
    for (;;) {
      for (int spin = 0; spin < SPINS; ++spin) {
        if (generation_.load(std::memory_order_acquire) != seen)
          break;
        pause();
      }
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      seen = generation_.load(std::memory_order_relaxed);
      if (!task_ || worker > helpers_)
        continue;
      const std::function<void(int64_t, int)> &task = *task_;
      int64_t tasks = tasks_;
      busy_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      take(task, tasks, worker);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        lock.lock();
        done_.notify_one();
      }
    }
  }

  std::mutex turn_;  // locked while a caller's tasks run
  std::mutex mutex_; // guards the fields below
  std::condition_variable wake_, done_;
  const std::function<void(int64_t, int)> *task_ = nullptr; // while it may be joined
  int64_t tasks_ = 0;
  int helpers_ = 0, started_ = 0;
  std::exception_ptr failure_; // the first of a call
  std::atomic<int64_t> next_{0};
  std::atomic<int> busy_{0}; // helpers that joined and are not done
  std::atomic<uint64_t> generation_{0};
};

} // namespace

void parallel_for(int threads, int64_t tasks, const std::function<void(int64_t, int)> &task) {
  // Never destroyed: its threads outlive the static objects of this library.
  static Pool *pool = new Pool;
  pool->run(threads, tasks, task);
}

int default_threads() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
#endif
  unsigned count = std::thread::hardware_concurrency();
  return count ? static_cast<int>(count) : 1;
}

} // namespace lif
