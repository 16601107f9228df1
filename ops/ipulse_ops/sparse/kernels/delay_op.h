// Spikes that arrive later, some of them several times, as a TensorFlow op; the order of the lists
// is that of reference/connection_delays.py.
#ifndef IPULSE_OPS_SPARSE_DELAY_OP_H
#define IPULSE_OPS_SPARSE_DELAY_OP_H

#include "matmul_op.h"

namespace ipulse {

REGISTER_OP("IpulseDelayedSpikes")
    .SPIKES
    .Input("arrivals: int32")        // [taps, senders]; below 0: never
    .Output("delayed_ids: float")    // as many slots as the longest list needs, and at least 1
    .Output("delayed_counts: float") // spikes, filled slots
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle ids, arrivals, leading;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 2, &arrivals));
      TF_RETURN_IF_ERROR(spikes_shape(c, 0, 1, &leading));
      return set_lists(c, leading, c->UnknownDim());
    });

// The gradient by the slots of the spikes that were sent.
REGISTER_OP("IpulseDelayedSpikesGrad")
    .SPIKES.Input("arrivals: int32")
    .Input("delayed_counts: float")
    .Input("grad_delayed: float")
    .Output("grad_ids: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      return Status();
    });

// The base class of both.
class DelayedSpikes : public OpKernel {
public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext *c) override {
    const Tensor &ids = c->input(0), &arrivals = c->input(2);
    OP_REQUIRES(c, ids.dims() == 3,
                errors::InvalidArgument("ids must be [time, batch, slots]; got shape ",
                                        ids.shape().DebugString()));
    OP_REQUIRES(c, arrivals.dims() == 2,
                errors::InvalidArgument("arrivals must be [taps, senders]; got shape ",
                                        arrivals.shape().DebugString()));
    steps_ = ids.dim_size(0);
    batch_ = ids.dim_size(1);
    CheckedSpikes spikes(c, ids, c->input(1), arrivals.dim_size(1));
    if (c->status().ok())
      compute(c, spikes,
              {arrivals.dim_size(0), arrivals.dim_size(1), arrivals.flat<int32_t>().data()});
  }

protected:
  struct Arrivals {
    int64_t taps, senders;
    const int32_t *steps;
  };

  virtual void compute(OpKernelContext *c, const CheckedSpikes &spikes,
                       const Arrivals &arrivals) = 0;

  // Calls work(row that the spike arrives at, row and slot that it is sent from, id of the tap,
  // whether it is a spike) for all of a sample, in the order of the lists.
  template <typename Work>
  void each_arrival(const CheckedSpikes &spikes, const Arrivals &arrivals, int64_t sample,
                    const Work &work) const {
    for (int64_t t = 0; t < steps_; ++t) {
      const int64_t row = t * batch_ + sample;
      const int32_t *sent = spikes.ids(row);
      for (int32_t k = 0; k < spikes.filled(row); ++k)
        for (int64_t tap = 0; tap < arrivals.taps; ++tap) {
          const int64_t id = tap * arrivals.senders + sent[k];
          const int64_t delay = arrivals.steps[id];
          if (delay >= 0 && t + delay < steps_)
            work(row + delay * batch_, row, k, id, k < spikes.spikes(row));
        }
    }
  }

  // An estimate of the work of one sample.
  int64_t cost(const CheckedSpikes &spikes, const Arrivals &arrivals) const {
    return 2 * steps_ * (1 + spikes.slots() * arrivals.taps);
  }

  int64_t steps_ = 0, batch_ = 0;
};

class DelayedSpikesOp : public DelayedSpikes {
public:
  using DelayedSpikes::DelayedSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, const Arrivals &arrivals) override {
    OP_REQUIRES(c, arrivals.taps * arrivals.senders <= 1 << 24,
                errors::InvalidArgument("taps times senders must be at most 2^24; got ",
                                        arrivals.taps, " times ", arrivals.senders));
    Tensor *ids, *counts;
    OP_REQUIRES_OK(c, c->allocate_output(1, with_axis(spikes.leading(), 2), &counts));
    float *found = floats_of(counts);
    std::fill(found, found + 2 * spikes.rows(), 0.0F);
    in_parallel(c, batch_, cost(spikes, arrivals), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        each_arrival(spikes, arrivals, b,
                     [&](int64_t row, int64_t, int32_t, int64_t, bool spiking) {
                       found[2 * row] += spiking ? 1.0F : 0.0F;
                       found[2 * row + 1] += 1;
                     });
    });
    float most = 1;
    for (int64_t row = 0; row < spikes.rows(); ++row)
      most = std::max(most, found[2 * row + 1]);
    const auto slots = static_cast<int64_t>(most);
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes.leading(), slots), &ids));
    float *out = floats_of(ids);
    in_parallel(c, batch_, cost(spikes, arrivals) + steps_ * slots,
                [&](int64_t begin, int64_t end) {
                  // Filled so far: spikes, and all.
                  std::vector<int64_t> next(static_cast<size_t>(2 * steps_));
                  for (int64_t b = begin; b < end; ++b) {
                    for (int64_t t = 0; t < steps_; ++t) {
                      const int64_t row = t * batch_ + b;
                      next[2 * t] = 0;
                      next[2 * t + 1] = static_cast<int64_t>(found[2 * row]);
                      std::fill(out + row * slots, out + (row + 1) * slots, 0.0F);
                    }
                    each_arrival(spikes, arrivals, b,
                                 [&](int64_t row, int64_t, int32_t, int64_t id, bool spiking) {
                                   int64_t &place = next[2 * (row / batch_) + !spiking];
                                   out[row * slots + place++] = static_cast<float>(id);
                                 });
                  }
                });
  }
};

class DelayedSpikesGradOp : public DelayedSpikes {
public:
  using DelayedSpikes::DelayedSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, const Arrivals &arrivals) override {
    const Tensor &counts = c->input(3), &grad = c->input(4);
    OP_REQUIRES(
        c, counts.shape() == with_axis(spikes.leading(), 2),
        errors::InvalidArgument("delayed_counts has the shape ", counts.shape().DebugString()));
    OP_REQUIRES(c, grad.dims() == 3 && leading_axes(grad) == spikes.leading(),
                errors::InvalidArgument("grad_delayed must have the axes of the ids; got ",
                                        grad.shape().DebugString()));
    Tensor *by_ids;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &by_ids));
    float *out = floats_of(by_ids);
    const float *found = floats_of(counts), *from = floats_of(grad);
    const int64_t slots = spikes.slots(), delayed_slots = last_axis(grad);
    in_parallel(c, batch_, cost(spikes, arrivals), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> next(static_cast<size_t>(2 * steps_));
      for (int64_t b = begin; b < end; ++b) {
        for (int64_t t = 0; t < steps_; ++t) {
          const int64_t row = t * batch_ + b;
          next[2 * t] = 0;
          next[2 * t + 1] = static_cast<int64_t>(found[2 * row]);
          std::fill(out + row * slots, out + (row + 1) * slots, 0.0F);
        }
        each_arrival(spikes, arrivals, b,
                     [&](int64_t row, int64_t sent_row, int32_t k, int64_t, bool spiking) {
                       int64_t place = next[2 * (row / batch_) + !spiking]++;
                       if (place < delayed_slots)
                         out[sent_row * slots + k] += from[row * delayed_slots + place];
                     });
      }
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseDelayedSpikes").Device(tensorflow::DEVICE_CPU),
                        DelayedSpikesOp);
REGISTER_KERNEL_BUILDER(Name("IpulseDelayedSpikesGrad").Device(tensorflow::DEVICE_CPU),
                        DelayedSpikesGradOp);

} // namespace ipulse

#endif
