// What this machine can do: multiply-adds from registers, and bytes from each level of memory.
// Prints one line a figure: NAME VALUE, in GFLOP/s or GB/s, of all threads together.
//
//   roofline THREADS SECONDS L1_BYTES L2_BYTES L3_BYTES DRAM_BYTES (of each thread)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

// As wide as the machine's registers are; the compiler splits it where they are narrower.
typedef float Vector __attribute__((vector_size(64)));
constexpr int LANES = 16;

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

void keep(const Vector &value) { asm volatile("" : : "m"(value) : "memory"); }

// Runs `work`, which returns what it has done, in every thread until the time is up.
double once(int threads, double seconds, const std::function<double(int)> &work) {
  std::vector<std::thread> running;
  std::vector<double> rates(threads);
  std::atomic<int> ready{0};
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      work(i); // touches the memory
      ++ready;
      while (ready < threads)
        std::this_thread::yield();
      double start = now(), done = 0, spent = 0;
      for (; spent < seconds; spent = now() - start)
        done += work(i);
      rates[i] = done / spent;
    });
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    running[i].join();
    sum += rates[i];
  }
  return sum;
}

// The best of three: what else runs on the machine only takes away.
double rate(int threads, double seconds, const std::function<double(int)> &work) {
  double best = 0;
  for (int i = 0; i < 3; ++i)
    best = std::max(best, once(threads, seconds / 3, work));
  return best;
}

double multiply_add(int) {
  constexpr int chains = 12, rounds = 100000;
  Vector sum[chains], factor, term;
  for (int lane = 0; lane < LANES; ++lane) {
    factor[lane] = 0.999f;
    term[lane] = 1e-3f;
  }
  // Hidden from the compiler, which would compute the end result.
  asm volatile("" : "+m"(factor), "+m"(term));
  for (auto &one : sum)
    one = term;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i)
      sum[i] = sum[i] * factor + term;
  for (auto &one : sum)
    keep(one);
  return 2.0 * LANES * chains * rounds;
}

double read(const std::vector<Vector> &memory) {
  constexpr int chains = 8;
  Vector sum[chains] = {};
  size_t size = memory.size() / chains * chains;
  int64_t passes = 1 + (int64_t(1) << 20) / static_cast<int64_t>(size * sizeof(Vector));
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (size_t i = 0; i < size; i += chains)
#pragma GCC unroll 8
      for (int j = 0; j < chains; ++j)
        sum[j] += memory[i + j];
    asm volatile("" : : : "memory");
  }
  for (auto &one : sum)
    keep(one);
  return static_cast<double>(passes) * static_cast<double>(size * sizeof(Vector));
}

double add(std::vector<Vector> &memory) {
  Vector term = {};
  asm volatile("" : "+m"(term));
  int64_t passes = 1 + (int64_t(1) << 20) / static_cast<int64_t>(memory.size() * sizeof(Vector));
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (auto &one : memory)
      one += term;
    asm volatile("" : : : "memory");
  }
  return static_cast<double>(passes) * static_cast<double>(memory.size() * sizeof(Vector));
}

} // namespace

int main(int count, char **arguments) {
  if (count != 7)
    return 2;
  int threads = atoi(arguments[1]);
  double seconds = atof(arguments[2]);
  if (threads < 1)
    return 2;
  printf("multiply_add %.6g\n", 1e-9 * rate(threads, seconds, multiply_add));
  const char *names[] = {"L1", "L2", "L3", "DRAM"};
  for (int level = 0; level < 4; ++level) {
    size_t vectors = strtoull(arguments[3 + level], nullptr, 10) / sizeof(Vector);
    std::vector<std::vector<Vector>> memory(threads, std::vector<Vector>(vectors));
    double reads = rate(threads, seconds, [&](int i) { return read(memory[i]); });
    double adds = rate(threads, seconds, [&](int i) { return add(memory[i]); });
    printf("read_%s %.6g\nadd_%s %.6g\n", names[level], 1e-9 * reads, names[level], 1e-9 * adds);
  }
  return 0;
}
