// The smaller ops, each with its gradient: `op_name` is SparseToDense, DenseToSparse, SelectSpikes
// or SpikeMatmul. docs/poplar_op.md lists their inputs, outputs and attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "backward.h"
#include "exported_op.h"
#include "forward.h"
#include "rows.h"
#include "selection.h"
#include "words.h"

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

using Tensors = std::vector<Tensor>;

void checkNumber(const char *op, const Tensors &inputs, std::size_t wanted, const char *names) {
  if (inputs.size() != wanted)
    throw poputil::poplibs_error(std::string(op) + " takes " + std::to_string(wanted) +
                                 " inputs (" + names + "); got " + std::to_string(inputs.size()));
}

/// ids [time, batch, slots] and counts [time, batch] or [time, batch, 2], by rows.
struct SlotRows {
  SlotRows(const Tensor &ids, const Tensor &counts) {
    if (ids.rank() != 3 || counts.rank() < 2 || counts.rank() > 3 || counts.dim(0) != ids.dim(0) ||
        counts.dim(1) != ids.dim(1) || (counts.rank() == 3 && counts.dim(2) != 2) ||
        ids.elementType() != counts.elementType())
      throw poputil::poplibs_error("ids must be [time, batch, slots] and counts [time, batch] or "
                                   "[time, batch, 2], of one type; got " +
                                   ids.shapeToString() + " and " + counts.shapeToString());
    this->ids = ids.flatten(0, 2);
    this->counts = counts.rank() == 2 ? counts.flatten().expand({1}) : counts.flatten(0, 2);
    slots = static_cast<unsigned>(ids.dim(2));
    countWidth = static_cast<unsigned>(this->counts.dim(1));
  }
  Tensor ids, counts; // [rows, slots], [rows, 1 or 2]
  unsigned slots, countWidth;
  std::size_t rows() const { return ids.dim(0); }
};

void needFloat(const char *op, const Tensor &t) {
  if (t.elementType() != FLOAT)
    throw poputil::poplibs_error(std::string(op) +
                                 ": a gradient has the type of its input, which "
                                 "must be float; got " +
                                 t.elementType().toString());
}

unsigned neuronsOf(const std::string &attributes) {
  return lif::Words(attributes, "ipulse-sparse-to-dense/1", {"neurons"}).whole("neurons");
}

/// Slots' values as dense rows: the gradient of listing.
Program scatter(Graph &graph, const SlotRows &slots, const Tensor &values, const Tensor *factors,
                unsigned neurons, Tensor &dense) {
  const lif::Rows rows(graph, slots.rows());
  dense = rows.variable(graph, neurons, "dense");
  return rows.execute(graph, "ScatterSlots",
                      {{"ids", slots.ids},
                       {"counts", slots.counts},
                       {"values", values},
                       {"factors", factors ? *factors : values},
                       {"dense", dense}},
                      [&](lif::NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons)
                            .set("scaled", factors != nullptr);
                      });
}

/// A leaky layer that forgets at once and takes its current as it is: a product.
lif::Network productOf(const std::string &attributes, const Tensors &inputs, bool inputGradients) {
  lif::Words(attributes, "ipulse-spike-matmul/1", {});
  checkNumber("SpikeMatmul", inputs, 3, "weights, ids, counts");
  if (inputs[0].rank() != 2 || inputs[1].rank() != 3)
    throw poputil::poplibs_error("SpikeMatmul: weights must be [senders, neurons] and ids [time, "
                                 "batch, slots]; got " +
                                 inputs[0].shapeToString() + " and " + inputs[1].shapeToString());
  lif::Network network;
  network.inputs = static_cast<unsigned>(inputs[0].dim(0));
  network.inputSlots = static_cast<unsigned>(inputs[1].dim(2));
  network.inputGradients = inputGradients;
  network.countsIgnored = false;
  lif::Layer layer;
  layer.spiking = false;
  layer.membrane = true;
  layer.neurons = static_cast<unsigned>(inputs[0].dim(1));
  network.layers.push_back(layer);
  return network;
}

lif::Operands productOperands(Graph &graph, const lif::Network &network, const Tensors &inputs) {
  const auto constant = [&](float value) {
    const Tensor t = graph.addConstant<float>(FLOAT, {network.layers[0].neurons}, value);
    graph.setTileMapping(t, 0);
    return t;
  };
  return lif::Operands(network, {inputs[1], inputs[2], inputs[0], constant(0), constant(1)});
}

} // namespace

extern "C" {

IPULSE_METADATA(SparseToDense)
IPULSE_METADATA(SparseToDense_grad)
IPULSE_METADATA(DenseToSparse)
IPULSE_METADATA(DenseToSparse_grad)
IPULSE_METADATA(SelectSpikes)
IPULSE_METADATA(SelectSpikes_grad)
IPULSE_METADATA(SpikeMatmul)
IPULSE_METADATA(SpikeMatmul_grad)

IPULSE_BUILD(SparseToDense) {
  const unsigned neurons = neuronsOf(attributes);
  checkNumber("SparseToDense", inputs, 2, "ids, counts");
  const SlotRows slots(inputs[0], inputs[1]);
  const lif::Rows rows(graph, slots.rows());
  const Tensor dense = rows.variable(graph, neurons, "dense");
  outputs.push_back(dense.reshape({inputs[0].dim(0), inputs[0].dim(1), neurons}));
  return rows.execute(graph, poputil::templateVertex("ScatterOnes", inputs[0].elementType()),
                      {{"ids", slots.ids}, {"counts", slots.counts}, {"dense", dense}},
                      [&](lif::NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons);
                      });
}

IPULSE_GRADIENT(SparseToDense) {
  static_cast<void>(results);
  const unsigned neurons = neuronsOf(attributes);
  needFloat("SparseToDense", inputs[0]);
  const SlotRows slots(inputs[0], inputs[1]);
  const lif::Rows rows(graph, slots.rows());
  const Tensor values = rows.variable(graph, slots.slots, "values");
  outputs.push_back(values.reshape(inputs[0].shape()));
  return rows.execute(graph, "GatherSlots",
                      {{"dense", gradients[0].flatten(0, 2)},
                       {"ids", slots.ids},
                       {"counts", slots.counts},
                       {"values", values}},
                      [&](lif::NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons);
                      });
}

IPULSE_BUILD(DenseToSparse) {
  const unsigned slots =
      lif::Words(attributes, "ipulse-dense-to-sparse/1", {"slots"}).whole("slots");
  checkNumber("DenseToSparse", inputs, 1, "dense");
  if (inputs[0].rank() != 3 || inputs[0].elementType() != FLOAT)
    throw poputil::poplibs_error("DenseToSparse: dense must be float [time, batch, neurons]; got " +
                                 inputs[0].elementType().toString() + " " +
                                 inputs[0].shapeToString());
  const Tensor dense = inputs[0].flatten(0, 2);
  const lif::Rows rows(graph, dense.dim(0));
  const Tensor ids = rows.variable(graph, slots, "ids");
  const Tensor counts = rows.variable(graph, 1, "counts");
  const Tensor dropped = rows.variable(graph, 1, "dropped");
  const std::size_t steps = inputs[0].dim(0), batch = inputs[0].dim(1);
  outputs = {ids.reshape({steps, batch, slots}), counts.reshape({steps, batch}),
             dropped.reshape({steps, batch})};
  return rows.execute(
      graph, "ListOnes", {{"dense", dense}, {"ids", ids}, {"counts", counts}, {"dropped", dropped}},
      [&](lif::NewVertex &vertex) {
        vertex.set("slots", slots).set("neurons", static_cast<unsigned>(dense.dim(1)));
      });
}

IPULSE_GRADIENT(DenseToSparse) {
  static_cast<void>(attributes);
  const SlotRows slots(results[0], results[1]);
  Tensor dense;
  const auto neurons = static_cast<unsigned>(inputs[0].dim(2));
  Program program = scatter(graph, slots, gradients[0].flatten(0, 2), nullptr, neurons, dense);
  outputs.push_back(dense.reshape(inputs[0].shape()));
  return program;
}

IPULSE_BUILD(SelectSpikes) {
  const lif::Words words(attributes, "ipulse-select-spikes/1", {"slots", "surrogate"},
                         {"second_threshold", "cyclic", "top"});
  const bool gated = words.flag("second_threshold"), cyclic = words.flag("cyclic");
  if (cyclic && words.flag("top"))
    throw poputil::poplibs_error("SelectSpikes: cyclic or top, not both; got '" + attributes + "'");
  checkNumber("SelectSpikes", inputs, 2 + gated + cyclic,
              "u, threshold, second_threshold if there is one, offsets if cyclic");
  if (inputs[0].rank() != 2 || inputs[0].elementType() != FLOAT)
    throw poputil::poplibs_error("SelectSpikes: u must be float [batch, neurons]; got " +
                                 inputs[0].shapeToString());
  const auto batch = static_cast<unsigned>(inputs[0].dim(0));
  const auto neurons = static_cast<unsigned>(inputs[0].dim(1));
  for (std::size_t i = 1; i < 2u + gated; ++i)
    lif::checkShape("a threshold", inputs[i], {neurons});
  if (cyclic)
    lif::checkShape("offsets", inputs.back(), {batch});
  if (cyclic && inputs.back().elementType() != poplar::INT)
    throw poputil::poplibs_error("SelectSpikes: offsets must be int; got " +
                                 inputs.back().elementType().toString());
  lif::Network network;
  network.inputs = network.inputSlots = 1;
  lif::Layer layer;
  layer.neurons = neurons;
  layer.slots = words.whole("slots");
  if (layer.slots > neurons)
    throw poputil::poplibs_error("SelectSpikes: slots must be 1 to " + std::to_string(neurons) +
                                 "; got " + std::to_string(layer.slots));
  network.layers.push_back(layer);
  const lif::TilePlan plan = lif::planFor(graph, network, batch);
  lif::IpuGraphs graphs(graph, plan);
  lif::Arrivals arrivals(graphs);
  const lif::SpikeSource source(graphs, plan, 1, batch, layer.slots, {0}, arrivals);
  const lif::Policy policy = cyclic              ? lif::Policy::Cyclic
                             : words.flag("top") ? lif::Policy::Top
                                                 : lif::Policy::Index;
  lif::Selection selection(graphs, words.surrogate(), policy, plan.ranges[0][0], inputs[1],
                           gated ? inputs[2] : Tensor(), layer.slots, false, arrivals);
  if (cyclic)
    selection.beginAt(inputs.back().reinterpret(poplar::UNSIGNED_INT));
  const auto history = [&](std::size_t width, const char *name) {
    return lif::sampleTensor(graphs, FLOAT, batch, 1, width, plan.samples(1), name);
  };
  const lif::SlotHistory slots{history(layer.slots, "ids"),
                               history(2, "counts"),
                               history(1, "dropped"),
                               {history(layer.slots, "surrogate")}};
  const lif::StepNumber step(graphs, plan, "step");
  arrivals.zero(step.all());
  const poplar::ComputeSet list = graph.addComputeSet("list"), join = graph.addComputeSet("join");
  selection.list(graphs, list, inputs[0]);
  selection.join(graphs, join, plan, source, slots, step);
  Sequence program;
  arrivals.addTo(program);
  program.add(Execute(list));
  program.add(Execute(join));
  outputs = {slots.ids.squeeze({1}), slots.counts.squeeze({1}), slots.dropped.reshape({batch}),
             slots.values[0].squeeze({1})};
  return std::move(program);
}

IPULSE_GRADIENT(SelectSpikes) {
  static_cast<void>(attributes);
  const SlotRows slots(results[0].expand({0}), results[1].expand({0}));
  const auto neurons = static_cast<unsigned>(inputs[0].dim(1));
  Tensor dense;
  Sequence program;
  program.add(scatter(graph, slots, gradients[0], &results[3], neurons, dense));
  const Tensor sum =
      popops::reduce(graph, dense, {0}, popops::ReduceParams(popops::Operation::ADD), program);
  outputs = {dense, popops::neg(graph, sum, program)};
  return std::move(program);
}

IPULSE_BUILD(SpikeMatmul) {
  const lif::Network network = productOf(attributes, inputs, false);
  return lif::buildForward(graph, network, productOperands(graph, network, inputs), outputs);
}

IPULSE_GRADIENT(SpikeMatmul) {
  needFloat("SpikeMatmul", inputs[1]);
  const lif::Network network = productOf(attributes, inputs, true);
  Tensors found;
  Program program = lif::buildBackward(graph, network, productOperands(graph, network, inputs),
                                       gradients, results, found);
  outputs = {found[1], found[0]}; // by the weights, by the slots
  return program;
}

} // extern "C"
