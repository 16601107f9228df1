// Goes through every kernel that this machine can run, forward and backward, for the sanitizers
// and to compare the bits of their results.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <new>
#include <vector>

#include "conv_cases.h"
#include "interface/adam.h"
#include "network_cases.h"
#include "support/pool.h"

namespace {

// Adam over matrices of lengths around a vector and a task's block, in place and out of place.
void update(uint64_t arch, int threads, Result &result) {
  std::deque<std::vector<float>> arrays;
  std::vector<LifAdamMatrix> matrix;
  for (int64_t count : {0, 1, 7, 33, (1 << 14) - 1, (1 << 14) + 17}) {
    auto array = [&](float low, float high) {
      arrays.emplace_back(count);
      for (float &value : arrays.back())
        value = low + (high - low) * static_cast<float>(draw(1000)) / 1000;
      return arrays.back().data();
    };
    float *weights = array(-1, 1), *means = array(-1, 1), *squares = array(0, 1);
    bool in_place = count % 2;
    matrix.push_back({count, weights, means, squares, array(-1, 1),
                      in_place ? weights : array(0, 0), in_place ? means : array(0, 0),
                      in_place ? squares : array(0, 0)});
  }
  LifAdam adam{};
  adam.version = LIF_ABI_VERSION;
  adam.matrices = static_cast<int32_t>(matrix.size());
  adam.matrix = matrix.data();
  adam.update = 3;
  adam.rate = 0.1f;
  adam.beta_1 = 0.9f;
  adam.beta_2 = 0.99f;
  adam.epsilon = 1e-6f;
  adam.weight_decay = 0.1f;
  adam.threads = threads;
  adam.arch = arch;
  char message[256] = "";
  if (lif_adam(&adam, message, sizeof message)) {
    fprintf(stderr, "%s\n", message);
    exit(1);
  }
  for (const LifAdamMatrix &one : matrix)
    for (const float *updated : {one.new_weights, one.new_means, one.new_squares})
      result.add(updated, static_cast<size_t>(one.count));
}

// A task that throws, wherever it runs, ends the call and leaves the pool ready for the next.
bool pool_survives_a_throw() {
  for (int threads : {1, 2, 3})
    for (int64_t bad : {0, 7, 63}) {
      bool caught = false;
      try {
        lif::parallel_for(threads, 64, [&](int64_t task, int) {
          if (task == bad)
            throw std::bad_alloc();
        });
      } catch (const std::bad_alloc &) {
        caught = true;
      }
      std::atomic<int> ran{0};
      lif::parallel_for(threads, 64, [&](int64_t, int) { ++ran; });
      if (!caught || ran != 64)
        return false;
    }
  return true;
}

} // namespace

int main() {
  if (!pool_survives_a_throw()) {
    fprintf(stderr, "the pool did not survive a task that throws\n");
    return 1;
  }
  int kernels = 0;
  for (int32_t k = 0; k < lif_kernel_count(); ++k) {
    uint64_t arch;
    const char *name = lif_kernel_at(k, &arch);
    if (arch & ~lif_supported_arch())
      continue;
    ++kernels;
    state = 1; // every kernel runs the same cases
    Result result;
    int turn = 0; // of the numbers of threads
    for (int slots : {0, 1, 5})
      for (bool gated : {false, true})
        for (int delay : {0, 1})
          for (const std::vector<int> &neurons :
               {std::vector<int>{1, 1}, {33, 7, 3}, {129, 64, 17, 20}, {300, 1}}) {
            const int threads = 1 + turn++ % 3;
            run({7, 5, 13, 9, delay, delay, threads, neurons, slots, gated, 0}, arch, result);
          }
    for (int number = 0; number < 80; ++number) {
      const int slots[] = {0, 1, 5}, threads = 1 + number % 2;
      std::vector<int> neurons = {33, 7, 3};
      if (number % 8 == 0)
        neurons = {129, 64, 17, 20};
      run({7, 5, 13, 9, number % 2, number % 2, threads, neurons, slots[draw(3)], number % 3 == 0,
           draw(1u << 24)},
          arch, result);
    }
    for (int threads : {1, 2, 3})
      update(arch, threads, result);
    for (int threads : {1, 2}) // wide enough for Strassen's products, with a sample left over
      run({2, 5, 13, 9, threads - 1, 0, threads, {512, 512, 20}, 0, false, 0}, arch, result);
    for (unsigned variant : {0u, 63u, 64u + 63u}) {
      run({1, 1, 1, 1, 0, 0, 2, {8, 8}, 0, true, variant}, arch, result);
      run({0, 3, 4, 2, 0, 0, 2, {8, 8}, 0, true, variant}, arch, result);
      run({3, 0, 4, 2, 1, 1, 2, {8, 8}, 0, false, variant}, arch, result);
    }
    double convolved = 0;
    for (unsigned number = 0; number < 60; ++number) {
      const int steps = number % 15 ? 4 : 0,
                batch = number % 20 == 19 ? 0 : 3 + int(number) % 2 * 15;
      const ConvCase convolution{steps, batch, 1 + int(number) % 3, draw(1u << 24)};
      convolved += convolution.run(
          arch, draw, [&](const float *values, size_t count) { result.add(values, count); });
    }
    if (convolved == 0) {
      fprintf(stderr, "no convolution of %s spiked\n", name);
      return 1;
    }
    if (result.spikes == 0 || !(result.gradients > 0)) {
      fprintf(stderr, "%s never spiked, or has no gradients\n", name);
      return 1;
    }
    printf("%s %.0f %016llx\n", name, result.spikes,
           static_cast<unsigned long long>(result.digest));
  }
  return kernels ? 0 : 1;
}
