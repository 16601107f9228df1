#ifndef TESTS_STAND_IN_THREADPOOL_H
#define TESTS_STAND_IN_THREADPOOL_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tensorflow {
namespace thread {

// A new thread for each of a few unequal parts.
class ThreadPool {
public:
  explicit ThreadPool(int64_t threads) : threads_(threads) {}
  void ParallelFor(int64_t total, int64_t, const std::function<void(int64_t, int64_t)> &work) {
    const int64_t parts = std::min(total, threads_);
    std::vector<std::thread> started;
    for (int64_t part = 0; part < parts; ++part)
      started.emplace_back(work, total * part / parts, total * (part + 1) / parts);
    for (std::thread &one : started)
      one.join();
  }

private:
  int64_t threads_;
};

} // namespace thread
} // namespace tensorflow

#endif
