// dL/ds of every neuron of a wide layer by Strassen's multiplication (1969): seven products of
// half the size instead of eight.
//
// It is applied twice to e = g W^T. In the outer products the two blocks of rows are halves of the
// samples, so that a task computes whole samples; in the inner products they are halves of the rows
// of a task. The sums of blocks of W^T are computed once, those of g just before their use. Sums
// are rounded more often than in the plain product: by norm the error is a few times as large.
#ifndef IPULSE_OPS_LIF_CPU_STRASSEN_H
#define IPULSE_OPS_LIF_CPU_STRASSEN_H

#include <algorithm>

#include "kernels/seven_products.h"
#include "passes/layout.h"
#include "support/pool.h"

namespace lif {

class Strassen {
public:
  // Returns true if this is faster than the plain product and its sums of weights are small.
  static bool pays(const LifNetwork &network, const Panels &panels, const Panels &after);

  // next: the layer after this one. weights: [neurons of this layer, neurons of the next].
  Strassen(const Kernel &kernel, const LifNetwork &network, int threads, const LayerGradient &next,
           const float *weights, const Panels &panels);

  // Number of samples that are computed, from the first on: an even number.
  int samples() const { return 2 * half_; }

  // Calls use(panel, sample, products, worker) with products [steps][width] for each panel and
  // each of these samples.
  template <class Use> void run(Use use) const {
    parallel_for(threads_, right_tasks(),
                 [&](int64_t task, int worker) { add_right_blocks(task, worker); });
    parallel_for(threads_, (half_ + samples_ - 1) / samples_, [&](int64_t chunk, int worker) {
      int first = static_cast<int>(chunk) * samples_;
      int samples = std::min(samples_, half_ - first);
      int64_t rows = int64_t(samples) * steps_, block = padded_stride(rows * panels_.width);
      multiply(first, rows, worker);
      float *result = scratch(worker);
      for (int group = 0; group < groups_; ++group) {
        spread(group, rows, worker);
        for (int k = 0; k < 2 * PANELS; ++k)
          for (int s = 0; s < samples; ++s)
            use(group + k % PANELS * groups_, first + s + k / PANELS * half_,
                result + k * block + int64_t(s) * steps_ * panels_.width, worker);
      }
    });
  }

private:
  static constexpr int PANELS = 4; // of a group: one from each quarter of the columns
  // Columns of weights that are added at a time; all blocks of them share an L2 cache.
  static constexpr int64_t SUM_COLUMNS = 64;

  int64_t right_tasks() const;
  void add_right_blocks(int64_t task, int worker) const;
  void add_left_blocks(int first, int64_t rows, float *to) const;
  void halve_left(const float *left, int64_t rows, float *to) const;
  void multiply(int first, int64_t rows, int worker) const;
  void multiply_halves(int64_t rows, const float *halves, const float *right, float *to) const;
  void spread(int group, int64_t rows, int worker) const;

  // The distance of blocks. Blocks a whole number of pages apart would compete for the same few
  // sets of the L1 cache.
  static int64_t padded_stride(int64_t floats) { return floats + 80; }
  int64_t product_stride(int64_t rows) const {
    return padded_stride(4 * ((rows + 1) / 2) * panels_.width);
  }
  int64_t operand_stride(int64_t rows) const {
    return padded_stride(rows * depth_ * next_.panels.width);
  }
  int64_t quarter_depth() const { return int64_t(depth_) * next_.panels.width / 2; }
  float *right_operand(int group, int64_t outer, int64_t inner) const {
    return right_.get() + ((group * 7 + outer) * 7 + inner) * quarter_depth() * panels_.width;
  }
  // A worker's result, then its outer products, then the operands of one outer product.
  float *scratch(int worker) const { return scratch_.get() + worker * worker_floats_; }
  float *products(int worker) const { return scratch(worker) + result_floats_; }

  const Kernel &kernel_;
  const int threads_, steps_;
  const LayerGradient next_;
  const float *weights_;
  const int storage_; // LifWeights
  const Panels panels_;
  const int strip_;
  const int half_;    // samples of an outer block
  const int depth_;   // of an outer block, in panels of the next layer
  const int groups_;  // of panels
  const int samples_; // of each outer block in a task
  const int64_t result_floats_, products_floats_, worker_floats_;
  const Buffer<float> right_, scratch_;
};

} // namespace lif

#endif
