// Groups of places of a convolution's input that reach outputs by the same taps, so that their
// gradients are computed together; and the weights in the order that this needs.
#ifndef IPULSE_OPS_LIF_CPU_CONV_PLACES_H
#define IPULSE_OPS_LIF_CPU_CONV_PLACES_H

#include <memory>
#include <vector>

#include "plan.h"

namespace lif {

class ConvPlaceGroups {
public:
  // `packed`: ConvPlan::packed() of the same layer, which must have one group of channels.
  ConvPlaceGroups(const ConvLayer &layer, const ConvPlan &plan, const std::vector<float> &packed);

  // Writes dL/ds of every channel at every place, `[places, width]`, from lambda of the outputs.
  void gradient(const ConvKernel &kernel, const float *lambda, float *to) const {
    for (const ConvPlaces &group : groups_)
      kernel.gather_places(group, weights_.data(), width_, lambda, to);
  }

  int64_t floats() const { return places_ * width_; }
  // Where an input's gradient is.
  const std::vector<int32_t> &index_of() const { return index_of_; }

private:
  void add_group(const ConvPlan &plan, const std::vector<int32_t> &ys,
                 const std::vector<int32_t> &xs);

  struct Group {
    std::vector<int32_t> first, place;
    std::vector<ConvSegment> segments;
  };

  int64_t places_, width_;
  int32_t columns_;
  std::vector<int32_t> index_of_;
  std::vector<float> weights_;
  std::vector<std::unique_ptr<Group>> stored_; // groups_ points into them
  std::vector<ConvPlaces> groups_;
};

} // namespace lif

#endif
