// lif_slots as a TensorFlow op.
#ifndef IPULSE_OPS_LIF_CPU_SLOTS_OP_H
#define IPULSE_OPS_LIF_CPU_SLOTS_OP_H

#include "shared_op.h"

#include <algorithm>

namespace ipulse_lif {

inline Status slots_shape(InferenceContext *c) {
  ShapeHandle counts;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 3, &counts));
  int slots;
  bool filled;
  TF_RETURN_IF_ERROR(c->GetAttr("slots", &slots));
  TF_RETURN_IF_ERROR(c->GetAttr("filled", &filled));
  const DimensionHandle last = filled ? c->UnknownDim() : c->MakeDim(slots);
  c->set_output(0, c->MakeShape({c->Dim(counts, 0), c->Dim(counts, 1), last}));
  return Status();
}

// filled: only as many slots as the longest list fills, at least 1.
REGISTER_OP("IpulseLifSlots")
    .Input("port: float")
    .Input("bits: float")
    .Input("spike_counts: float")
    .Attr("neurons: int >= 1")
    .Attr("slots: int >= 1")
    .Attr("gated: bool")
    .Attr("filled: bool")
    .Attr("policy: int")
    .Attr("threads: int")
    .Output("spike_ids: float")
    .SetShapeFn(slots_shape);

class LifSlotsOp : public OpKernel {
public:
  explicit LifSlotsOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
    OP_REQUIRES_OK(c, c->GetAttr("slots", &slots_));
    OP_REQUIRES_OK(c, c->GetAttr("gated", &gated_));
    OP_REQUIRES_OK(c, c->GetAttr("filled", &filled_));
    OP_REQUIRES_OK(c, c->GetAttr("policy", &policy_));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &threads_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &bits = c->input(1), &counts = c->input(2);
    OP_REQUIRES(c, counts.dims() == 3,
                errors::InvalidArgument("spike_counts must be [time, batch, 2]; got shape ",
                                        counts.shape().DebugString()));
    OP_REQUIRES(c, slots_ <= neurons_,
                errors::InvalidArgument("slots must be 1 to ", neurons_, "; got ", slots_));
    LifLayer layer{};
    layer.neurons = neurons_;
    layer.slots = slots_;
    layer.policy = policy_;
    float unread = 0;
    layer.second_threshold = gated_ ? &unread : nullptr; // only whether there is one is looked at
    auto steps = static_cast<int32_t>(counts.dim_size(0));
    auto batch = static_cast<int32_t>(counts.dim_size(1));
    OP_REQUIRES(c, bits.NumElements() == static_cast<int64_t>(lif_bits_words(steps, batch, &layer)),
                errors::InvalidArgument("the record has ", bits.NumElements(),
                                        " words of bits; it is another network's"));
    const float *of_row = floats_of(counts);
    float most = 1;
    for (int64_t row = 0; row < int64_t{steps} * batch; ++row)
      most = std::max(most, of_row[2 * row + 1]);
    const int slots = filled_ ? static_cast<int>(most) : slots_;
    Tensor *ids;
    OP_REQUIRES_OK(c, c->allocate_output(0, TensorShape({steps, batch, slots}), &ids));
    char message[512];
    const auto *words = reinterpret_cast<const uint32_t *>(floats_of(bits));
    OP_REQUIRES_OK(c, status(lif_slots(steps, batch, &layer, words, threads_, slots, floats_of(ids),
                                       message, sizeof message),
                             message));
  }

private:
  int neurons_, slots_, policy_, threads_;
  bool gated_, filled_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseLifSlots").Device(tensorflow::DEVICE_CPU), LifSlotsOp);

} // namespace ipulse_lif

#endif
