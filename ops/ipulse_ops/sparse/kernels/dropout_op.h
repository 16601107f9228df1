// The spikes of kept senders as a TensorFlow op; the rule is reference/dropout.py's.
#ifndef IPULSE_OPS_SPARSE_DROPOUT_OP_H
#define IPULSE_OPS_SPARSE_DROPOUT_OP_H

#include "../../philox.h"
#include "matmul_op.h"

namespace ipulse {

#define DROPOUT_ATTRIBUTES                                                                         \
  Input("seed: int64").Attr("neurons: int >= 1").Attr("layer: int >= 0").Attr("limit: int >= 0")

REGISTER_OP("IpulseKeptSpikes")
    .SPIKES.DROPOUT_ATTRIBUTES.Output("kept_ids: float")
    .Output("kept_counts: float") // spikes, filled slots
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle ids, leading;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
      TF_RETURN_IF_ERROR(spikes_shape(c, 0, 1, &leading));
      return set_lists(c, leading, c->UnknownDim()); // the length of the longest list, at least 1
    });

// The gradient by the slots of the spikes that were sent.
REGISTER_OP("IpulseKeptSpikesGrad")
    .SPIKES.DROPOUT_ATTRIBUTES.Input("grad_kept: float")
    .Output("grad_ids: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      return Status();
    });

// The base class of both: the senders that are kept, by sample.
class KeptSpikes : public OpKernel {
public:
  explicit KeptSpikes(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
    OP_REQUIRES_OK(c, c->GetAttr("layer", &layer_));
    OP_REQUIRES_OK(c, c->GetAttr("limit", &limit_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &ids = c->input(0), &seed = c->input(2);
    OP_REQUIRES(c, ids.dims() == 3,
                errors::InvalidArgument("ids must be [time, batch, slots]; got shape ",
                                        ids.shape().DebugString()));
    OP_REQUIRES(c, seed.NumElements() == 1, errors::InvalidArgument("seed must be a scalar"));
    CheckedSpikes spikes(c, ids, c->input(1), neurons_);
    if (!c->status().ok())
      return;
    const int64_t batch = ids.dim_size(1), neurons = neurons_;
    const auto key = static_cast<uint64_t>(seed.flat<tensorflow::int64>()(0));
    std::vector<uint8_t> kept(static_cast<size_t>(batch * neurons));
    in_parallel(c, batch, 20 * neurons, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t first = 0; first < neurons; first += 4) {
          auto words = philox4x32({static_cast<uint32_t>(layer_), static_cast<uint32_t>(first / 4),
                                   static_cast<uint32_t>(b), DROPOUT},
                                  key);
          for (int64_t n = first; n < std::min(first + 4, neurons); ++n)
            kept[static_cast<size_t>(b * neurons + n)] = int64_t{words[n % 4]} >= limit_;
        }
    });
    compute(c, spikes, batch, kept.data());
  }

protected:
  // kept: 0 or 1, [batch, neurons].
  virtual void compute(OpKernelContext *c, const CheckedSpikes &spikes, int64_t batch,
                       const uint8_t *kept) = 0;

  int neurons_;

private:
  int layer_;
  tensorflow::int64 limit_;
};

class KeptSpikesOp : public KeptSpikes {
public:
  using KeptSpikes::KeptSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, int64_t batch,
               const uint8_t *kept) override {
    Tensor *ids, *counts;
    OP_REQUIRES_OK(c, c->allocate_output(1, with_axis(spikes.leading(), 2), &counts));
    in_parallel(c, spikes.rows(), spikes.slots(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const uint8_t *of_sample = kept + row % batch * neurons_;
        int32_t found = 0, left = 0;
        for (int32_t k = 0; k < spikes.filled(row); ++k) {
          found += of_sample[spikes.ids(row)[k]];
          left += k < spikes.spikes(row) && of_sample[spikes.ids(row)[k]];
        }
        floats_of(counts)[2 * row] = static_cast<float>(left);
        floats_of(counts)[2 * row + 1] = static_cast<float>(found);
      }
    });
    int64_t slots = 1;
    for (int64_t row = 0; row < spikes.rows(); ++row)
      slots = std::max(slots, static_cast<int64_t>(floats_of(counts)[2 * row + 1]));
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes.leading(), slots), &ids));
    in_parallel(c, spikes.rows(), 2 * slots, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const uint8_t *of_sample = kept + row % batch * neurons_;
        const int32_t *sent = spikes.ids(row);
        float *out = floats_of(ids) + row * slots, *last = out + slots;
        for (int32_t k = 0; k < spikes.filled(row); ++k)
          if (of_sample[sent[k]])
            *out++ = static_cast<float>(sent[k]);
        std::fill(out, last, 0.0F);
      }
    });
  }
};

class KeptSpikesGradOp : public KeptSpikes {
public:
  using KeptSpikes::KeptSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, int64_t batch,
               const uint8_t *kept) override {
    const Tensor &grad = c->input(3);
    OP_REQUIRES(c, grad.dims() == 3 && leading_axes(grad) == spikes.leading(),
                errors::InvalidArgument("grad_kept must have the axes of the ids; got ",
                                        grad.shape().DebugString()));
    Tensor *by_ids;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &by_ids));
    const int64_t slots = spikes.slots(), kept_slots = last_axis(grad);
    in_parallel(c, spikes.rows(), 2 * slots, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const uint8_t *of_sample = kept + row % batch * neurons_;
        const int32_t *sent = spikes.ids(row);
        const float *from = floats_of(grad) + row * kept_slots, *end_of_row = from + kept_slots;
        float *out = floats_of(by_ids) + row * slots;
        for (int32_t k = 0; k < spikes.filled(row); ++k)
          out[k] = of_sample[sent[k]] && from < end_of_row ? *from++ : 0.0F;
        std::fill(out + spikes.filled(row), out + slots, 0.0F);
      }
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseKeptSpikes").Device(tensorflow::DEVICE_CPU), KeptSpikesOp);
REGISTER_KERNEL_BUILDER(Name("IpulseKeptSpikesGrad").Device(tensorflow::DEVICE_CPU),
                        KeptSpikesGradOp);

} // namespace ipulse

#endif
