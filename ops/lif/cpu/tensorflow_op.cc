// The kernels as TensorFlow ops. Every output is float32: TensorFlow gives integer outputs no
// gradient, and a loop that differentiates them meets None. What the backward pass reads travels
// as the bits of floats; no arithmetic ever touches it.
#include "lif.h"

// Words that TensorFlow 2.6 needs are deprecated in later releases.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using tensorflow::Allocator;
using tensorflow::OpInputList;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::OpOutputList;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;
namespace errors = tensorflow::errors;

// TensorFlow's name for it moves between releases.
using Status = decltype(std::declval<InferenceContext &>().WithRank({}, 0, nullptr));

Status spikes_shape(InferenceContext *c, DimensionHandle *steps, DimensionHandle *batch) {
  ShapeHandle ids, counts, leading;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &ids));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &counts));
  TF_RETURN_IF_ERROR(c->Subshape(ids, 0, 2, &leading));
  TF_RETURN_IF_ERROR(c->Merge(leading, counts, &leading));
  *steps = c->Dim(leading, 0);
  *batch = c->Dim(leading, 1);
  return Status();
}

Status forward_shape(InferenceContext *c) {
  DimensionHandle steps, batch;
  TF_RETURN_IF_ERROR(spikes_shape(c, &steps, &batch));
  std::vector<ShapeHandle> weights;
  TF_RETURN_IF_ERROR(c->input("weights", &weights));
  DimensionHandle classes = c->UnknownDim();
  for (size_t i = 0; i < weights.size(); ++i) {
    ShapeHandle matrix;
    TF_RETURN_IF_ERROR(c->WithRank(weights[i], 2, &matrix));
    classes = c->Dim(matrix, 1);
  }
  int layers = static_cast<int>(weights.size()) - 1;
  int output = 0;
  c->set_output(output++, c->MakeShape({steps, batch, classes}));
  for (int i = 0; i < layers; ++i)
    c->set_output(output++, c->MakeShape({steps, batch, c->MakeDim(2)}));
  for (int i = 0; i < layers; ++i)
    c->set_output(output++, c->MakeShape({steps, batch}));
  for (int i = 0; i < 2 * layers; ++i)
    c->set_output(output++, c->UnknownShapeOfRank(1));
  for (int i = 0; i < layers; ++i)
    c->set_output(output++, c->UnknownShapeOfRank(3));
  return Status();
}

Status backward_shape(InferenceContext *c) {
  std::vector<ShapeHandle> weights;
  TF_RETURN_IF_ERROR(c->input("weights", &weights));
  for (size_t i = 0; i < weights.size(); ++i)
    c->set_output(static_cast<int>(i), weights[i]);
  return Status();
}

Status slots_shape(InferenceContext *c) {
  ShapeHandle counts;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 3, &counts));
  int slots;
  TF_RETURN_IF_ERROR(c->GetAttr("slots", &slots));
  c->set_output(0, c->MakeShape({c->Dim(counts, 0), c->Dim(counts, 1), c->MakeDim(slots)}));
  return Status();
}

// weights, decay and scale: layers, then the readout. second_threshold: [0] where there is none.
#define LIF_OP_ARGUMENTS                                                                           \
  Input("ids: int32")                                                                              \
      .Input("counts: int32")                                                                      \
      .Input("weights: all * float")                                                               \
      .Input("decay: all * float")                                                                 \
      .Input("scale: all * float")                                                                 \
      .Input("threshold: layers * float")                                                          \
      .Input("second_threshold: layers * float")                                                   \
      .Attr("all: int >= 2")                                                                       \
      .Attr("layers: int >= 1")                                                                    \
      .Attr("slots: list(int) >= 1")                                                               \
      .Attr("delay: int")                                                                          \
      .Attr("reset_gradient: int")                                                                 \
      .Attr("slope: float")                                                                        \
      .Attr("threads: int")                                                                        \
      .Attr("arch: int")

// A port is a way in for the gradient by a layer's spikes: its value is [0, 0, 0], its gradient
// [time, batch, slots], or [0, 0, 0] where the loss does not look at the spikes.
REGISTER_OP("IpulseLif")
    .LIF_OP_ARGUMENTS.Attr("keep: bool")
    .Output("membrane: float")
    .Output("spike_counts: layers * float")
    .Output("dropped: layers * float")
    .Output("bits: layers * float")
    .Output("membranes: layers * float")
    .Output("ports: layers * float")
    .SetShapeFn(forward_shape);

REGISTER_OP("IpulseLifGrad")
    .LIF_OP_ARGUMENTS.Input("bits: layers * float")
    .Input("membranes: layers * float")
    .Input("grad_membrane: float")
    .Input("grad_ports: layers * float")
    .Output("grad_weights: all * float")
    .SetShapeFn(backward_shape);

REGISTER_OP("IpulseLifSlots")
    .Input("port: float")
    .Input("bits: float")
    .Input("spike_counts: float")
    .Attr("neurons: int >= 1")
    .Attr("slots: int >= 1")
    .Attr("gated: bool")
    .Attr("threads: int")
    .Output("spike_ids: float")
    .SetShapeFn(slots_shape);

// Tensors whose pages stay mapped when they are freed.
class KeepingAllocator : public Allocator {
public:
  std::string Name() override { return "ipulse"; }
  void *AllocateRaw(size_t, size_t bytes) override {
    char *memory = static_cast<char *>(lif_memory_take(bytes + HEADER));
    if (!memory)
      return nullptr;
    memcpy(memory, &bytes, sizeof bytes);
    return memory + HEADER;
  }
  void DeallocateRaw(void *pointer) override {
    char *memory = static_cast<char *>(pointer) - HEADER;
    size_t bytes;
    memcpy(&bytes, memory, sizeof bytes);
    lif_memory_give(memory, bytes + HEADER);
  }

private:
  static constexpr size_t HEADER = 64; // keeps the alignment
};

Allocator *keeping_allocator() {
  // Never destroyed: tensors may outlive this library's static objects.
  static Allocator *allocator = new KeepingAllocator;
  return allocator;
}

float *floats_of(Tensor *tensor) { return tensor->flat<float>().data(); }
const float *floats_of(const Tensor &tensor) { return tensor.flat<float>().data(); }

Status status(int code, const char *message) {
  if (code == LIF_OK)
    return Status();
  if (code == LIF_OUT_OF_MEMORY)
    return errors::ResourceExhausted(message);
  return errors::InvalidArgument(message);
}

class LifOp : public OpKernel {
public:
  explicit LifOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("all", &all_));
    OP_REQUIRES_OK(c, c->GetAttr("layers", &layers_));
    OP_REQUIRES_OK(c, c->GetAttr("slots", &slots_));
    OP_REQUIRES_OK(c, c->GetAttr("delay", &delay_));
    OP_REQUIRES_OK(c, c->GetAttr("reset_gradient", &reset_gradient_));
    OP_REQUIRES_OK(c, c->GetAttr("slope", &slope_));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &threads_));
    OP_REQUIRES_OK(c, c->GetAttr("arch", &arch_));
    OP_REQUIRES(c, all_ == layers_ + 1 && static_cast<int>(slots_.size()) == layers_,
                errors::InvalidArgument("expected one slots per layer and one weights more than "
                                        "layers; got ",
                                        slots_.size(), " slots, ", all_, " weights and ", layers_,
                                        " layers"));
  }

protected:
  // Reads the op's inputs; an error is left in the context.
  void read(OpKernelContext *c, LifNetwork *network, std::vector<LifLayer> *layers) const {
    const Tensor &ids = c->input(0), &counts = c->input(1);
    OP_REQUIRES(c,
                ids.dims() == 3 && counts.dims() == 2 && counts.dim_size(0) == ids.dim_size(0) &&
                    counts.dim_size(1) == ids.dim_size(1),
                errors::InvalidArgument("ids must be [time, batch, slots] and counts [time, "
                                        "batch]; got shapes ",
                                        ids.shape().DebugString(), " and ",
                                        counts.shape().DebugString()));
    OpInputList weights, decay, scale, threshold, second;
    OP_REQUIRES_OK(c, c->input_list("weights", &weights));
    OP_REQUIRES_OK(c, c->input_list("decay", &decay));
    OP_REQUIRES_OK(c, c->input_list("scale", &scale));
    OP_REQUIRES_OK(c, c->input_list("threshold", &threshold));
    OP_REQUIRES_OK(c, c->input_list("second_threshold", &second));
    layers->resize(all_);
    for (int i = 0; i < all_; ++i) {
      OP_REQUIRES(c, weights[i].dims() == 2,
                  errors::InvalidArgument("weights[", i, "] must be [inputs, neurons]; got shape ",
                                          weights[i].shape().DebugString()));
      int64_t neurons = weights[i].dim_size(1);
      OP_REQUIRES(c, i == 0 || weights[i].dim_size(0) == weights[i - 1].dim_size(1),
                  errors::InvalidArgument("weights[", i, "] must have ",
                                          weights[i ? i - 1 : 0].dim_size(1),
                                          " rows, the neurons of the layer before; got shape ",
                                          weights[i].shape().DebugString()));
      bool readout = i == layers_;
      int64_t seconds = readout ? 0 : second[i].NumElements();
      OP_REQUIRES(c,
                  decay[i].NumElements() == neurons && scale[i].NumElements() == neurons &&
                      (readout || threshold[i].NumElements() == neurons) &&
                      (seconds == 0 || seconds == neurons),
                  errors::InvalidArgument("layer ", i, ": constants must have ", neurons,
                                          " elements, one per neuron"));
      LifLayer &layer = (*layers)[i] = {};
      layer.neurons = static_cast<int32_t>(neurons);
      layer.slots = readout ? 0 : slots_[i];
      layer.decay = floats_of(decay[i]);
      layer.scale = floats_of(scale[i]);
      layer.threshold = readout ? nullptr : floats_of(threshold[i]);
      layer.second_threshold = seconds ? floats_of(second[i]) : nullptr;
      layer.weights = floats_of(weights[i]);
      OP_REQUIRES(c, neurons >= 1, errors::InvalidArgument("layer ", i, " has no neurons"));
      OP_REQUIRES(c, readout || (slots_[i] >= 1 && slots_[i] <= neurons),
                  errors::InvalidArgument("layer ", i, ": slots must be 1 to ", neurons, "; got ",
                                          slots_[i]));
    }
    *network = {};
    network->version = LIF_ABI_VERSION;
    network->steps = static_cast<int32_t>(ids.dim_size(0));
    network->batch = static_cast<int32_t>(ids.dim_size(1));
    network->inputs = static_cast<int32_t>(weights[0].dim_size(0));
    network->input_slots = static_cast<int32_t>(ids.dim_size(2));
    network->layers = layers_;
    network->leaky_readout = 1;
    network->delay = delay_;
    network->reset_gradient = reset_gradient_;
    network->store = LIF_STORE_MEMBRANES;
    network->surrogate.kind = LIF_SUPERSPIKE;
    network->surrogate.slope = slope_;
    network->threads = threads_;
    network->arch = static_cast<uint64_t>(arch_);
    network->id_bytes = 4;
    network->ids = ids.flat<int>().data();
    network->counts = counts.flat<int>().data();
    network->layer = layers->data();
  }

  int layers() const { return layers_; }
  int all() const { return all_; }
  int slots(int layer) const { return slots_[layer]; }

private:
  int all_, layers_, delay_, reset_gradient_, threads_, arch_;
  float slope_;
  std::vector<int> slots_;
};

class LifForwardOp : public LifOp {
public:
  explicit LifForwardOp(OpKernelConstruction *c) : LifOp(c) {
    OP_REQUIRES_OK(c, c->GetAttr("keep", &keep_));
  }

  void Compute(OpKernelContext *c) override {
    LifNetwork network;
    std::vector<LifLayer> layer;
    read(c, &network, &layer);
    if (!c->status().ok())
      return;
    Tensor *membrane;
    TensorShape places({network.steps, network.batch});
    TensorShape shape = places;
    shape.AddDim(layer.back().neurons);
    OP_REQUIRES_OK(c, c->allocate_output("membrane", shape, &membrane));
    OpOutputList counts_list, dropped_list, bits_list, membranes_list, ports;
    OP_REQUIRES_OK(c, c->output_list("spike_counts", &counts_list));
    OP_REQUIRES_OK(c, c->output_list("dropped", &dropped_list));
    OP_REQUIRES_OK(c, c->output_list("bits", &bits_list));
    OP_REQUIRES_OK(c, c->output_list("membranes", &membranes_list));
    OP_REQUIRES_OK(c, c->output_list("ports", &ports));
    std::vector<float *> counts, dropped;
    std::vector<uint32_t *> bits;
    for (int i = 0; i < layers(); ++i) {
      Tensor *tensor;
      TensorShape pair = places;
      pair.AddDim(2);
      OP_REQUIRES_OK(c, counts_list.allocate(i, pair, &tensor));
      counts.push_back(floats_of(tensor));
      OP_REQUIRES_OK(c, dropped_list.allocate(i, places, &tensor));
      dropped.push_back(floats_of(tensor));
      auto words = static_cast<int64_t>(lif_bits_words(network.steps, network.batch, &layer[i]));
      OP_REQUIRES_OK(c, bits_list.allocate(i, TensorShape({words}), &tensor));
      bits.push_back(reinterpret_cast<uint32_t *>(floats_of(tensor)));
      OP_REQUIRES_OK(c, ports.allocate(i, TensorShape({0, 0, 0}), &tensor));
      if (!keep_)
        OP_REQUIRES_OK(c, membranes_list.allocate(i, TensorShape({0}), &tensor));
    }
    network.store = keep_ ? LIF_STORE_MEMBRANES : LIF_STORE_NOTHING;
    LifForward result{};
    result.version = LIF_ABI_VERSION;
    result.membrane = floats_of(membrane);
    result.bits = bits.data();
    result.counts = counts.data();
    result.dropped = dropped.data();
    result.context = &membranes_list;
    result.allocate = allocate;
    char message[512];
    OP_REQUIRES_OK(c, status(lif_forward(&network, &result, message, sizeof message), message));
  }

private:
  static float *allocate(void *context, int32_t layer, size_t floats) {
    Tensor tensor(keeping_allocator(), tensorflow::DT_FLOAT,
                  TensorShape({static_cast<int64_t>(floats)}));
    if (!tensor.IsInitialized() && floats)
      return nullptr;
    static_cast<OpOutputList *>(context)->set(layer, tensor);
    return floats_of(&tensor);
  }

  bool keep_;
};

class LifBackwardOp : public LifOp {
public:
  using LifOp::LifOp;

  void Compute(OpKernelContext *c) override {
    LifNetwork network;
    std::vector<LifLayer> layer;
    read(c, &network, &layer);
    if (!c->status().ok())
      return;
    OpInputList bits, membranes, ports;
    OP_REQUIRES_OK(c, c->input_list("bits", &bits));
    OP_REQUIRES_OK(c, c->input_list("membranes", &membranes));
    OP_REQUIRES_OK(c, c->input_list("grad_ports", &ports));
    const Tensor *grad_membrane;
    OP_REQUIRES_OK(c, c->input("grad_membrane", &grad_membrane));
    OP_REQUIRES(c,
                grad_membrane->shape() ==
                    TensorShape({network.steps, network.batch, layer.back().neurons}),
                errors::InvalidArgument("the gradient by the membrane has shape ",
                                        grad_membrane->shape().DebugString()));
    std::vector<LifRecord> record(layers());
    std::vector<const float *> grad_spikes(layers());
    for (int i = 0; i < layers(); ++i) {
      OP_REQUIRES(c,
                  bits[i].NumElements() ==
                      static_cast<int64_t>(lif_bits_words(network.steps, network.batch, &layer[i])),
                  errors::InvalidArgument("layer ", i, ": the record has ", bits[i].NumElements(),
                                          " words of bits; it is another network's"));
      record[i] = {reinterpret_cast<const uint32_t *>(floats_of(bits[i])), floats_of(membranes[i]),
                   static_cast<size_t>(membranes[i].NumElements())};
      bool empty = ports[i].NumElements() == 0;
      OP_REQUIRES(
          c, empty || ports[i].shape() == TensorShape({network.steps, network.batch, slots(i)}),
          errors::InvalidArgument("the gradient by the spikes of layer ", i, " has shape ",
                                  ports[i].shape().DebugString()));
      grad_spikes[i] = empty ? nullptr : floats_of(ports[i]);
    }
    OpOutputList grad_list;
    OP_REQUIRES_OK(c, c->output_list("grad_weights", &grad_list));
    std::vector<LifGradient> grads(all());
    for (int i = 0; i < all(); ++i) {
      Tensor *tensor;
      OP_REQUIRES_OK(c, grad_list.allocate(i, c->input(2 + i).shape(), &tensor));
      grads[i].weights = floats_of(tensor);
    }
    LifBackward gradient{};
    gradient.version = LIF_ABI_VERSION;
    gradient.record = record.data();
    gradient.grad_membrane = floats_of(*grad_membrane);
    gradient.grad_spikes = grad_spikes.data();
    gradient.gradient = grads.data();
    char message[512];
    OP_REQUIRES_OK(c, status(lif_backward(&network, &gradient, message, sizeof message), message));
  }
};

class LifSlotsOp : public OpKernel {
public:
  explicit LifSlotsOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("neurons", &neurons_));
    OP_REQUIRES_OK(c, c->GetAttr("slots", &slots_));
    OP_REQUIRES_OK(c, c->GetAttr("gated", &gated_));
    OP_REQUIRES_OK(c, c->GetAttr("threads", &threads_));
  }

  void Compute(OpKernelContext *c) override {
    const Tensor &bits = c->input(1), &counts = c->input(2);
    OP_REQUIRES(c, counts.dims() == 3,
                errors::InvalidArgument("spike_counts must be [time, batch, 2]; got shape ",
                                        counts.shape().DebugString()));
    OP_REQUIRES(c, slots_ <= neurons_,
                errors::InvalidArgument("slots must be 1 to ", neurons_, "; got ", slots_));
    LifLayer layer{};
    layer.neurons = neurons_;
    layer.slots = slots_;
    float unread = 0;
    layer.second_threshold = gated_ ? &unread : nullptr; // only whether there is one is looked at
    auto steps = static_cast<int32_t>(counts.dim_size(0));
    auto batch = static_cast<int32_t>(counts.dim_size(1));
    OP_REQUIRES(c, bits.NumElements() == static_cast<int64_t>(lif_bits_words(steps, batch, &layer)),
                errors::InvalidArgument("the record has ", bits.NumElements(),
                                        " words of bits; it is another network's"));
    Tensor *ids;
    OP_REQUIRES_OK(c, c->allocate_output(0, TensorShape({steps, batch, slots_}), &ids));
    char message[512];
    const auto *words = reinterpret_cast<const uint32_t *>(floats_of(bits));
    OP_REQUIRES_OK(c, status(lif_slots(steps, batch, &layer, words, threads_, floats_of(ids),
                                       message, sizeof message),
                             message));
  }

private:
  int neurons_, slots_, threads_;
  bool gated_;
};

REGISTER_KERNEL_BUILDER(Name("IpulseLif").Device(tensorflow::DEVICE_CPU), LifForwardOp);
REGISTER_KERNEL_BUILDER(Name("IpulseLifGrad").Device(tensorflow::DEVICE_CPU), LifBackwardOp);
REGISTER_KERNEL_BUILDER(Name("IpulseLifSlots").Device(tensorflow::DEVICE_CPU), LifSlotsOp);

} // namespace
