#include "interface/adam.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "kernels/kernel.h"
#include "support/pool.h"
#include "support/rounding.h"

namespace lif {
namespace {

constexpr int64_t BLOCK = 1 << 14; // weights of a task

struct Block {
  const LifAdamMatrix *matrix;
  int64_t first;
};

const char *mistake(const LifAdam &a) {
  if (a.version != LIF_ABI_VERSION)
    return "LifAdam is of another version";
  if (a.update < 1)
    return "the first update is number 1";
  if (!(a.beta_1 >= 0 && a.beta_1 < 1 && a.beta_2 >= 0 && a.beta_2 < 1))
    return "beta_1 and beta_2 must be at least 0 and below 1";
  if (!(a.epsilon > 0))
    return "epsilon must be above 0";
  if (!(a.weight_decay >= 0))
    return "weight_decay must be at least 0";
  return nullptr;
}

// base^exponent by multiplications alone, which round alike everywhere; the C library's pow does
// not. In double, because beta_2^t of a float is off by percents after many updates.
double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

void run(const LifAdam &a) {
  std::vector<Block> blocks;
  for (int i = 0; i < a.matrices; ++i)
    for (int64_t first = 0; first < a.matrix[i].count; first += BLOCK)
      blocks.push_back({&a.matrix[i], first});
  double corrected =
      a.rate * std::sqrt(1 - power(a.beta_2, a.update)) / (1 - power(a.beta_1, a.update));
  const Kernel &kernel = pick_kernel(a.arch & supported_arch());
  parallel_for(a.threads ? a.threads : default_threads(), static_cast<int64_t>(blocks.size()),
               [&](int64_t task, int) {
                 const Block &block = blocks[task];
                 const LifAdamMatrix &m = *block.matrix;
                 int64_t first = block.first, rest = m.count - first;
                 AdamBlock b;
                 b.count = rest < BLOCK ? rest : BLOCK;
                 b.weights = m.weights + first;
                 b.means = m.means + first;
                 b.squares = m.squares + first;
                 b.gradients = m.gradients + first;
                 b.new_weights = m.new_weights + first;
                 b.new_means = m.new_means + first;
                 b.new_squares = m.new_squares + first;
                 b.rate = static_cast<float>(corrected);
                 b.mean_share = static_cast<float>(1 - double(a.beta_1));
                 b.square_share = static_cast<float>(1 - double(a.beta_2));
                 b.epsilon = a.epsilon;
                 b.keep = static_cast<float>(1 - double(a.rate) * double(a.weight_decay));
                 kernel.adam(b);
               });
}

} // namespace
} // namespace lif

extern "C" int lif_adam(const LifAdam *adam, char *message, size_t size) {
  lif::StandardRounding rounding;
  try {
    const char *wrong = lif::mistake(*adam);
    if (wrong) {
      snprintf(message, size, "%s", wrong);
      return LIF_INVALID;
    }
    lif::run(*adam);
    return LIF_OK;
  } catch (const std::bad_alloc &) {
    snprintf(message, size, "out of memory");
    return LIF_OUT_OF_MEMORY;
  } catch (const std::exception &error) { // a thread that would not start
    snprintf(message, size, "%s", error.what());
    return LIF_INVALID;
  }
}
