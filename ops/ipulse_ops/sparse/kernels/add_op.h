// The sum of spikes of several layers as a TensorFlow op: their lists, one behind the other.
#ifndef IPULSE_OPS_SPARSE_ADD_OP_H
#define IPULSE_OPS_SPARSE_ADD_OP_H

#include "checked_spikes.h"

#include <algorithm>

#define SEVERAL_SPIKES                                                                             \
  Input("ids: N * float").Input("counts: N * float").Attr("N: int >= 1").Attr("neurons: int >= 1")

namespace ipulse {

REGISTER_OP("IpulseAddedSpikes")
    .SEVERAL_SPIKES
    .Output("added_ids: float")    // as many slots as the longest sum needs, and at least 1
    .Output("added_counts: float") // spikes, filled slots
    .SetShapeFn([](InferenceContext *c) {
      int n;
      TF_RETURN_IF_ERROR(c->GetAttr("N", &n));
      ShapeHandle leading;
      for (int i = 0; i < n; ++i) {
        ShapeHandle each;
        TF_RETURN_IF_ERROR(spikes_shape(c, i, n + i, &each));
        if (i)
          TF_RETURN_IF_ERROR(c->Merge(leading, each, &each));
        leading = each;
      }
      return set_lists(c, leading, c->UnknownDim());
    });

// The gradient by the slots of each of them.
REGISTER_OP("IpulseAddedSpikesGrad")
    .SEVERAL_SPIKES.Input("grad_added: float")
    .Output("grad_ids: N * float")
    .SetShapeFn([](InferenceContext *c) {
      int n;
      TF_RETURN_IF_ERROR(c->GetAttr("N", &n));
      for (int i = 0; i < n; ++i)
        c->set_output(i, c->input(i));
      return Status();
    });

// The base class of both: several lists of spikes over the same samples and steps.
class SeveralSpikes : public OpKernel {
public:
  explicit SeveralSpikes(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("N", &lists_));
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
  }

  void Compute(OpKernelContext *c) override {
    std::vector<CheckedSpikes> spikes;
    for (int i = 0; i < lists_; ++i) {
      spikes.emplace_back(c, c->input(i), c->input(lists_ + i), neurons_);
      if (!c->status().ok())
        return;
      OP_REQUIRES(c, spikes[i].leading() == spikes[0].leading(),
                  errors::InvalidArgument("spikes that are added must have the same steps and "
                                          "samples; got shapes ",
                                          c->input(0).shape().DebugString(), " and ",
                                          c->input(i).shape().DebugString()));
    }
    compute(c, spikes);
  }

protected:
  virtual void compute(OpKernelContext *c, const std::vector<CheckedSpikes> &spikes) = 0;

  // Calls work(list, slot of the list, slot of the sum) for every filled slot of a row: first the
  // spikes, then the neurons that carry gradient only, each by list.
  template <typename Work>
  static void each_slot(const std::vector<CheckedSpikes> &spikes, int64_t row, const Work &work) {
    int32_t at = 0;
    for (bool spiking : {true, false})
      for (size_t i = 0; i < spikes.size(); ++i) {
        const int32_t first = spiking ? 0 : spikes[i].spikes(row);
        const int32_t end = spiking ? spikes[i].spikes(row) : spikes[i].filled(row);
        for (int32_t k = first; k < end; ++k)
          work(i, k, at++);
      }
  }

  // The length of the longest sum, at least 1.
  static int64_t most_slots(const std::vector<CheckedSpikes> &spikes) {
    int64_t most = 1;
    for (int64_t row = 0; row < spikes[0].rows(); ++row) {
      int64_t slots = 0;
      for (const CheckedSpikes &each : spikes)
        slots += each.filled(row);
      most = std::max(most, slots);
    }
    return most;
  }

  int lists_;

private:
  int neurons_;
};

class AddedSpikesOp : public SeveralSpikes {
public:
  using SeveralSpikes::SeveralSpikes;

protected:
  void compute(OpKernelContext *c, const std::vector<CheckedSpikes> &spikes) override {
    const int64_t slots = most_slots(spikes);
    Tensor *ids, *counts;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes[0].leading(), slots), &ids));
    OP_REQUIRES_OK(c, c->allocate_output(1, with_axis(spikes[0].leading(), 2), &counts));
    in_parallel(c, spikes[0].rows(), 2 * slots, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float *out = floats_of(ids) + row * slots;
        std::fill(out, out + slots, 0.0F);
        each_slot(spikes, row, [&](size_t i, int32_t k, int32_t at) {
          out[at] = static_cast<float>(spikes[i].ids(row)[k]);
        });
        float *found = floats_of(counts) + 2 * row;
        found[0] = found[1] = 0;
        for (const CheckedSpikes &each : spikes) {
          found[0] += static_cast<float>(each.spikes(row));
          found[1] += static_cast<float>(each.filled(row));
        }
      }
    });
  }
};

class AddedSpikesGradOp : public SeveralSpikes {
public:
  using SeveralSpikes::SeveralSpikes;

protected:
  void compute(OpKernelContext *c, const std::vector<CheckedSpikes> &spikes) override {
    const Tensor &grad = c->input(2 * lists_);
    const int64_t slots = most_slots(spikes);
    OP_REQUIRES(c, grad.shape() == with_axis(spikes[0].leading(), slots),
                errors::InvalidArgument("grad_added has the shape ", grad.shape().DebugString()));
    std::vector<float *> by_ids;
    for (int i = 0; i < lists_; ++i) {
      Tensor *each;
      OP_REQUIRES_OK(c, c->allocate_output(i, c->input(i).shape(), &each));
      by_ids.push_back(floats_of(each));
    }
    in_parallel(c, spikes[0].rows(), 2 * slots, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (size_t i = 0; i < spikes.size(); ++i) {
          float *out = by_ids[i] + row * spikes[i].slots();
          std::fill(out, out + spikes[i].slots(), 0.0F);
        }
        const float *from = floats_of(grad) + row * slots;
        each_slot(spikes, row, [&](size_t i, int32_t k, int32_t at) {
          by_ids[i][row * spikes[i].slots() + k] = from[at];
        });
      }
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseAddedSpikes").Device(tensorflow::DEVICE_CPU), AddedSpikesOp);
REGISTER_KERNEL_BUILDER(Name("IpulseAddedSpikesGrad").Device(tensorflow::DEVICE_CPU),
                        AddedSpikesGradOp);

} // namespace ipulse

#endif
