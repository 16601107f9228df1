// lif_forward as a TensorFlow op.
#ifndef IPULSE_OPS_LIF_CPU_FORWARD_OP_H
#define IPULSE_OPS_LIF_CPU_FORWARD_OP_H

#include <atomic>

#include "arguments_op.h"
#include "kept_tensor_op.h"

namespace ipulse_lif {

inline Status forward_shape(InferenceContext *c) {
  ShapeHandle ids, counts, leading;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &counts));
  TF_RETURN_IF_ERROR(c->Subshape(ids, 0, 2, &leading));
  TF_RETURN_IF_ERROR(c->Merge(leading, counts, &leading));
  const DimensionHandle steps = c->Dim(leading, 0), batch = c->Dim(leading, 1);
  std::vector<ShapeHandle> weights;
  TF_RETURN_IF_ERROR(c->input("weights", &weights));
  std::vector<bool> recurrent, bias;
  int layers;
  bool membranes;
  TF_RETURN_IF_ERROR(c->GetAttr("recurrent", &recurrent));
  TF_RETURN_IF_ERROR(c->GetAttr("bias", &bias));
  TF_RETURN_IF_ERROR(c->GetAttr("layers", &layers));
  TF_RETURN_IF_ERROR(c->GetAttr("return_membranes", &membranes));
  std::vector<DimensionHandle> neurons;
  size_t matrix = 0;
  for (size_t i = 0; i < recurrent.size() && i < bias.size() && matrix < weights.size(); ++i) {
    ShapeHandle shape;
    TF_RETURN_IF_ERROR(c->WithRank(weights[matrix], 2, &shape));
    neurons.push_back(c->Dim(shape, 1));
    matrix += 1 + recurrent[i] + bias[i];
  }
  if (neurons.empty())
    neurons.push_back(c->UnknownDim());
  int output = 0;
  bool reads_out;
  TF_RETURN_IF_ERROR(c->GetAttr("reads_out", &reads_out));
  c->set_output(output++, reads_out ? c->MakeShape({steps, batch, neurons.back()})
                                    : c->MakeShape({c->MakeDim(0)}));
  for (int i = 0; i < layers; ++i)
    c->set_output(output++, c->MakeShape({steps, batch, c->MakeDim(2)}));
  for (int i = 0; i < layers; ++i)
    c->set_output(output++, c->MakeShape({steps, batch}));
  for (int i = 0; i < 2 * layers; ++i)
    c->set_output(output++, c->UnknownShapeOfRank(1));
  for (int i = 0; i < 2 * layers; ++i)
    c->set_output(output++, c->UnknownShapeOfRank(3));
  for (size_t i = 0; i + 1 < neurons.size(); ++i)
    c->set_output(output++, membranes ? c->MakeShape({steps, batch, neurons[i]})
                                      : c->MakeShape({c->MakeDim(0)}));
  return Status();
}

// A port receives the gradient of a layer's spikes: its value is [0, 0, 0], its gradient [time,
// batch, slots], or [0, 0, 0] if the loss does not depend on the spikes. That of a short port has
// only as many slots as are filled. Both are added.
// trained: the constants to compute gradients of. u: membranes of the hidden layers, or [0].
REGISTER_OP("IpulseLif")
    .LIF_OP_ARGUMENTS.Attr("hidden: int >= 0")
    .Attr("return_membranes: bool")
    .Attr("reads_out: bool") // false: the membrane is [0]; not of a leaky readout
    .Attr("trained: list(string)")
    .Output("membrane: float")
    .Output("spike_counts: layers * float")
    .Output("dropped: layers * float")
    .Output("bits: layers * float")
    .Output("membranes: layers * float")
    .Output("ports: layers * float")
    .Output("short_ports: layers * float")
    .Output("u: hidden * float")
    .SetShapeFn(forward_shape);

class LifForwardOp : public LifOp {
public:
  explicit LifForwardOp(OpKernelConstruction *c) : LifOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("return_membranes", &return_membranes_));
    OP_REQUIRES_OK(c, c->GetAttr("reads_out", &reads_out_));
    OP_REQUIRES(c, reads_out_ || !leaky(),
                errors::InvalidArgument("a leaky readout has nothing but its membrane"));
    int attribute;
    OP_REQUIRES_OK(c, c->GetAttr("hidden", &attribute));
    OP_REQUIRES(c, attribute == hidden(),
                errors::InvalidArgument("hidden must be ", hidden(), "; got ", attribute));
    OP_REQUIRES_OK(c, c->GetAttr("matrices", &attribute));
    places_ = std::vector<Place>(attribute);
  }

  void Compute(OpKernelContext *c) override {
    LifNetwork network;
    std::vector<LifLayer> layer;
    read(c, &network, &layer);
    settle_weights(c);
    if (!c->status().ok())
      return;
    const TensorShape places({network.steps, network.batch});
    auto of_each = [&places](int64_t size) {
      TensorShape shape = places;
      shape.AddDim(size);
      return shape;
    };
    Tensor *tensor;
    TensorShape read = reads_out_ ? of_each(layer.back().neurons) : TensorShape({0});
    OP_REQUIRES_OK(c, c->allocate_output("membrane", read, &tensor));
    float *membrane = floats_of(tensor);
    OpOutputList counts_list, dropped_list, bits_list, membranes_list, ports, short_ports, u_list;
    OP_REQUIRES_OK(c, c->output_list("spike_counts", &counts_list));
    OP_REQUIRES_OK(c, c->output_list("dropped", &dropped_list));
    OP_REQUIRES_OK(c, c->output_list("bits", &bits_list));
    OP_REQUIRES_OK(c, c->output_list("membranes", &membranes_list));
    OP_REQUIRES_OK(c, c->output_list("ports", &ports));
    OP_REQUIRES_OK(c, c->output_list("short_ports", &short_ports));
    OP_REQUIRES_OK(c, c->output_list("u", &u_list));
    std::vector<float *> counts, dropped, u(layers());
    std::vector<uint32_t *> bits;
    for (int i = 0; i < layers(); ++i) {
      OP_REQUIRES_OK(c, counts_list.allocate(i, of_each(2), &tensor));
      counts.push_back(floats_of(tensor));
      OP_REQUIRES_OK(c, dropped_list.allocate(i, places, &tensor));
      dropped.push_back(floats_of(tensor));
      auto words = static_cast<int64_t>(lif_bits_words(network.steps, network.batch, &layer[i]));
      OP_REQUIRES_OK(c, bits_list.allocate(i, TensorShape({words}), &tensor));
      bits.push_back(reinterpret_cast<uint32_t *>(floats_of(tensor)));
      OP_REQUIRES_OK(c, ports.allocate(i, TensorShape({0, 0, 0}), &tensor));
      OP_REQUIRES_OK(c, short_ports.allocate(i, TensorShape({0, 0, 0}), &tensor));
      if (network.store != LIF_STORE_MEMBRANES)
        OP_REQUIRES_OK(c, membranes_list.allocate(i, TensorShape({0}), &tensor));
    }
    for (int i = 0; i < hidden(); ++i) {
      TensorShape shape = return_membranes_ ? of_each(layer[i].neurons) : TensorShape({0});
      OP_REQUIRES_OK(c, u_list.allocate(i, shape, &tensor));
      u[i] = return_membranes_ ? floats_of(tensor) : nullptr;
    }
    bool reads_spiking = reads_out_ && !leaky();
    if (reads_spiking)
      u.back() = membrane;
    LifForward result{};
    result.version = LIF_ABI_VERSION;
    result.membrane = leaky() ? membrane : nullptr;
    result.bits = bits.data();
    result.counts = counts.data();
    result.dropped = dropped.data();
    result.u = return_membranes_ || reads_spiking ? u.data() : nullptr;
    result.context = &membranes_list;
    result.allocate = allocate;
    char message[512];
    OP_REQUIRES_OK(c, status(lif_forward(&network, &result, message, sizeof message), message));
  }

private:
  struct Place { // of a matrix in the call before
    std::atomic<const float *> weights{nullptr};
    std::atomic<bool> settled{false};
  };

  // Moves large weights into huge pages when they have the same address in two calls: packing reads
  // a few weights of each row, and with small pages misses the TLB at each.
  void settle_weights(OpKernelContext *c) {
    OpInputList weights;
    OP_REQUIRES_OK(c, c->input_list("weights", &weights));
    for (size_t i = 0; i < places_.size(); ++i) {
      const float *now = floats_of(weights[i]);
      if (places_[i].weights.exchange(now) != now)
        places_[i].settled = false;
      else if (!places_[i].settled.exchange(true))
        lif_memory_settle(now, sizeof(float) * weights[i].NumElements());
    }
  }

  static float *allocate(void *context, int32_t layer, size_t floats) {
    TensorShape shape({static_cast<int64_t>(floats)});
    return kept_output(static_cast<OpOutputList *>(context), layer, shape);
  }

  bool return_membranes_, reads_out_;
  std::vector<Place> places_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseLif").Device(tensorflow::DEVICE_CPU), LifForwardOp);

} // namespace ipulse_lif

#endif
