// The cross-entropy, and sums, each in one order: the bits of TensorFlow's differ from one of its
// releases, and one CPU, to another.
#ifndef IPULSE_OPS_LIF_CPU_LOSS_OP_H
#define IPULSE_OPS_LIF_CPU_LOSS_OP_H

#include <vector>

#include "exact_math.h"
#include "shared_op.h"
#include "support/rounding.h"

namespace ipulse_lif {

REGISTER_OP("IpulseCrossEntropy")
    .Input("logits: float")
    .Input("labels: int32")
    .Output("loss: float")
    .Output("backprop: float")
    .SetShapeFn([](InferenceContext *c) {
      c->set_output(0, c->input(1));
      c->set_output(1, c->input(0));
      return Status();
    });

// Zero instead of a derivative that TensorFlow's next ops might flush to zero, or not: that depends
// on the thread that runs them.
inline float kept(float derivative) {
  constexpr float SMALLEST = 1.0f / (uint64_t(1) << 40) / (uint64_t(1) << 40);
  return derivative < SMALLEST && derivative > -SMALLEST ? 0.0f : derivative;
}

// -log softmax(logits)[label] of each row, and its derivative by the logits. In double, classes
// ascending, and rounded once.
class CrossEntropyOp : public OpKernel {
public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext *c) override {
    const Tensor &logits = c->input(0), &labels = c->input(1);
    OP_REQUIRES(
        c, logits.dims() == 2 && labels.dims() == 1 && labels.dim_size(0) == logits.dim_size(0),
        errors::InvalidArgument("logits must be [batch, classes] and labels [batch]; got ",
                                logits.shape().DebugString(), " and ",
                                labels.shape().DebugString()));
    Tensor *loss, *backprop;
    OP_REQUIRES_OK(c, c->allocate_output(0, labels.shape(), &loss));
    OP_REQUIRES_OK(c, c->allocate_output(1, logits.shape(), &backprop));
    lif::StandardRounding rounding;
    int64_t classes = logits.dim_size(1);
    std::vector<double> terms(classes);
    const float *row = floats_of(logits);
    float *grad = floats_of(backprop);
    for (int64_t b = 0; b < logits.dim_size(0); ++b, row += classes, grad += classes) {
      int32_t label = labels.flat<int32_t>()(b);
      OP_REQUIRES(c, label >= 0 && label < classes,
                  errors::InvalidArgument("label ", label, " of sample ", b,
                                          " is not below the number of classes, ", classes));
      float largest = row[0];
      for (int64_t k = 1; k < classes; ++k)
        largest = row[k] > largest ? row[k] : largest;
      double sum = 0;
      for (int64_t k = 0; k < classes; ++k) {
        terms[k] = lif::exp_of(double(row[k]) - double(largest));
        sum += terms[k];
      }
      floats_of(loss)[b] =
          static_cast<float>(lif::log_of(sum) - (double(row[label]) - double(largest)));
      for (int64_t k = 0; k < classes; ++k)
        grad[k] = kept(static_cast<float>(terms[k] / sum - (k == label)));
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseCrossEntropy").Device(tensorflow::DEVICE_CPU), CrossEntropyOp);

REGISTER_OP("IpulseOrderedSum")
    .Input("values: float")
    .Output("sums: double")
    .Output("means: float")
    .Output("share: float")
    .Attr("squares: bool")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle values;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &values));
      for (int i : {0, 1})
        c->set_output(i, c->Matrix(c->Dim(values, 0), c->Dim(values, 2)));
      c->set_output(2, c->Scalar());
      return Status();
    });

// Sums and means of [outer, n, inner] over n, ascending: in double, of the values or of their
// squares. Where `inner` is 1, in eight lanes, n mod 8, which are then folded by halves. share: 1 /
// n, of each value in a mean; TensorFlow may or may not replace a division by it.
class OrderedSumOp : public OpKernel {
public:
  explicit OrderedSumOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("squares", &squares_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &values = c->input(0);
    OP_REQUIRES(c, values.dims() == 3,
                errors::InvalidArgument("values must be [outer, n, inner]; got ",
                                        values.shape().DebugString()));
    int64_t outer = values.dim_size(0), n = values.dim_size(1), inner = values.dim_size(2);
    Tensor *sums, *means, *share;
    OP_REQUIRES_OK(c, c->allocate_output(0, TensorShape({outer, inner}), &sums));
    OP_REQUIRES_OK(c, c->allocate_output(1, TensorShape({outer, inner}), &means));
    OP_REQUIRES_OK(c, c->allocate_output(2, TensorShape({}), &share));
    lif::StandardRounding rounding;
    const float *from = floats_of(values);
    double *to = sums->flat<double>().data();
    for (int64_t o = 0; o < outer; ++o, from += n * inner, to += inner)
      if (inner == 1)
        *to = in_lanes(from, n);
      else
        add_rows(from, n, inner, to);
    double count = static_cast<double>(n);
    for (int64_t i = 0; i < outer * inner; ++i)
      floats_of(means)[i] = static_cast<float>(sums->flat<double>().data()[i] / count);
    *floats_of(share) = static_cast<float>(1 / count);
  }

private:
  double term(float value) const {
    double exact = value;
    return squares_ ? exact * exact : exact;
  }

  double in_lanes(const float *from, int64_t n) const {
    constexpr int LANES = 8;
    double lane[LANES] = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
      for (int k = 0; k < LANES; ++k)
        lane[k] += term(from[i + k]);
    for (int k = 0; i + k < n; ++k)
      lane[k] += term(from[i + k]);
    for (int half = LANES / 2; half; half /= 2)
      for (int k = 0; k < half; ++k)
        lane[k] += lane[k + half];
    return lane[0];
  }

  void add_rows(const float *from, int64_t n, int64_t inner, double *to) const {
    for (int64_t k = 0; k < inner; ++k)
      to[k] = 0;
    for (int64_t i = 0; i < n; ++i, from += inner)
      for (int64_t k = 0; k < inner; ++k)
        to[k] += term(from[k]);
  }

  bool squares_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseOrderedSum").Device(tensorflow::DEVICE_CPU), OrderedSumOp);

} // namespace ipulse_lif

#endif
