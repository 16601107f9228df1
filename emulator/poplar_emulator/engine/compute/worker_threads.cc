#include "worker_threads.h"

#include <algorithm>
#include <cstdlib>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

unsigned WorkerThreads::defaultCount() {
  const char *named = std::getenv("IPULSE_EMULATOR_THREADS");
  if (!named)
    return std::max(1u, std::thread::hardware_concurrency());
  const long value = std::strtol(named, nullptr, 10);
  if (value < 1 || value > 1024)
    throw invalid_option("IPULSE_EMULATOR_THREADS is '" + std::string(named) +
                         "': expected a number from 1 to 1024");
  return static_cast<unsigned>(value);
}

WorkerThreads::WorkerThreads(unsigned count) {
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back([this] { loop(); });
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerThreads::run(std::size_t count, const std::function<void(std::size_t)> &work) {
  // Waking threads costs more time than running a few tiles.
  constexpr std::size_t kAlone = 8;
  if (threads.empty() || count <= kAlone) {
    for (std::size_t i = 0; i < count; ++i)
      work(i);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    job = &work;
    total = count;
    next = 0;
    busy = threads.size();
    ++generation;
  }
  started.notify_all();
  takeAll();
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [this] { return busy == 0; });
}

void WorkerThreads::takeAll() {
  for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < total;)
    (*job)(i);
}

void WorkerThreads::loop() {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping)
        return;
      seen = generation;
    }
    takeAll();
    const std::lock_guard<std::mutex> lock(mutex);
    if (--busy == 0)
      finished.notify_one();
  }
}

} // namespace poplar::emulator
