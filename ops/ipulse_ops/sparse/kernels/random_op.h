// random_spikes as a TensorFlow op; the rule is reference/random_spikes.py's.
#ifndef IPULSE_OPS_SPARSE_RANDOM_OP_H
#define IPULSE_OPS_SPARSE_RANDOM_OP_H

#include "../../philox.h"
#include "rows.h"

#include <algorithm>

namespace ipulse {

REGISTER_OP("IpulseRandomSpikes")
    .Input("seed: int64")
    .Input("counts: int32")
    .Attr("neurons: int >= 1")
    .Attr("slots: int >= 0") // 0: the largest count, and at least 1
    .Output("ids: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle counts;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &counts));
      int slots;
      TF_RETURN_IF_ERROR(c->GetAttr("slots", &slots));
      c->set_output(0, c->MakeShape({c->Dim(counts, 0), c->Dim(counts, 1),
                                     slots ? c->MakeDim(slots) : c->UnknownDim()}));
      return Status();
    });

class RandomSpikesOp : public OpKernel {
public:
  explicit RandomSpikesOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
    OP_REQUIRES_OK(c, c->GetAttr("slots", &slots_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &seed_tensor = c->input(0), &tensor = c->input(1);
    OP_REQUIRES(c, seed_tensor.NumElements() == 1,
                errors::InvalidArgument("seed must be a scalar"));
    OP_REQUIRES(c, tensor.dims() == 2,
                errors::InvalidArgument("counts must be [time, batch]; got shape ",
                                        tensor.shape().DebugString()));
    const auto seed = static_cast<uint64_t>(seed_tensor.flat<tensorflow::int64>()(0));
    const int32_t *counts = tensor.flat<int32_t>().data();
    int32_t largest = 1;
    for (int64_t row = 0; row < tensor.NumElements(); ++row) {
      OP_REQUIRES(c, counts[row] >= 0 && counts[row] <= neurons_,
                  errors::InvalidArgument("counts", place(tensor.shape(), row), " is ", counts[row],
                                          "; it must be 0 to ", neurons_));
      largest = std::max(largest, counts[row]);
    }
    const int64_t slots = slots_ ? slots_ : largest, batch = tensor.dim_size(1);
    OP_REQUIRES(c, slots >= largest,
                errors::InvalidArgument("slots must be at least ", largest, "; got ", slots));
    Tensor *ids;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(tensor.shape(), slots), &ids));
    in_parallel(c, tensor.NumElements(), 20 * neurons_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float *out = floats_of(ids) + row * slots;
        int32_t found = 0;
        for (int32_t first = 0; first < neurons_ && found < counts[row]; first += 4) {
          auto words =
              philox4x32({static_cast<uint32_t>(row / batch), static_cast<uint32_t>(first / 4),
                          static_cast<uint32_t>(row % batch), RANDOM_SPIKES},
                         seed);
          for (int32_t n = first; n < std::min(first + 4, neurons_); ++n)
            if (below(words[n % 4], neurons_ - n) < counts[row] - found)
              out[found++] = static_cast<float>(n);
        }
        std::fill(out + found, out + slots, 0.0F);
      }
    });
  }

private:
  int neurons_, slots_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseRandomSpikes").Device(tensorflow::DEVICE_CPU), RandomSpikesOp);

} // namespace ipulse

#endif
