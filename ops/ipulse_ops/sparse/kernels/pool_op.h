// The pooled sites of neurons' slots as TensorFlow ops; the rule is in sparse/pool.py.
#ifndef IPULSE_OPS_SPARSE_POOL_OP_H
#define IPULSE_OPS_SPARSE_POOL_OP_H

#include "matmul_op.h"

namespace ipulse {

// sites: of each neuron; -1: cropped.
REGISTER_OP("IpulsePooledSpikes")
    .SPIKES.Input("sites: int32")
    .Output("pooled_ids: float")
    .Output("pooled_counts: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle leading;
      TF_RETURN_IF_ERROR(spikes_shape(c, 0, 1, &leading));
      return set_lists(c, leading, c->UnknownDim());
    });

REGISTER_OP("IpulsePooledSpikesGrad")
    .SPIKES.Input("sites: int32")
    .Input("grad_pooled: float")
    .Output("grad_ids: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      return Status();
    });

class PooledSpikes : public OpKernel {
public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext *c) override {
    const Tensor &sites = c->input(2);
    OP_REQUIRES(c, sites.dims() == 1,
                errors::InvalidArgument("sites must be [neurons]; got shape ",
                                        sites.shape().DebugString()));
    const int64_t neurons = sites.dim_size(0);
    const int32_t *site_of = sites.flat<int32_t>().data();
    for (int64_t n = 0; n < neurons; ++n)
      OP_REQUIRES(c, site_of[n] >= -1 && site_of[n] < neurons,
                  errors::InvalidArgument("sites[", n, "] is ", site_of[n], "; it must be -1 to ",
                                          neurons - 1));
    CheckedSpikes spikes(c, c->input(0), c->input(1), neurons);
    if (c->status().ok())
      compute(c, spikes, site_of, neurons);
  }

protected:
  virtual void compute(OpKernelContext *c, const CheckedSpikes &spikes, const int32_t *site_of,
                       int64_t neurons) = 0;

  // Calls use(slot of the neuron, its site, slot of the site) for every slot of a row that has a
  // site; returns the spikes and the filled slots. `slot` has -1 for every site, before and after.
  template <class Use>
  static std::pair<int32_t, int32_t> walk(const CheckedSpikes &spikes, int64_t row,
                                          const int32_t *site_of, std::vector<int32_t> &slot,
                                          Use use) {
    int32_t next = 0, spiking = 0;
    for (int32_t k = 0; k < spikes.filled(row); ++k) {
      if (k == spikes.spikes(row))
        spiking = next;
      const int32_t site = site_of[spikes.ids(row)[k]];
      if (site < 0)
        continue;
      if (k < spikes.spikes(row)) {
        use(k, site, next++);
        continue;
      }
      if (slot[site] < 0)
        slot[site] = next++;
      use(k, site, slot[site]);
    }
    if (spikes.filled(row) == spikes.spikes(row))
      spiking = next;
    for (int32_t k = spikes.spikes(row); k < spikes.filled(row); ++k) {
      const int32_t site = site_of[spikes.ids(row)[k]];
      if (site >= 0)
        slot[site] = -1;
    }
    return {spiking, next};
  }
};

class PooledSpikesOp : public PooledSpikes {
public:
  using PooledSpikes::PooledSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, const int32_t *site_of,
               int64_t neurons) override {
    Tensor *counts, *ids;
    OP_REQUIRES_OK(c, c->allocate_output(1, with_axis(spikes.leading(), 2), &counts));
    float *numbers = floats_of(counts);
    in_parallel(c, spikes.rows(), 8 * spikes.slots(), [&](int64_t begin, int64_t end) {
      std::vector<int32_t> slot(neurons, -1);
      for (int64_t row = begin; row < end; ++row) {
        const auto found = walk(spikes, row, site_of, slot, [](int32_t, int32_t, int32_t) {});
        numbers[2 * row] = static_cast<float>(found.first);
        numbers[2 * row + 1] = static_cast<float>(found.second);
      }
    });
    float most = 1;
    for (int64_t row = 0; row < spikes.rows(); ++row)
      most = std::max(most, numbers[2 * row + 1]);
    const auto slots = static_cast<int64_t>(most);
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes.leading(), slots), &ids));
    in_parallel(c, spikes.rows(), 8 * spikes.slots(), [&](int64_t begin, int64_t end) {
      std::vector<int32_t> slot(neurons, -1);
      for (int64_t row = begin; row < end; ++row) {
        float *to = floats_of(ids) + row * slots;
        std::fill(to, to + slots, 0.0F);
        walk(spikes, row, site_of, slot,
             [&](int32_t, int32_t site, int32_t at) { to[at] = static_cast<float>(site); });
      }
    });
  }
};

class PooledSpikesGradOp : public PooledSpikes {
public:
  using PooledSpikes::PooledSpikes;

protected:
  void compute(OpKernelContext *c, const CheckedSpikes &spikes, const int32_t *site_of,
               int64_t neurons) override {
    const Tensor &gradient = c->input(3);
    OP_REQUIRES(c, gradient.dims() >= 2 && leading_axes(gradient) == spikes.leading(),
                errors::InvalidArgument("the gradient of the pooled slots has shape ",
                                        gradient.shape().DebugString()));
    Tensor *grad;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &grad));
    const int64_t pooled = last_axis(gradient);
    in_parallel(c, spikes.rows(), 8 * spikes.slots(), [&](int64_t begin, int64_t end) {
      std::vector<int32_t> slot(neurons, -1);
      for (int64_t row = begin; row < end; ++row) {
        const float *from = floats_of(gradient) + row * pooled;
        float *to = floats_of(grad) + row * spikes.slots();
        std::fill(to, to + spikes.slots(), 0.0F);
        walk(spikes, row, site_of, slot,
             [&](int32_t k, int32_t, int32_t at) { to[k] = at < pooled ? from[at] : 0.0F; });
      }
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulsePooledSpikes").Device(tensorflow::DEVICE_CPU), PooledSpikesOp);
REGISTER_KERNEL_BUILDER(Name("IpulsePooledSpikesGrad").Device(tensorflow::DEVICE_CPU),
                        PooledSpikesGradOp);

} // namespace ipulse

#endif
