// The gradient of a convolution's weights where many inputs spike.
#ifndef IPULSE_OPS_LIF_CPU_CONV_COLLECT_H
#define IPULSE_OPS_LIF_CPU_CONV_COLLECT_H

#include <vector>

#include "plan.h"

namespace lif {

// Adds planes at events to packed weights, with the order of the sums of ConvKernel::collect.
// Events in a row of the input are sorted by channel, so that a row of weights stays in registers;
// rows of the plane have zeros on both sides, so that all events of a channel reach equally many
// weights.
class ConvCollect {
public:
  ConvCollect(const ConvKernel &kernel, const ConvPlan &plan);

  // `weights` must have begun as zeros: a zero that is added must not change them.
  void add(const int32_t *events, int64_t count, const float *plane, float *weights);

private:
  int64_t row_of(const int32_t *events, int64_t count) const;
  void sort(const int32_t *events, int64_t count);
  void copy_padded(const float *plane);
  void add_row(int32_t y, float *weights) const;

  const ConvKernel &kernel_;
  const ConvPlan &plan_;
  const ConvPadding &padding_;
  int32_t keys_;
  std::vector<float> plane_;
  std::vector<int32_t> first_; // of each key: channel, then block
  std::vector<int32_t> targets_;
};

} // namespace lif

#endif
