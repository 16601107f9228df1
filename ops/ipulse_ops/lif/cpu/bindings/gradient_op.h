// lif_backward as a TensorFlow op.
#ifndef IPULSE_OPS_LIF_CPU_GRADIENT_OP_H
#define IPULSE_OPS_LIF_CPU_GRADIENT_OP_H

#include <algorithm>

#include "arguments_op.h"
#include "kept_tensor_op.h"

namespace ipulse_lif {

inline Status gradient_shape(InferenceContext *c) {
  int output = 0;
#define LIF_NAME(name) , #name
  for (const char *name : {"weights" LIF_GRADIENTS(LIF_NAME)}) {
#undef LIF_NAME
    std::vector<ShapeHandle> shapes;
    TF_RETURN_IF_ERROR(c->input(name, &shapes));
    bool known = std::string(name) == "weights";
    for (const ShapeHandle &shape : shapes)
      c->set_output(output++, known ? shape : c->UnknownShapeOfRank(1));
  }
  c->set_output(output, c->input(2));
  return Status();
}

#define LIF_OUTPUT_OF_ALL(name) .Output("grad_" #name ": all * float")
#define LIF_OUTPUT_OF_SPIKING(name) .Output("grad_" #name ": layers * float")

// Gradients of constants that are not in `trained` are [0], as is that of an input port of [0].
REGISTER_OP("IpulseLifGrad")
    .LIF_OP_ARGUMENTS.Attr("hidden: int >= 0")
    .Attr("trained: list(string)")
    .Input("bits: layers * float")
    .Input("membranes: layers * float")
    .Input("grad_membrane: float")
    .Input("grad_ports: layers * float")
    .Input("grad_short_ports: layers * float")
    .Input("grad_u: hidden * float")
    .Output("grad_weights: matrices * float") LIF_GRADIENTS_OF_ALL(LIF_OUTPUT_OF_ALL)
        LIF_GRADIENTS_OF_SPIKING(LIF_OUTPUT_OF_SPIKING)
    .Output("grad_port: float")
    .SetShapeFn(gradient_shape);

class LifGradientOp : public LifOp {
public:
  explicit LifGradientOp(OpKernelConstruction *c) : LifOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("trained", &trained_));
  }

  void Compute(OpKernelContext *c) override {
    LifNetwork network;
    std::vector<LifLayer> layer;
    read(c, &network, &layer);
    if (!c->status().ok())
      return;
    const TensorShape places({network.steps, network.batch});
    OpInputList bits, membranes, ports, short_ports, u;
    OP_REQUIRES_OK(c, c->input_list("bits", &bits));
    OP_REQUIRES_OK(c, c->input_list("membranes", &membranes));
    OP_REQUIRES_OK(c, c->input_list("grad_ports", &ports));
    OP_REQUIRES_OK(c, c->input_list("grad_short_ports", &short_ports));
    OP_REQUIRES_OK(c, c->input_list("grad_u", &u));
    const Tensor *grad_membrane;
    OP_REQUIRES_OK(c, c->input("grad_membrane", &grad_membrane));
    std::vector<LifRecord> record(layers());
    std::vector<const float *> grad_spikes(layers()), grad_u(layers());
    std::vector<int32_t> grad_slots(layers());
    std::vector<Tensor> sums(layers()); // of both ports
    for (int i = 0; i < layers(); ++i) {
      OP_REQUIRES(c,
                  bits[i].NumElements() ==
                      static_cast<int64_t>(lif_bits_words(network.steps, network.batch, &layer[i])),
                  errors::InvalidArgument("layer ", i + 1, ": the record has ",
                                          bits[i].NumElements(),
                                          " words of bits; it is another network's"));
      record[i] = {reinterpret_cast<const uint32_t *>(floats_of(bits[i])),
                   const_cast<float *>(floats_of(membranes[i])),
                   static_cast<size_t>(membranes[i].NumElements()),
                   // Nobody else holds them: neither another op nor a tape.
                   membranes[i].RefCountIsOne()};
      grad_spikes[i] = direct(c, ports[i], places, slots(i), "spikes", i);
      grad_slots[i] = slots(i);
      add_short(c, short_ports[i], places, i, &grad_spikes[i], &grad_slots[i], &sums[i]);
      if (!c->status().ok())
        return;
    }
    for (int i = 0; i < hidden(); ++i)
      grad_u[i] = direct(c, u[i], places, layer[i].neurons, "membranes", i);
    const float *readout =
        direct(c, *grad_membrane, places, layer.back().neurons, "membrane", hidden());
    if (!leaky())
      grad_u.back() = readout;
    if (!c->status().ok())
      return;
    bool any_u = false;
    for (const float *given : grad_u)
      any_u |= given != nullptr;
    std::vector<LifGradient> gradient(all());
    Tensor *grad_port;
    allocate_gradients(c, layer, &gradient);
    OP_REQUIRES_OK(c, c->allocate_output("grad_port", c->input(2).shape(), &grad_port));
    if (!c->status().ok())
      return;
    LifBackward backward{};
    backward.version = LIF_ABI_VERSION;
    backward.record = record.data();
    backward.grad_membrane = leaky() ? readout : nullptr;
    backward.grad_spikes = grad_spikes.data();
    backward.grad_slots = grad_slots.data();
    backward.grad_u = any_u ? grad_u.data() : nullptr;
    backward.gradient = gradient.data();
    backward.grad_inputs = grad_port->NumElements() ? floats_of(grad_port) : nullptr;
    char message[512];
    OP_REQUIRES_OK(c, status(lif_backward(&network, &backward, message, sizeof message), message));
  }

private:
  // A direct gradient of the loss. TensorFlow passes zero elements if there is none; NULL then.
  static const float *direct(OpKernelContext *c, const Tensor &tensor, TensorShape places,
                             int64_t size, const char *name, int layer) {
    if (tensor.NumElements() == 0)
      return nullptr;
    places.AddDim(size);
    if (tensor.shape() == places)
      return floats_of(tensor);
    c->CtxFailure(errors::InvalidArgument("the gradient by the ", name, " of layer ", layer + 1,
                                          " has shape ", tensor.shape().DebugString()));
    return nullptr;
  }

  // Adds the gradient of a short port to that of a port, if there is one of either.
  void add_short(OpKernelContext *c, const Tensor &tensor, const TensorShape &places, int layer,
                 const float **grad, int32_t *slots, Tensor *sum) const {
    if (tensor.NumElements() == 0)
      return;
    const int64_t rows = places.num_elements();
    const int64_t own = tensor.dims() == 3 ? tensor.dim_size(2) : 0;
    OP_REQUIRES(c, own >= 1 && own <= *slots && tensor.NumElements() == rows * own,
                errors::InvalidArgument("the gradient by the spikes of layer ", layer + 1,
                                        " has shape ", tensor.shape().DebugString()));
    const float *from = floats_of(tensor);
    if (!*grad) {
      *grad = from;
      *slots = static_cast<int32_t>(own);
      return;
    }
    TensorShape shape = places;
    shape.AddDim(*slots);
    OP_REQUIRES_OK(c, c->allocate_temp(tensorflow::DT_FLOAT, shape, sum));
    float *to = floats_of(sum);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < *slots; ++k) {
        const float direct = (*grad)[row * *slots + k];
        to[row * *slots + k] = k < own ? direct + from[row * own + k] : direct;
      }
    *grad = to;
  }

  void allocate_gradients(OpKernelContext *c, const std::vector<LifLayer> &layer,
                          std::vector<LifGradient> *gradient) const {
    OpOutputList weights;
    OP_REQUIRES_OK(c, c->output_list("grad_weights", &weights));
#define LIF_LIST(name)                                                                             \
  OpOutputList name;                                                                               \
  OP_REQUIRES_OK(c, c->output_list("grad_" #name, &name));
    LIF_GRADIENTS(LIF_LIST)
#undef LIF_LIST
    int matrix = 0;
    auto allocate = [c](OpOutputList *list, int index, const TensorShape &shape, float **to) {
      float *floats = kept_output(list, index, shape);
      OP_REQUIRES(c, floats || shape.num_elements() == 0,
                  errors::ResourceExhausted("out of memory"));
      *to = shape.num_elements() ? floats : nullptr;
    };
    auto weights_like = [&](float **to) {
      allocate(&weights, matrix, c->input(5 + matrix).shape(),
               to); // behind ids, counts, port, seed, filled
      ++matrix;
    };
    for (int i = 0; i < all(); ++i) {
      LifGradient &to = (*gradient)[i];
      weights_like(&to.weights);
      if (recurrent(i))
        weights_like(&to.recurrent);
      if (bias(i))
        weights_like(&to.bias);
      auto size = [&](bool wanted) { return TensorShape({wanted ? layer[i].neurons : 0}); };
#define LIF_ALLOCATE(name) allocate(&name, i, size(trains(#name) && layer[i].name), &to.name);
      LIF_GRADIENTS_OF_ALL(LIF_ALLOCATE)
      if (i >= layers())
        continue;
      LIF_GRADIENTS_OF_SPIKING(LIF_ALLOCATE)
#undef LIF_ALLOCATE
    }
  }

  // The scale depends on the decay.
  bool trains(const std::string &name) const {
    const std::string constant = name == "scale" ? "decay" : name;
    return std::find(trained_.begin(), trained_.end(), constant) != trained_.end();
  }

  std::vector<std::string> trained_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseLifGrad").Device(tensorflow::DEVICE_CPU), LifGradientOp);

} // namespace ipulse_lif

#endif
