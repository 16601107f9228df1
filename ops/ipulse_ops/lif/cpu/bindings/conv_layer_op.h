// The arguments that ops of convolutions have in common.
#ifndef IPULSE_OPS_LIF_CPU_CONV_LAYER_OP_H
#define IPULSE_OPS_LIF_CPU_CONV_LAYER_OP_H

#include "interface/conv.h"
#include "shared_op.h"

#include <vector>

namespace ipulse_lif {

// The gradients of weights, bias and port.
inline Status conv_gradient_shape(InferenceContext *c) {
  c->set_output(0, c->input(4));
  c->set_output(1, c->input(5));
  c->set_output(2, c->input(2));
  return Status();
}

// geometry: height, width, channels, channels_first, then pairs of height and width: kernel,
// strides, padding, dilation, size of the neurons' planes, pool; then groups and filters.
// port, filled: as of IpulseLif. bias: [0] for none.
#define CONV_LAYER_ARGUMENTS                                                                       \
  Input("ids: Id")                                                                                 \
      .Input("counts: int32")                                                                      \
      .Input("port: float")                                                                        \
      .Input("filled: int32")                                                                      \
      .Input("weights: float")                                                                     \
      .Input("bias: float")                                                                        \
      .Attr("Id: {int32, uint16}")                                                                 \
      .Attr("geometry: list(int)")                                                                 \
      .Attr("weight_scale: float")                                                                 \
      .Attr("threads: int")                                                                        \
      .Attr("arch: int")

class ConvLayerOp : public OpKernel {
public:
  explicit ConvLayerOp(OpKernelConstruction *c) : OpKernel(c) {
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
    for (size_t i = 0; i < g.size(); ++i) {
      OP_REQUIRES(c, g[i] >= 0, errors::InvalidArgument("geometry must not be negative"));
      *sizes[i] = g[i];
    }
    OP_REQUIRES_OK(c, c->GetAttr("weight_scale", &layer_.weight_scale));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &layer_.threads));
    int arch;
    OP_REQUIRES_OK(c, c->GetAttr("arch", &arch));
    layer_.arch = static_cast<uint64_t>(arch);
  }

protected:
  void read(OpKernelContext *c, ConvLayer *layer) const {
    const Tensor &ids = c->input(0), &counts = c->input(1), &port = c->input(2),
                 &filled = c->input(3), &weights = c->input(4), &bias = c->input(5);
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
    layer->steps = static_cast<int32_t>(ids.dim_size(0));
    layer->batch = static_cast<int32_t>(ids.dim_size(1));
    layer->input_slots = static_cast<int32_t>(ids.dim_size(2));
    layer->id_bytes = ids.dtype() == tensorflow::DT_UINT16 ? 2 : 4;
    layer->ids = ids.data();
    layer->counts = counts.flat<int>().data();
    layer->filled = filled.dims() == 2 ? filled.flat<int>().data() : nullptr;
    layer->weights = floats_of(weights);
    layer->bias = bias.NumElements() ? floats_of(bias) : nullptr;
  }

  ConvLayer layer_{}; // the attributes
};

} // namespace ipulse_lif

#endif
