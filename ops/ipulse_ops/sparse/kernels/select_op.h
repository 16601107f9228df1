// select_spikes and its gradient as TensorFlow ops.
#ifndef IPULSE_OPS_SPARSE_SELECT_OP_H
#define IPULSE_OPS_SPARSE_SELECT_OP_H

#include "../../philox.h"
#include "checked_spikes.h"
#include "selection.h"
#include "surrogate.h"

namespace ipulse {

// The surrogate is the gradient's. seed, first_step: of the policy cyclic; u is [time, batch,
// neurons], or [batch, neurons] of the step first_step.
REGISTER_OP("IpulseSelectSpikes")
    .Input("u: float")
    .Input("threshold: float")
    .Input("second_threshold: float")
    .Input("seed: int64")
    .Input("first_step: int64")
    .Attr("gated: bool")
    .Attr("capacity: int >= 0") // 0: a slot for every neuron
    .Attr("policy: {'index', 'cyclic', 'top'}")
    .Attr("layer: int >= 0")
    .SURROGATE_ATTRIBUTES.Output("ids: float")
    .Output("counts: float")
    .Output("dropped: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle u, leading;
      TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 2, &u));
      TF_RETURN_IF_ERROR(c->WithRankAtMost(u, 3, &u));
      TF_RETURN_IF_ERROR(c->Subshape(u, 0, -1, &leading));
      int capacity;
      TF_RETURN_IF_ERROR(c->GetAttr("capacity", &capacity));
      DimensionHandle slots = capacity ? c->MakeDim(capacity) : c->Dim(u, -1);
      c->set_output(2, leading);
      return set_lists(c, leading, slots);
    });

REGISTER_OP("IpulseSelectSpikesGrad")
    .Input("u: float")
    .Input("threshold: float")
    .Input("ids: float")
    .Input("counts: float")
    .Input("grad_slots: float")
    .SURROGATE_ATTRIBUTES.Output("grad_u: float")
    .Output("grad_threshold: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      c->set_output(1, c->input(1));
      return Status();
    });

class SelectSpikesOp : public OpKernel {
public:
  explicit SelectSpikesOp(OpKernelConstruction *c) : OpKernel(c) {
    std::string policy;
    OP_REQUIRES_OK(c, c->GetAttr("gated", &gated_));
    OP_REQUIRES_OK(c, c->GetAttr("capacity", &capacity_));
    OP_REQUIRES_OK(c, c->GetAttr("policy", &policy));
    OP_REQUIRES_OK(c, c->GetAttr("layer", &layer_));
    policy_ = policy == "index" ? Policy::INDEX : policy == "cyclic" ? Policy::CYCLIC : Policy::TOP;
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &u = c->input(0), &threshold = c->input(1), &second = c->input(2);
    OP_REQUIRES(c, u.dims() == 2 || u.dims() == 3,
                errors::InvalidArgument("u must be [time, batch, neurons] or [batch, neurons]; "
                                        "got shape ",
                                        u.shape().DebugString()));
    const int64_t neurons = last_axis(u);
    OP_REQUIRES(c, neurons >= 1, errors::InvalidArgument("u has no neurons"));
    const int64_t slots = capacity_ ? capacity_ : neurons;
    OP_REQUIRES(c, slots <= neurons,
                errors::InvalidArgument("capacity must be 1 to ", neurons, "; got ", capacity_));
    TensorShape each({neurons});
    OP_REQUIRES(c, threshold.shape() == each && (!gated_ || second.shape() == each),
                errors::InvalidArgument("thresholds must be one number or shape [", neurons,
                                        "]; got ", threshold.shape().DebugString(), " and ",
                                        second.shape().DebugString()));
    const float *below_it = gated_ ? floats_of(second) : nullptr;
    for (int64_t n = 0; gated_ && n < neurons; ++n)
      OP_REQUIRES(c, below_it[n] <= floats_of(threshold)[n],
                  errors::InvalidArgument("second_threshold must not be above threshold; neuron ",
                                          n, " has ", below_it[n], " above ",
                                          floats_of(threshold)[n]));
    OP_REQUIRES(c, c->input(3).NumElements() == 1 && c->input(4).NumElements() == 1,
                errors::InvalidArgument("seed and step must be scalars"));
    const auto seed = static_cast<uint64_t>(c->input(3).flat<tensorflow::int64>()(0));
    const int64_t first_step = c->input(4).flat<tensorflow::int64>()(0);
    const TensorShape leading = leading_axes(u);
    const int64_t batch = leading.dim_size(leading.dims() - 1);
    Tensor *ids, *counts, *dropped;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(leading, slots), &ids));
    OP_REQUIRES_OK(c, c->allocate_output(1, with_axis(leading, 2), &counts));
    OP_REQUIRES_OK(c, c->allocate_output(2, leading, &dropped));
    in_parallel(c, leading.num_elements(), 4 * neurons, [&](int64_t begin, int64_t end) {
      Selection select(neurons, slots, policy_);
      for (int64_t row = begin; row < end; ++row) {
        int32_t offset = 0;
        if (policy_ == Policy::CYCLIC)
          offset = cyclic_offset(seed, layer_, first_step + row / batch, row % batch, neurons);
        Selected found = select(floats_of(u) + row * neurons, floats_of(threshold), below_it,
                                offset, floats_of(ids) + row * slots);
        floats_of(counts)[2 * row] = static_cast<float>(found.spikes);
        floats_of(counts)[2 * row + 1] = static_cast<float>(found.filled);
        floats_of(dropped)[row] = static_cast<float>(found.dropped);
      }
    });
  }

private:
  bool gated_;
  int capacity_, layer_;
  Policy policy_;
};

class SelectSpikesGradOp : public OpKernel {
public:
  explicit SelectSpikesGradOp(OpKernelConstruction *c) : OpKernel(c), phi_(c) {}

  void Compute(OpKernelContext *c) override {
    const Tensor &u = c->input(0), &threshold = c->input(1), &grad_slots = c->input(4);
    const int64_t neurons = last_axis(u);
    CheckedSpikes slots(c, c->input(2), c->input(3), neurons);
    if (!c->status().ok())
      return;
    OP_REQUIRES(c, grad_slots.shape() == c->input(2).shape(),
                errors::InvalidArgument("the gradient by the slots has shape ",
                                        grad_slots.shape().DebugString(), ", the slots ",
                                        c->input(2).shape().DebugString()));
    Tensor *grad_u, *grad_threshold;
    OP_REQUIRES_OK(c, c->allocate_output(0, u.shape(), &grad_u));
    OP_REQUIRES_OK(c, c->allocate_output(1, threshold.shape(), &grad_threshold));
    float *out = floats_of(grad_u);
    in_parallel(c, slots.rows(), neurons, [&](int64_t begin, int64_t end) {
      std::fill(out + begin * neurons, out + end * neurons, 0.0F);
      for (int64_t row = begin; row < end; ++row)
        for (int32_t k = 0; k < slots.filled(row); ++k) {
          int32_t n = slots.ids(row)[k];
          int64_t place = row * neurons + n;
          out[place] = phi_(floats_of(u)[place] - floats_of(threshold)[n]) *
                       floats_of(grad_slots)[row * slots.slots() + k];
        }
    });
    // In the order of the rows, and few terms: only what has a slot.
    IeeeArithmetic scope;
    std::vector<double> sums(neurons, 0.0);
    for (int64_t row = 0; row < slots.rows(); ++row)
      for (int32_t k = 0; k < slots.filled(row); ++k)
        sums[slots.ids(row)[k]] -= out[row * neurons + slots.ids(row)[k]];
    for (int64_t n = 0; n < neurons; ++n)
      floats_of(grad_threshold)[n] = static_cast<float>(sums[n]);
  }

private:
  Surrogate phi_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseSelectSpikes").Device(tensorflow::DEVICE_CPU), SelectSpikesOp);
REGISTER_KERNEL_BUILDER(Name("IpulseSelectSpikesGrad").Device(tensorflow::DEVICE_CPU),
                        SelectSpikesGradOp);

} // namespace ipulse

#endif
