// The cross-entropy, sums and standardised weights, each in one order: the bits of TensorFlow's
// differ from one of its releases, and one CPU, to another.
#ifndef IPULSE_OPS_LIF_CPU_LOSS_OP_H
#define IPULSE_OPS_LIF_CPU_LOSS_OP_H

#include <cmath>
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

// Sums of [outer, n, inner] over n, ascending, in double: of the values or of their squares. Where
// `inner` is 1, in eight lanes, n mod 8, which are then folded by halves.
class OrderedSums {
public:
  explicit OrderedSums(bool squares) : squares_(squares) {}

  void operator()(const float *from, int64_t outer, int64_t n, int64_t inner, double *to) const {
    for (int64_t o = 0; o < outer; ++o, from += n * inner, to += inner)
      if (inner == 1)
        *to = in_lanes(from, n);
      else
        add_rows(from, n, inner, to);
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

// OrderedSums, and means. share: 1 / n, of each value in a mean; TensorFlow may or may not replace
// a division by it.
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
    double *to = sums->flat<double>().data();
    OrderedSums{squares_}(floats_of(values), outer, n, inner, to);
    double count = static_cast<double>(n);
    for (int64_t i = 0; i < outer * inner; ++i)
      floats_of(means)[i] = static_cast<float>(to[i] / count);
    *floats_of(share) = static_cast<float>(1 / count);
  }

private:
  bool squares_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseOrderedSum").Device(tensorflow::DEVICE_CPU), OrderedSumOp);

REGISTER_OP("IpulseStandardise")
    .Input("weights: float")
    .Input("deviation: float")
    .Output("in_use: float")
    .Output("normal: float")
    .Output("factor: float")
    .Attr("least: float")
    .SetShapeFn([](InferenceContext *c) {
      for (int i : {0, 1, 2})
        c->set_output(i, c->input(i == 2));
      return Status();
    });

// Standardised weights: normal = (weights - mean) * factor and in_use = normal * deviation, where
// factor is 1 / sqrt(variance), 0 for a variance below `least`. An op, because TensorFlow reorders
// the products, and replaces the root, in graphs that compute nothing else.
class StandardiseOp : public OpKernel {
public:
  explicit StandardiseOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("least", &least_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &weights = c->input(0), &deviation = c->input(1);
    OP_REQUIRES(c, weights.dims() == 2 && deviation.shape() == TensorShape({weights.dim_size(1)}),
                errors::InvalidArgument("weights must be [senders, neurons] and the deviation "
                                        "[neurons]; got ",
                                        weights.shape().DebugString(), " and ",
                                        deviation.shape().DebugString()));
    Tensor *in_use, *normal, *factor;
    OP_REQUIRES_OK(c, c->allocate_output(0, weights.shape(), &in_use));
    OP_REQUIRES_OK(c, c->allocate_output(1, weights.shape(), &normal));
    OP_REQUIRES_OK(c, c->allocate_output(2, deviation.shape(), &factor));
    lif::StandardRounding rounding;
    const int64_t rows = weights.dim_size(0), columns = weights.dim_size(1);
    const float *from = floats_of(weights), *wide = floats_of(deviation);
    float *to = floats_of(in_use), *centred = floats_of(normal), *root = floats_of(factor);
    const double count = static_cast<double>(rows);
    std::vector<double> sums(columns);
    const OrderedSums sum{false};
    sum(from, 1, rows, columns, sums.data());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0, at = i * columns; k < columns; ++k, ++at) {
        centred[at] = from[at] - static_cast<float>(sums[k] / count);
        to[at] = centred[at] * centred[at];
      }
    sum(to, 1, rows, columns, sums.data());
    for (int64_t k = 0; k < columns; ++k) {
      float variance = static_cast<float>(sums[k] / count);
      root[k] = variance < least_ ? 0 : static_cast<float>(1 / std::sqrt(double(variance)));
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0, at = i * columns; k < columns; ++k, ++at) {
        centred[at] *= root[k];
        to[at] = centred[at] * wide[k];
      }
  }

private:
  float least_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseStandardise").Device(tensorflow::DEVICE_CPU), StandardiseOp);

} // namespace ipulse_lif

#endif
