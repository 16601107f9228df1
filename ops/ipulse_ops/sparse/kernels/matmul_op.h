// spike_matmul and its two gradients as TensorFlow ops; the rule is reference/spike_matmul.py's.
#ifndef IPULSE_OPS_SPARSE_MATMUL_OP_H
#define IPULSE_OPS_SPARSE_MATMUL_OP_H

#include "checked_spikes.h"

#include <algorithm>

#define SPIKES                                                                                     \
  Input("ids: Id")                                                                                 \
      .Input("counts: Count")                                                                      \
      .Attr("Id: {float, int32, int64, uint16}")                                                   \
      .Attr("Count: {float, int32, int64}")

namespace ipulse {

REGISTER_OP("IpulseSpikeMatmul")
    .Input("weights: float")
    .SPIKES.Output("product: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle weights, leading, shape;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &weights));
      TF_RETURN_IF_ERROR(spikes_shape(c, 1, 2, &leading));
      TF_RETURN_IF_ERROR(append_axis(c, leading, c->Dim(weights, 1), &shape));
      c->set_output(0, shape);
      return Status();
    });

REGISTER_OP("IpulseSpikeMatmulGradWeights")
    .Input("weights: float")
    .SPIKES.Input("grad_product: float")
    .Output("grad_weights: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      return Status();
    });

REGISTER_OP("IpulseSpikeMatmulGradSlots")
    .Input("weights: float")
    .SPIKES.Input("grad_product: float")
    .Output("grad_slots: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(1));
      return Status();
    });

// The base class of the three ops: a matrix, and spikes that select its rows.
class SpikeMatmul : public OpKernel {
public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext *c) override {
    const Tensor &weights = c->input(0);
    OP_REQUIRES(c, weights.dims() == 2,
                errors::InvalidArgument("weights must be [N_in, N_out]; got shape ",
                                        weights.shape().DebugString()));
    CheckedSpikes spikes(c, c->input(1), c->input(2), weights.dim_size(0));
    if (!c->status().ok())
      return;
    TensorShape shape = with_axis(spikes.leading(), weights.dim_size(1));
    OP_REQUIRES(c, c->num_inputs() == 3 || c->input(3).shape() == shape,
                errors::InvalidArgument("the gradient by the product has shape ",
                                        c->input(c->num_inputs() - 1).shape().DebugString(),
                                        "; expected ", shape.DebugString()));
    compute(c, floats_of(weights), weights.dim_size(1), spikes);
  }

protected:
  virtual void compute(OpKernelContext *c, const float *weights, int64_t n_out,
                       const CheckedSpikes &spikes) = 0;
};

class SpikeMatmulOp : public SpikeMatmul {
public:
  using SpikeMatmul::SpikeMatmul;

protected:
  void compute(OpKernelContext *c, const float *weights, int64_t n_out,
               const CheckedSpikes &spikes) override {
    Tensor *product;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes.leading(), n_out), &product));
    // A block of columns stays in the fastest cache while rows are added to it.
    const int64_t blocks = (n_out + COLUMNS - 1) / COLUMNS;
    float *sums = floats_of(product);
    in_parallel(c, spikes.rows() * blocks, COLUMNS * 8, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t row = item / blocks, first = item % blocks * COLUMNS;
        const int64_t size = std::min(COLUMNS, n_out - first);
        float *sum = sums + row * n_out + first;
        std::fill(sum, sum + size, 0.0F);
        for (int32_t k = 0; k < spikes.spikes(row); ++k) {
          const float *from = weights + spikes.ids(row)[k] * n_out + first;
          for (int64_t i = 0; i < size; ++i)
            sum[i] += from[i];
        }
      }
    });
  }

private:
  static constexpr int64_t COLUMNS = 512;
};

class SpikeMatmulGradWeightsOp : public SpikeMatmul {
public:
  using SpikeMatmul::SpikeMatmul;

protected:
  void compute(OpKernelContext *c, const float *, int64_t n_out,
               const CheckedSpikes &spikes) override {
    Tensor *grad;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &grad));
    const float *grad_product = floats_of(c->input(3));
    float *sums = floats_of(grad);
    const int64_t n_in = c->input(0).dim_size(0);
    // Each column is one thread's alone, and sums in the order of rows and slots.
    in_parallel(c, n_out, 2 * spikes.rows() + n_in, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < n_in; ++i)
        std::fill(sums + i * n_out + begin, sums + i * n_out + end, 0.0F);
      for (int64_t row = 0; row < spikes.rows(); ++row) {
        const float *from = grad_product + row * n_out;
        for (int32_t k = 0; k < spikes.spikes(row); ++k) {
          float *sum = sums + spikes.ids(row)[k] * n_out;
          for (int64_t i = begin; i < end; ++i)
            sum[i] += from[i];
        }
      }
    });
  }
};

class SpikeMatmulGradSlotsOp : public SpikeMatmul {
public:
  using SpikeMatmul::SpikeMatmul;

protected:
  void compute(OpKernelContext *c, const float *weights, int64_t n_out,
               const CheckedSpikes &spikes) override {
    Tensor *grad;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(1).shape(), &grad));
    const float *grad_product = floats_of(c->input(3));
    const int64_t slots = spikes.slots();
    in_parallel(c, spikes.rows(), n_out * 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float *out = floats_of(grad) + row * slots;
        for (int32_t k = 0; k < spikes.filled(row); ++k)
          out[k] = dot(weights + spikes.ids(row)[k] * n_out, grad_product + row * n_out, n_out);
        std::fill(out + spikes.filled(row), out + slots, 0.0F);
      }
    });
  }

private:
  // In lanes, which a compiler may put into a vector without changing a bit.
  static float dot(const float *a, const float *b, int64_t size) {
    constexpr int64_t LANES = 16;
    float lane[LANES] = {};
    int64_t i = 0;
    for (; i + LANES <= size; i += LANES)
      for (int64_t l = 0; l < LANES; ++l)
        lane[l] += a[i + l] * b[i + l];
    for (int64_t l = 0; i + l < size; ++l)
      lane[l] += a[i + l] * b[i + l];
    for (int64_t half = LANES / 2; half; half /= 2)
      for (int64_t l = 0; l < half; ++l)
        lane[l] += lane[l + half];
    return lane[0];
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseSpikeMatmul").Device(tensorflow::DEVICE_CPU), SpikeMatmulOp);
REGISTER_KERNEL_BUILDER(Name("IpulseSpikeMatmulGradWeights").Device(tensorflow::DEVICE_CPU),
                        SpikeMatmulGradWeightsOp);
REGISTER_KERNEL_BUILDER(Name("IpulseSpikeMatmulGradSlots").Device(tensorflow::DEVICE_CPU),
                        SpikeMatmulGradSlotsOp);

} // namespace ipulse

#endif
