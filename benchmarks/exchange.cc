// How long two processors take to hand a cache line to each other and back.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>

namespace {

constexpr int ROUNDS = 500, TRIES = 5;

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Of one round, in nanoseconds.
double exchange(std::atomic<int> &line, int first) {
  auto begin = std::chrono::steady_clock::now();
  for (int round = first; round < first + ROUNDS; ++round) {
    line.store(2 * round + 1, std::memory_order_release);
    while (line.load(std::memory_order_acquire) != 2 * round + 2)
      ;
  }
  std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / ROUNDS;
}

} // namespace

// The least of some tries, in nanoseconds: what else runs on the machine only takes time.
extern "C" double exchange_ns(int processor, int other) {
  alignas(128) std::atomic<int> line{0};
  double least = 1e9;
  std::thread here([&] {
    pin(processor);
    std::thread there([&] {
      pin(other);
      for (int round = 0; round < ROUNDS * TRIES; ++round) {
        while (line.load(std::memory_order_acquire) != 2 * round + 1)
          ;
        line.store(2 * round + 2, std::memory_order_release);
      }
    });
    for (int i = 0; i < TRIES; ++i)
      least = std::min(least, exchange(line, i * ROUNDS));
    there.join();
  });
  here.join();
  return least;
}
