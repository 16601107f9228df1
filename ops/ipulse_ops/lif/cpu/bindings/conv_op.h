// A convolution with LIF neurons and its gradient as TensorFlow ops.
#ifndef IPULSE_OPS_LIF_CPU_CONV_OP_H
#define IPULSE_OPS_LIF_CPU_CONV_OP_H

#include "conv_layer_op.h"

namespace ipulse_lif {

inline Status conv_shape(InferenceContext *c) {
  ShapeHandle ids;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
  const DimensionHandle steps = c->Dim(ids, 0), batch = c->Dim(ids, 1);
  c->set_output(0, c->MakeShape({steps, batch, c->UnknownDim()}));
  c->set_output(1, c->MakeShape({steps, batch, c->MakeDim(2)}));
  c->set_output(2, c->MakeShape({steps, batch, c->MakeDim(2)}));
  return Status();
}

// second_threshold: [0] for none.
#define CONV_OP_ARGUMENTS                                                                          \
  CONV_LAYER_ARGUMENTS.Input("second_threshold: float")                                            \
      .Attr("delay: int")                                                                          \
      .Attr("reset: int")                                                                          \
      .Attr("reset_gradient: int")                                                                 \
      .Attr("decay: float")                                                                        \
      .Attr("threshold: float")                                                                    \
      .Attr("bias_scale: float")                                                                   \
      .Attr("surrogate: int")                                                                      \
      .Attr("slope: float")                                                                        \
      .Attr("width: float")                                                                        \
      .Attr("values: list(float)")

REGISTER_OP("IpulseConv")
    .CONV_OP_ARGUMENTS.Attr("keep: bool")
    .Output("spike_ids: float")
    .Output("spike_counts: float")
    .Output("activity: float")
    .SetShapeFn(conv_shape);

REGISTER_OP("IpulseConvGrad")
    .CONV_OP_ARGUMENTS.Input("spike_ids: float")
    .Input("spike_counts: float")
    .Input("grad_ids: float")
    .Output("grad_weights: float")
    .Output("grad_bias: float")
    .Output("grad_port: float")
    .SetShapeFn(conv_gradient_shape);

class ConvOp : public ConvLayerOp {
public:
  explicit ConvOp(OpKernelConstruction *c) : ConvLayerOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("delay", &layer_.delay));
    OP_REQUIRES_OK(c, c->GetAttr("reset", &layer_.reset));
    OP_REQUIRES_OK(c, c->GetAttr("reset_gradient", &layer_.reset_gradient));
    OP_REQUIRES_OK(c, c->GetAttr("decay", &layer_.decay));
    OP_REQUIRES_OK(c, c->GetAttr("threshold", &layer_.threshold));
    OP_REQUIRES_OK(c, c->GetAttr("bias_scale", &layer_.bias_scale));
    OP_REQUIRES_OK(c, c->GetAttr("surrogate", &layer_.surrogate.kind));
    OP_REQUIRES_OK(c, c->GetAttr("slope", &layer_.surrogate.slope));
    OP_REQUIRES_OK(c, c->GetAttr("width", &layer_.surrogate.width));
    OP_REQUIRES_OK(c, c->GetAttr("values", &values_));
    layer_.surrogate.size = static_cast<int32_t>(values_.size());
    layer_.surrogate.values = values_.data();
  }

protected:
  void read_neurons(OpKernelContext *c, ConvLayer *layer) const {
    read(c, layer);
    if (!c->status().ok())
      return;
    const Tensor &second = c->input(6);
    OP_REQUIRES(c, second.NumElements() <= 1,
                errors::InvalidArgument("second_threshold must be one number"));
    layer->gated = second.NumElements() != 0;
    if (layer->gated)
      layer->second_threshold = second.flat<float>()(0);
  }

private:
  std::vector<float> values_;
};

class ConvForwardOp : public ConvOp {
public:
  explicit ConvForwardOp(OpKernelConstruction *c) : ConvOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("keep", &keep_));
  }

  void Compute(OpKernelContext *c) override {
    ConvLayer layer;
    read_neurons(c, &layer);
    if (!c->status().ok())
      return;
    layer.keep = keep_;
    const TensorShape pairs({layer.steps, layer.batch, 2});
    Tensor *counts, *activity;
    OP_REQUIRES_OK(c, c->allocate_output("spike_counts", pairs, &counts));
    OP_REQUIRES_OK(c, c->allocate_output("activity", pairs, &activity));
    Output output{c, layer.steps, layer.batch};
    ConvForward result{floats_of(counts), floats_of(activity), &output, allocate};
    char message[512];
    int code = lif_conv_forward(&layer, &result, message, sizeof message);
    OP_REQUIRES_OK(c, status(code, message));
  }

private:
  struct Output {
    OpKernelContext *context;
    int64_t steps, batch;
  };

  static float *allocate(void *context, int64_t slots) {
    const Output &output = *static_cast<Output *>(context);
    Tensor *ids;
    if (!output.context
             ->allocate_output("spike_ids", TensorShape({output.steps, output.batch, slots}), &ids)
             .ok())
      return nullptr;
    return floats_of(ids);
  }

  bool keep_;
};

class ConvGradientOp : public ConvOp {
public:
  using ConvOp::ConvOp;

  void Compute(OpKernelContext *c) override {
    ConvLayer layer;
    read_neurons(c, &layer);
    if (!c->status().ok())
      return;
    layer.keep = 1;
    const Tensor &ids = c->input(7), &counts = c->input(8), &gradient = c->input(9);
    OP_REQUIRES(c,
                ids.dims() == 3 && ids.dim_size(0) == layer.steps &&
                    ids.dim_size(1) == layer.batch && gradient.shape() == ids.shape() &&
                    counts.shape() == TensorShape({layer.steps, layer.batch, 2}),
                errors::InvalidArgument("the gradient of the spikes has shape ",
                                        gradient.shape().DebugString()));
    Tensor *weights, *bias, *port;
    OP_REQUIRES_OK(c, c->allocate_output("grad_weights", c->input(4).shape(), &weights));
    OP_REQUIRES_OK(c, c->allocate_output("grad_bias", c->input(5).shape(), &bias));
    OP_REQUIRES_OK(c, c->allocate_output("grad_port", c->input(2).shape(), &port));
    ConvBackward backward{ids.dim_size(2),
                          floats_of(ids),
                          floats_of(counts),
                          floats_of(gradient),
                          floats_of(weights),
                          layer.bias ? floats_of(bias) : nullptr,
                          port->NumElements() ? floats_of(port) : nullptr};
    char message[512];
    int code = lif_conv_backward(&layer, &backward, message, sizeof message);
    OP_REQUIRES_OK(c, status(code, message));
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseConv").Device(tensorflow::DEVICE_CPU), ConvForwardOp);
REGISTER_KERNEL_BUILDER(Name("IpulseConvGrad").Device(tensorflow::DEVICE_CPU), ConvGradientOp);

} // namespace ipulse_lif

#endif
