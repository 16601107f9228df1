// Between sparse and dense spikes, as TensorFlow ops; the rules are reference/spikes.py's.
#ifndef IPULSE_OPS_SPARSE_DENSE_OP_H
#define IPULSE_OPS_SPARSE_DENSE_OP_H

#include "matmul_op.h"

namespace ipulse {

inline Status dense_shape(InferenceContext *c) {
  ShapeHandle leading, shape;
  TF_RETURN_IF_ERROR(spikes_shape(c, 0, 1, &leading));
  int neurons;
  TF_RETURN_IF_ERROR(c->GetAttr("neurons", &neurons));
  TF_RETURN_IF_ERROR(append_axis(c, leading, c->MakeDim(neurons), &shape));
  c->set_output(0, shape);
  return Status();
}

REGISTER_OP("IpulseSparseToDense")
    .SPIKES.Attr("neurons: int >= 1")
    .Output("dense: float")
    .SetShapeFn(dense_shape);

// The values at the filled slots' ids. It is the gradient of IpulseSparseToDense.
REGISTER_OP("IpulseGatherSlots")
    .SPIKES.Input("dense: float")
    .Output("slots: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(0));
      return Status();
    });

// The slots' values at their ids, 0 elsewhere. It is the gradient of IpulseDenseToSparse.
REGISTER_OP("IpulseScatterSlots")
    .SPIKES.Input("slots: float")
    .Attr("neurons: int >= 1")
    .Output("dense: float")
    .SetShapeFn(dense_shape);

REGISTER_OP("IpulseDenseToSparse")
    .Input("dense: float")
    .Attr("capacity: int >= 0") // 0: the largest count, and at least 1
    .Output("ids: float")
    .Output("counts: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle dense, leading, shape;
      TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 2, &dense));
      TF_RETURN_IF_ERROR(c->Subshape(dense, 0, -1, &leading));
      int capacity;
      TF_RETURN_IF_ERROR(c->GetAttr("capacity", &capacity));
      DimensionHandle slots = capacity ? c->MakeDim(capacity) : c->UnknownDim();
      TF_RETURN_IF_ERROR(append_axis(c, leading, slots, &shape));
      c->set_output(0, shape);
      c->set_output(1, leading);
      return Status();
    });

// Adds to a dense row what each slot of it holds: ones of the spikes, or values of all filled ones.
class ScatterOp : public OpKernel {
public:
  explicit ScatterOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
  }

  void Compute(OpKernelContext *c) override {
    CheckedSpikes spikes(c, c->input(0), c->input(1), neurons_);
    if (!c->status().ok())
      return;
    const float *values = nullptr;
    if (c->num_inputs() == 3) {
      OP_REQUIRES(c, c->input(2).shape() == c->input(0).shape(),
                  errors::InvalidArgument("slots must have the ids' shape; got ",
                                          c->input(2).shape().DebugString()));
      values = floats_of(c->input(2));
    }
    Tensor *dense;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(spikes.leading(), neurons_), &dense));
    const int64_t neurons = neurons_;
    in_parallel(c, spikes.rows(), neurons, [&](int64_t begin, int64_t end) {
      float *out = floats_of(dense) + begin * neurons;
      std::fill(out, out + (end - begin) * neurons, 0.0F);
      for (int64_t row = begin; row < end; ++row, out += neurons)
        for (int32_t k = 0; k < (values ? spikes.filled(row) : spikes.spikes(row)); ++k)
          out[spikes.ids(row)[k]] += values ? values[row * spikes.slots() + k] : 1;
    });
  }

private:
  int neurons_;
};

class GatherSlotsOp : public OpKernel {
public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext *c) override {
    const Tensor &dense = c->input(2);
    OP_REQUIRES(c, dense.dims() >= 2,
                errors::InvalidArgument("dense must be [..., neurons]; got shape ",
                                        dense.shape().DebugString()));
    const int64_t neurons = last_axis(dense);
    CheckedSpikes spikes(c, c->input(0), c->input(1), neurons);
    if (!c->status().ok())
      return;
    OP_REQUIRES(c, leading_axes(dense) == spikes.leading(),
                errors::InvalidArgument("dense must be [..., neurons] beside ids of shape ",
                                        c->input(0).shape().DebugString(), "; got shape ",
                                        dense.shape().DebugString()));
    Tensor *slots;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &slots));
    in_parallel(c, spikes.rows(), 4 * spikes.slots(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float *out = floats_of(slots) + row * spikes.slots();
        for (int32_t k = 0; k < spikes.filled(row); ++k)
          out[k] = floats_of(dense)[row * neurons + spikes.ids(row)[k]];
        std::fill(out + spikes.filled(row), out + spikes.slots(), 0.0F);
      }
    });
  }
};

class DenseToSparseOp : public OpKernel {
public:
  explicit DenseToSparseOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("capacity", &capacity_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &tensor = c->input(0);
    OP_REQUIRES(c, tensor.dims() >= 2,
                errors::InvalidArgument("dense spikes must be [..., neurons] with at least one "
                                        "axis before the neurons; got shape ",
                                        tensor.shape().DebugString()));
    const int64_t neurons = last_axis(tensor), rows = leading_axes(tensor).num_elements();
    const float *dense = floats_of(tensor);
    std::vector<int32_t> spikes(rows);
    in_parallel(c, rows, 2 * neurons, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        bool wrong = false;
        int32_t ones = 0;
        for (int64_t n = 0; n < neurons; ++n) {
          float value = dense[row * neurons + n];
          wrong |= !(value == 0 || value == 1);
          ones += value == 1;
        }
        spikes[row] = wrong ? -1 : ones;
      }
    });
    int64_t fullest = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = row * neurons; spikes[row] < 0 && i < (row + 1) * neurons; ++i)
        OP_REQUIRES(c, dense[i] == 0 || dense[i] == 1,
                    errors::InvalidArgument("dense spikes must be 0 or 1; dense",
                                            place(tensor.shape(), i), " is ", dense[i]));
      fullest = spikes[row] > spikes[fullest] ? row : fullest;
    }
    const int64_t needed = rows ? spikes[fullest] : 0;
    const int64_t slots = capacity_ ? capacity_ : std::max<int64_t>(needed, 1);
    OP_REQUIRES(c, needed <= slots,
                errors::InvalidArgument("capacity ", slots, " is too small: the row ",
                                        place(leading_axes(tensor), fullest), " has ", needed,
                                        " spikes; set capacity to at least ", needed));
    Tensor *ids, *counts;
    OP_REQUIRES_OK(c, c->allocate_output(0, with_axis(leading_axes(tensor), slots), &ids));
    OP_REQUIRES_OK(c, c->allocate_output(1, leading_axes(tensor), &counts));
    in_parallel(c, rows, 2 * neurons, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float *out = floats_of(ids) + row * slots, *last = out + slots;
        for (int64_t n = 0; n < neurons; ++n)
          if (dense[row * neurons + n] == 1)
            *out++ = static_cast<float>(n);
        std::fill(out, last, 0.0F);
        floats_of(counts)[row] = static_cast<float>(spikes[row]);
      }
    });
  }

private:
  int capacity_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseSparseToDense").Device(tensorflow::DEVICE_CPU), ScatterOp);
REGISTER_KERNEL_BUILDER(Name("IpulseScatterSlots").Device(tensorflow::DEVICE_CPU), ScatterOp);
REGISTER_KERNEL_BUILDER(Name("IpulseGatherSlots").Device(tensorflow::DEVICE_CPU), GatherSlotsOp);
REGISTER_KERNEL_BUILDER(Name("IpulseDenseToSparse").Device(tensorflow::DEVICE_CPU),
                        DenseToSparseOp);

} // namespace ipulse

#endif
