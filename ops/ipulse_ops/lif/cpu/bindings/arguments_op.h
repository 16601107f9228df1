// The arguments that the forward op and the gradient op share.
#ifndef IPULSE_OPS_LIF_CPU_ARGUMENTS_OP_H
#define IPULSE_OPS_LIF_CPU_ARGUMENTS_OP_H

#include "interface/lif.h"
#include "shared_op.h"

#include <string>
#include <vector>

namespace ipulse_lif {

// "all" are the hidden layers and the readout, "layers" those of them that spike: without a leaky
// readout both are the same. [0] stands for a constant that a layer does not have.
// weights: in the order of ipulse_ops.lif.weights; recurrent and bias say which layers have them.
// port: the spikes in the slots of the input, of which only the gradient matters; [0] for none.
// filled: how many of them get one; [0] for as many as spiked.
#define LIF_INPUT_OF_ALL(name, optional) .Input(#name ": all * float")
#define LIF_INPUT_OF_SPIKING(name, optional) .Input(#name ": layers * float")
#define LIF_OP_ARGUMENTS                                                                           \
  Input("ids: Id")                                                                                 \
      .Input("counts: int32")                                                                      \
      .Input("port: float")                                                                        \
      .Input("seed: int64")                                                                        \
      .Input("filled: int32")                                                                      \
      .Input("weights: matrices * float") LIF_CONSTANTS_OF_ALL(LIF_INPUT_OF_ALL)                   \
          LIF_CONSTANTS_OF_SPIKING(LIF_INPUT_OF_SPIKING)                                           \
      .Attr("Id: {int32, uint16}")                                                                 \
      .Attr("matrices: int >= 1")                                                                  \
      .Attr("all: int >= 1")                                                                       \
      .Attr("layers: int >= 1")                                                                    \
      .Attr("recurrent: list(bool)")                                                               \
      .Attr("bias: list(bool)")                                                                    \
      .Attr("slots: list(int) >= 1")                                                               \
      .Attr("policy: list(int) >= 1")                                                              \
      .Attr("detach_adaptation: list(bool) >= 1")                                                  \
      .Attr("delay: list(int) >= 1")                                                               \
      .Attr("reset: int")                                                                          \
      .Attr("reset_on: int")                                                                       \
      .Attr("reset_gradient: int")                                                                 \
      .Attr("truncate: int >= 0")                                                                  \
      .Attr("surrogate: int")                                                                      \
      .Attr("slope: float")                                                                        \
      .Attr("width: float")                                                                        \
      .Attr("values: list(float)")                                                                 \
      .Attr("weight_type: int")                                                                    \
      .Attr("store: int")                                                                          \
      .Attr("threads: int")                                                                        \
      .Attr("arch: int")

class LifOp : public OpKernel {
public:
  explicit LifOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("all", &all_));
    OP_REQUIRES_OK(c, c->GetAttr("layers", &layers_));
    OP_REQUIRES_OK(c, c->GetAttr("recurrent", &recurrent_));
    OP_REQUIRES_OK(c, c->GetAttr("bias", &bias_));
    OP_REQUIRES_OK(c, c->GetAttr("slots", &slots_));
    OP_REQUIRES_OK(c, c->GetAttr("policy", &policy_));
    OP_REQUIRES_OK(c, c->GetAttr("detach_adaptation", &detach_adaptation_));
    OP_REQUIRES_OK(c, c->GetAttr("values", &values_));
    network_.version = LIF_ABI_VERSION;
    OP_REQUIRES_OK(c, c->GetAttr("delay", &delay_));
    OP_REQUIRES_OK(c, c->GetAttr("reset", &network_.reset));
    OP_REQUIRES_OK(c, c->GetAttr("reset_on", &network_.reset_on));
    OP_REQUIRES_OK(c, c->GetAttr("reset_gradient", &network_.reset_gradient));
    OP_REQUIRES_OK(c, c->GetAttr("truncate", &network_.truncate));
    OP_REQUIRES_OK(c, c->GetAttr("weight_type", &network_.weights));
    OP_REQUIRES_OK(c, c->GetAttr("store", &network_.store));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &network_.threads));
    OP_REQUIRES_OK(c, c->GetAttr("surrogate", &network_.surrogate.kind));
    OP_REQUIRES_OK(c, c->GetAttr("slope", &network_.surrogate.slope));
    OP_REQUIRES_OK(c, c->GetAttr("width", &network_.surrogate.width));
    int arch;
    OP_REQUIRES_OK(c, c->GetAttr("arch", &arch));
    network_.arch = static_cast<uint64_t>(arch);
    network_.layers = layers_;
    network_.leaky_readout = all_ - layers_;
    network_.surrogate.size = static_cast<int32_t>(values_.size());
    network_.surrogate.values = values_.data();
    int matrices;
    OP_REQUIRES_OK(c, c->GetAttr("matrices", &matrices));
    auto expected = static_cast<size_t>(all_), spiking = static_cast<size_t>(layers_);
    int needed = all_;
    for (bool has : recurrent_)
      needed += has;
    for (bool has : bias_)
      needed += has;
    OP_REQUIRES(c,
                (all_ == layers_ || all_ == layers_ + 1) && recurrent_.size() == expected &&
                    bias_.size() == expected && delay_.size() == expected &&
                    slots_.size() == spiking && policy_.size() == spiking &&
                    detach_adaptation_.size() == spiking && matrices == needed,
                errors::InvalidArgument("the attributes describe no network: ", all_, " layers, ",
                                        layers_, " that spike, ", slots_.size(), " slots, ",
                                        matrices, " weights instead of ", needed));
  }

protected:
  // Reads the op's inputs; an error is left in the context.
  void read(OpKernelContext *c, LifNetwork *network, std::vector<LifLayer> *layers) const {
    const Tensor &ids = c->input(0), &counts = c->input(1), &port = c->input(2),
                 &seed = c->input(3), &filled = c->input(4);
    OP_REQUIRES_OK(c, check_spikes(ids, counts, port, filled));
    OP_REQUIRES(c, seed.NumElements() == 1, errors::InvalidArgument("seed must be a scalar"));
    OpInputList weights;
    OP_REQUIRES_OK(c, c->input_list("weights", &weights));
#define LIF_READ(name, optional)                                                                   \
  OpInputList name;                                                                                \
  OP_REQUIRES_OK(c, c->input_list(#name, &name));
    LIF_CONSTANTS_OF_ALL(LIF_READ)
    LIF_CONSTANTS_OF_SPIKING(LIF_READ)
#undef LIF_READ
    layers->assign(all_, LifLayer{});
    int matrix = 0;
    int64_t rows = 0;
    for (int i = 0; i < all_; ++i) {
      const Tensor &input = weights[matrix];
      OP_REQUIRES(c, input.dims() == 2 && (i == 0 || input.dim_size(0) == rows),
                  errors::InvalidArgument("weights[", matrix, "] must have ",
                                          i ? std::to_string(rows) +
                                                  " rows, the neurons of the layer before"
                                            : "shape [inputs, neurons]",
                                          "; got shape ", input.shape().DebugString()));
      const int64_t neurons = input.dim_size(1);
      LifLayer &layer = (*layers)[i];
      layer.neurons = static_cast<int32_t>(neurons);
      layer.delay = delay_[i];
      layer.weights = floats_of(weights[matrix++]);
      rows = neurons;
      if (recurrent_[i]) {
        OP_REQUIRES(c, weights[matrix].shape() == TensorShape({neurons, neurons}),
                    errors::InvalidArgument("weights[", matrix, "] must have shape [", neurons, ",",
                                            neurons, "], from neurons to neurons; got shape ",
                                            weights[matrix].shape().DebugString()));
        layer.recurrent = floats_of(weights[matrix++]);
      }
      if (bias_[i]) {
        OP_REQUIRES(c, weights[matrix].shape() == TensorShape({neurons}),
                    errors::InvalidArgument("weights[", matrix, "] must have shape [", neurons,
                                            "], a bias; got shape ",
                                            weights[matrix].shape().DebugString()));
        layer.bias = floats_of(weights[matrix++]);
      }
      const bool spikes = i < layers_;
      bool fit = true;
      auto take = [i, neurons, &fit](const OpInputList &list, bool optional, const float **to) {
        const int64_t count = list[i].NumElements();
        fit &= count == neurons || (optional && count == 0);
        *to = count ? floats_of(list[i]) : nullptr;
      };
#define LIF_TAKE(name, optional) take(name, optional, &layer.name);
      LIF_CONSTANTS_OF_ALL(LIF_TAKE)
      if (spikes) {
        LIF_CONSTANTS_OF_SPIKING(LIF_TAKE)
      }
#undef LIF_TAKE
      OP_REQUIRES(c, fit,
                  errors::InvalidArgument("layer ", i + 1, ": constants must have ", neurons,
                                          " elements, one per neuron"));
      OP_REQUIRES(c, neurons >= 1, errors::InvalidArgument("layer ", i + 1, " has no neurons"));
      if (!spikes)
        continue;
      layer.slots = slots_[i];
      layer.policy = policy_[i];
      layer.detach_adaptation = detach_adaptation_[i];
      OP_REQUIRES(c, slots_[i] >= 1 && slots_[i] <= neurons,
                  errors::InvalidArgument("layer ", i + 1, ": slots must be 1 to ", neurons,
                                          "; got ", slots_[i]));
    }
    *network = network_;
    network->steps = static_cast<int32_t>(ids.dim_size(0));
    network->batch = static_cast<int32_t>(ids.dim_size(1));
    network->inputs = static_cast<int32_t>(weights[0].dim_size(0));
    network->input_slots = static_cast<int32_t>(ids.dim_size(2));
    network->seed = static_cast<uint64_t>(seed.flat<tensorflow::int64>()(0));
    network->id_bytes = ids.dtype() == tensorflow::DT_UINT16 ? 2 : 4;
    network->ids = ids.data();
    network->counts = counts.flat<int>().data();
    network->filled = filled.dims() == 2 ? filled.flat<int>().data() : nullptr;
    network->layer = layers->data();
  }

  int layers() const { return layers_; }
  int all() const { return all_; }
  int hidden() const { return all_ - 1; }
  bool leaky() const { return all_ > layers_; }
  int slots(int layer) const { return slots_[layer]; }
  bool recurrent(int layer) const { return recurrent_[layer]; }
  bool bias(int layer) const { return bias_[layer]; }
  const LifNetwork &attributes() const { return network_; }

private:
  int all_, layers_;
  std::vector<bool> recurrent_, bias_, detach_adaptation_;
  std::vector<int> slots_, policy_, delay_;
  std::vector<float> values_;
  LifNetwork network_{}; // its attributes; what depends on the inputs is empty
};

} // namespace ipulse_lif

#endif
