// A convolution of spikes without neurons, and its gradients, as TensorFlow ops.
#ifndef IPULSE_OPS_LIF_CPU_SPIKE_CONV_OP_H
#define IPULSE_OPS_LIF_CPU_SPIKE_CONV_OP_H

#include "conv_layer_op.h"

namespace ipulse_lif {

REGISTER_OP("IpulseSpikeConv")
    .CONV_LAYER_ARGUMENTS.Output("currents: float")
    .SetShapeFn([](InferenceContext *c) {
      ShapeHandle ids;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
      std::vector<int32_t> g;
      TF_RETURN_IF_ERROR(c->GetAttr("geometry", &g));
      const bool complete = g.size() == 18; // else the op refuses it
      c->set_output(0, c->MakeShape({c->Dim(ids, 0), c->Dim(ids, 1),
                                     complete ? c->MakeDim(int64_t(g[12]) * g[13] * g[17])
                                              : c->UnknownDim()}));
      return Status();
    });

REGISTER_OP("IpulseSpikeConvGrad")
    .CONV_LAYER_ARGUMENTS.Input("grad_currents: float")
    .Output("grad_weights: float")
    .Output("grad_bias: float")
    .Output("grad_port: float")
    .SetShapeFn(conv_gradient_shape);

class SpikeConvOp : public ConvLayerOp {
public:
  explicit SpikeConvOp(OpKernelConstruction *c) : ConvLayerOp(c) { layer_.bias_scale = 1; }

protected:
  // Returns the shape of the currents.
  TensorShape read_currents(OpKernelContext *c, ConvLayer *layer) const {
    read(c, layer);
    return {layer->steps, layer->batch,
            int64_t(layer->out_height) * layer->out_width * layer->filters};
  }
};

class SpikeConvForwardOp : public SpikeConvOp {
public:
  using SpikeConvOp::SpikeConvOp;

  void Compute(OpKernelContext *c) override {
    ConvLayer layer{};
    const TensorShape shape = read_currents(c, &layer);
    if (!c->status().ok())
      return;
    Tensor *currents;
    OP_REQUIRES_OK(c, c->allocate_output("currents", shape, &currents));
    char message[512];
    int code = lif_conv_currents(&layer, floats_of(currents), message, sizeof message);
    OP_REQUIRES_OK(c, status(code, message));
  }
};

class SpikeConvGradientOp : public SpikeConvOp {
public:
  using SpikeConvOp::SpikeConvOp;

  void Compute(OpKernelContext *c) override {
    ConvLayer layer{};
    const TensorShape shape = read_currents(c, &layer);
    if (!c->status().ok())
      return;
    const Tensor &gradient = c->input(6);
    OP_REQUIRES(c, gradient.shape() == shape,
                errors::InvalidArgument("the gradient of the currents has shape ",
                                        gradient.shape().DebugString(), "; expected ",
                                        shape.DebugString()));
    Tensor *weights, *bias, *port;
    OP_REQUIRES_OK(c, c->allocate_output("grad_weights", c->input(4).shape(), &weights));
    OP_REQUIRES_OK(c, c->allocate_output("grad_bias", c->input(5).shape(), &bias));
    OP_REQUIRES_OK(c, c->allocate_output("grad_port", c->input(2).shape(), &port));
    ConvCurrentsBackward backward{floats_of(gradient), floats_of(weights),
                                  layer.bias ? floats_of(bias) : nullptr,
                                  port->NumElements() ? floats_of(port) : nullptr};
    char message[512];
    int code = lif_conv_currents_backward(&layer, &backward, message, sizeof message);
    OP_REQUIRES_OK(c, status(code, message));
  }
};

REGISTER_KERNEL_BUILDER(Name("IpulseSpikeConv").Device(tensorflow::DEVICE_CPU), SpikeConvForwardOp);
REGISTER_KERNEL_BUILDER(Name("IpulseSpikeConvGrad").Device(tensorflow::DEVICE_CPU),
                        SpikeConvGradientOp);

} // namespace ipulse_lif

#endif
