// A convolution and its gradient as TensorFlow ops.
#ifndef IPULSE_OPS_LIF_CPU_CONV_OP_H
#define IPULSE_OPS_LIF_CPU_CONV_OP_H

#include "conv.h"
#include "shared_op.h"

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

inline Status conv_gradient_shape(InferenceContext *c) {
  c->set_output(0, c->input(4));
  c->set_output(1, c->input(5));
  c->set_output(2, c->input(2));
  return Status();
}

// geometry: height, width, channels, channels_first, then pairs of height and width: kernel,
// strides, padding, dilation, size of the neurons' planes, pool; then groups and filters.
// port, filled: as of IpulseLif. bias, second_threshold: [0] for none.
#define CONV_OP_ARGUMENTS                                                                          \
  Input("ids: Id")                                                                                 \
      .Input("counts: int32")                                                                      \
      .Input("port: float")                                                                        \
      .Input("filled: int32")                                                                      \
      .Input("weights: float")                                                                     \
      .Input("bias: float")                                                                        \
      .Input("second_threshold: float")                                                            \
      .Attr("Id: {int32, uint16}")                                                                 \
      .Attr("geometry: list(int)")                                                                 \
      .Attr("delay: int")                                                                          \
      .Attr("reset: int")                                                                          \
      .Attr("reset_gradient: int")                                                                 \
      .Attr("decay: float")                                                                        \
      .Attr("threshold: float")                                                                    \
      .Attr("weight_scale: float")                                                                 \
      .Attr("bias_scale: float")                                                                   \
      .Attr("surrogate: int")                                                                      \
      .Attr("slope: float")                                                                        \
      .Attr("width: float")                                                                        \
      .Attr("values: list(float)")                                                                 \
      .Attr("threads: int")                                                                        \
      .Attr("arch: int")

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

class ConvOp : public OpKernel {
public:
  explicit ConvOp(OpKernelConstruction *c) : OpKernel(c) {
    std::vector<int32_t> g;
    OP_REQUIRES_OK(c, c->GetAttr("geometry", &g));
    OP_REQUIRES(c, g.size() == 18,
                errors::InvalidArgument("geometry must be 18 numbers; got ", g.size()));
    int32_t *const sizes[] = {&layer_.height,         &layer_.width,         &layer_.channels,
                              &layer_.channels_first, &layer_.kernel_height, &layer_.kernel_width,
                              &layer_.stride_y,       &layer_.stride_x,      &layer_.pad_y,
                              &layer_.pad_x,          &layer_.dilation_y,    &layer_.dilation_x,
                              &layer_.out_height,     &layer_.out_width,     &layer_.pool_height,
                              &layer_.pool_width,     &layer_.groups,        &layer_.filters};
    for (size_t i = 0; i < g.size(); ++i)
      *sizes[i] = g[i];
    OP_REQUIRES_OK(c, c->GetAttr("delay", &layer_.delay));
    OP_REQUIRES_OK(c, c->GetAttr("reset", &layer_.reset));
    OP_REQUIRES_OK(c, c->GetAttr("reset_gradient", &layer_.reset_gradient));
    OP_REQUIRES_OK(c, c->GetAttr("decay", &layer_.decay));
    OP_REQUIRES_OK(c, c->GetAttr("threshold", &layer_.threshold));
    OP_REQUIRES_OK(c, c->GetAttr("weight_scale", &layer_.weight_scale));
    OP_REQUIRES_OK(c, c->GetAttr("bias_scale", &layer_.bias_scale));
    OP_REQUIRES_OK(c, c->GetAttr("surrogate", &layer_.surrogate.kind));
    OP_REQUIRES_OK(c, c->GetAttr("slope", &layer_.surrogate.slope));
    OP_REQUIRES_OK(c, c->GetAttr("width", &layer_.surrogate.width));
    OP_REQUIRES_OK(c, c->GetAttr("values", &values_));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &layer_.threads));
    int arch;
    OP_REQUIRES_OK(c, c->GetAttr("arch", &arch));
    layer_.arch = static_cast<uint64_t>(arch);
    layer_.surrogate.size = static_cast<int32_t>(values_.size());
    layer_.surrogate.values = values_.data();
  }

protected:
  void read(OpKernelContext *c, ConvLayer *layer) const {
    const Tensor &ids = c->input(0), &counts = c->input(1), &port = c->input(2),
                 &filled = c->input(3), &weights = c->input(4), &bias = c->input(5),
                 &second = c->input(6);
    OP_REQUIRES_OK(c, check_spikes(ids, counts, port, filled));
    *layer = layer_;
    OP_REQUIRES(c, layer->groups > 0, errors::InvalidArgument("groups must be at least 1"));
    const TensorShape expected({layer->kernel_height, layer->kernel_width,
                                layer->channels / layer->groups, layer->filters});
    OP_REQUIRES(c, weights.shape() == expected,
                errors::InvalidArgument("the kernel must have shape ", expected.DebugString(),
                                        "; got ", weights.shape().DebugString()));
    OP_REQUIRES(c, bias.NumElements() == 0 || bias.shape() == TensorShape({layer->filters}),
                errors::InvalidArgument("the bias must have shape [", layer->filters, "]; got ",
                                        bias.shape().DebugString()));
    OP_REQUIRES(c, second.NumElements() <= 1,
                errors::InvalidArgument("second_threshold must be one number"));
    layer->steps = static_cast<int32_t>(ids.dim_size(0));
    layer->batch = static_cast<int32_t>(ids.dim_size(1));
    layer->input_slots = static_cast<int32_t>(ids.dim_size(2));
    layer->id_bytes = ids.dtype() == tensorflow::DT_UINT16 ? 2 : 4;
    layer->ids = ids.data();
    layer->counts = counts.flat<int>().data();
    layer->filled = filled.dims() == 2 ? filled.flat<int>().data() : nullptr;
    layer->weights = floats_of(weights);
    layer->bias = bias.NumElements() ? floats_of(bias) : nullptr;
    layer->gated = second.NumElements() != 0;
    if (layer->gated)
      layer->second_threshold = second.flat<float>()(0);
  }

private:
  ConvLayer layer_{};
  std::vector<float> values_;
};

class ConvForwardOp : public ConvOp {
public:
  explicit ConvForwardOp(OpKernelConstruction *c) : ConvOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("keep", &keep_));
  }

  void Compute(OpKernelContext *c) override {
    ConvLayer layer;
    read(c, &layer);
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
    read(c, &layer);
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
