// `op_name="Train"`: a training step of the LIF op's network in one program: forward pass, loss,
// backward pass and update. attributes: "ipulse-train/1", the names of a loss and an optimizer,
// then numbers (NAME=VALUE), as DeviceTraining.words in train_op.py writes them, and those of the
// LIF op. frozen= has the layers whose weights stay as they are ("0,2"). With n the number of the
// LIF op's inputs, the inputs are these, then a mean and then a square for each: of the shape of a
// weight, else float [1]; then labels int [batch], mask float [batch], rate float [1], update int
// [1]. With own_loss the codelets include its vertex, reads= has what it reads of which layer
// ("membrane:1,spikes:0"), and labels may be targets, float [batch, classes] or [batch, time,
// classes]. Outputs: the first 3 n inputs, of which weights, means and squares were changed in
// place; the loss of each sample float [batch]; with own_loss the sum of the regularisers of each
// sample float [batch]; the LIF op's outputs.
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "backward/backward.h"
#include "backward/clip.h"
#include "backward/loss.h"
#include "backward/update.h"
#include "exported_op.h"
#include "forward/forward.h"
#include "words.h"

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

[[noreturn]] void refuse(const std::string &words) {
  throw poputil::poplibs_error("Train: " + words);
}

struct TrainAttributes {
  explicit TrainAttributes(const std::string &text) {
    const std::size_t at = text.find("ipulse-lif/");
    const std::string own = text.substr(0, at);
    const lif::Words words(own, "ipulse-train/1",
                           {"beta_1", "beta_2", "epsilon", "weight_decay", "momentum", "key",
                            "class_rows", "step_rows", "neuron_values", "reads", "clip_value",
                            "clip_norm", "frozen"},
                           {"mean_membrane", "last_membrane", "step_membrane", "own_loss", "target",
                            "step_target", "adam", "sgd", "nesterov", "stochastic_rounding"});
    hasOwnLoss = words.flag("own_loss");
    ownLoss = {words.flag("step_target") ? lif::Right::StepTarget
               : words.flag("target")    ? lif::Right::Target
                                         : lif::Right::Label,
               1, words.whole("class_rows"), words.whole("step_rows"),
               words.whole("neuron_values")};
    const int losses = words.flag("mean_membrane") + words.flag("last_membrane") +
                       words.flag("step_membrane") + hasOwnLoss;
    if (losses != 1 || words.flag("adam") == words.flag("sgd"))
      refuse(
          "one loss, mean_membrane, last_membrane, step_membrane or own_loss, and one optimizer, "
          "adam or sgd, are needed; got '" +
          own + "'");
    loss = words.flag("mean_membrane")   ? lif::Loss::MeanMembrane
           : words.flag("last_membrane") ? lif::Loss::LastMembrane
                                         : lif::Loss::StepMembrane;
    isAdam = words.flag("adam");
    adam = {words.real("beta_1"), words.real("beta_2"), words.real("epsilon"),
            words.real("weight_decay")};
    sgd = {words.real("momentum"), words.flag("nesterov")};
    rounding = {words.flag("stochastic_rounding") ? lif::Rounding::Stochastic
                                                  : lif::Rounding::Nearest,
                static_cast<unsigned>(words.real("key"))};
    ofNetwork = at == std::string::npos ? "" : text.substr(at);
    network = lif::parseNetwork(ofNetwork);
    if (network.inputGradients || network.constantGradients)
      refuse("weights alone are trained; got gradients of inputs or constants");
    if (network.layers.back().spiking && !hasOwnLoss)
      refuse("cross-entropies of the membrane need a leaky readout");
    clipping = {words.real("clip_value"), words.real("clip_norm")};
    takeFrozen(words.text("frozen"));
    ownLoss.classes = network.layers.back().neurons;
    if (hasOwnLoss)
      takeReads(words.text("reads"));
    operands = lif::operandsOf(network);
  }
  /// An input of the loss's vertex: the membranes of a layer, or its spikes.
  struct Read {
    lif::Result result;
    unsigned layer;
  };
  void takeReads(const std::string &text) {
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) {
      const std::size_t colon = word.find(':');
      const std::string what = word.substr(0, colon);
      const unsigned layer =
          colon == std::string::npos ? 0 : lif::parseWhole("reads", word.substr(colon + 1), 0);
      const bool spikes = what == "spikes";
      const bool known = colon != std::string::npos && layer < network.layers.size() &&
                         (spikes ? network.layers[layer].spiking
                                 : what == "membrane" && network.layers[layer].membrane);
      if (!known)
        refuse("reads= has membrane:LAYER or spikes:LAYER, of layers that have them; got '" + word +
               "'");
      reads.push_back({spikes ? lif::Result::SpikeIds : lif::Result::Membrane, layer});
    }
    if (reads.empty())
      refuse("a loss with equations reads a layer; got reads='" + text + "'");
  }
  void takeFrozen(const std::string &text) {
    std::istringstream in(text == "none" ? "" : text);
    for (std::string word; std::getline(in, word, ',');) {
      const unsigned layer = lif::parseWhole("frozen", word, 0);
      if (layer >= network.layers.size())
        refuse("frozen= has numbers of layers, 0 to " + std::to_string(network.layers.size() - 1) +
               "; got '" + word + "'");
      frozen.insert(layer);
    }
  }
  std::vector<Read> reads;
  lif::Clipping clipping;
  std::set<unsigned> frozen;
  lif::Loss loss; // unused with hasOwnLoss
  bool hasOwnLoss;
  lif::OwnLoss ownLoss;
  bool isAdam;
  lif::AdamConstants adam;
  lif::SgdConstants sgd;
  lif::WeightRounding rounding;
  std::string ofNetwork;
  lif::Network network;
  std::vector<lif::Operand> operands;
};

/// The shape of the labels, or of the targets that take their place.
std::vector<std::size_t> shapeOfRight(const TrainAttributes &given, std::size_t steps,
                                      std::size_t batch) {
  const std::size_t classes = given.network.layers.back().neurons;
  if (!given.hasOwnLoss || given.ownLoss.right == lif::Right::Label)
    return {batch};
  if (given.ownLoss.right == lif::Right::Target)
    return {batch, classes};
  return {batch, steps, classes};
}

struct Objective {
  std::vector<Tensor> outputs;   // for each sample
  std::vector<Tensor> gradients; // by the outputs of the forward pass, where there are some
};

Objective addObjective(Graph &graph, const TrainAttributes &given,
                       const std::vector<Tensor> &results, const Tensor &right, const Tensor &mask,
                       Sequence &program) {
  const lif::Network &network = given.network;
  const auto of = [&](lif::Result result, unsigned layer) {
    return results[lif::placeOf(network, result, layer)];
  };
  Objective found;
  found.gradients.resize(results.size());
  if (!given.hasOwnLoss) {
    const auto readout = static_cast<unsigned>(network.layers.size() - 1);
    const lif::LossResult loss =
        lif::addLoss(graph, given.loss, of(lif::Result::Membrane, readout), right, mask, program);
    found.gradients[lif::placeOf(network, lif::Result::Membrane, readout)] = loss.gradient;
    found.outputs = {loss.bySample};
    return found;
  }
  std::vector<lif::LayerValues> values;
  for (const auto &[result, layer] : given.reads)
    values.push_back(
        {of(result, layer),
         result == lif::Result::SpikeIds ? of(lif::Result::SpikeCounts, layer) : Tensor(),
         network.layers[layer].neurons});
  const lif::OwnLossResult loss =
      lif::addOwnLoss(graph, given.ownLoss, values, right, mask, program);
  for (std::size_t i = 0; i < values.size(); ++i)
    found.gradients[lif::placeOf(network, given.reads[i].result, given.reads[i].layer)] =
        loss.gradients[i];
  found.outputs = {loss.bySample, loss.penalty};
  return found;
}

Program updateOf(Graph &graph, const TrainAttributes &given, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &gradients, unsigned batch) {
  const std::size_t n = given.operands.size();
  const lif::TilePlan plan = lif::planFor(graph, given.network, batch);
  lif::IpuGraphs graphs(graph, plan);
  lif::Arrivals changed(graphs), read(graphs);
  std::vector<lif::AdamMatrix> matrices, biases;
  std::vector<lif::NeuronTensor> clipped;
  std::size_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const lif::Operand &operand = given.operands[i];
    if (operand.role < lif::Role::Weights || operand.role >= lif::Role::Decay)
      continue;
    const unsigned l = operand.layer;
    const Tensor &gradient = gradients[next++];
    if (given.frozen.count(l))
      continue;
    const std::string name = plan.names[l] + "/" + lif::nameOf(operand.role);
    const auto bring = [&](const Tensor &t, const char *what, lif::Arrivals &arrivals) {
      const bool weights = &t == &inputs[i]; // checked by Operands
      if (!weights && (t.shape() != inputs[i].shape() || t.elementType() != FLOAT))
        refuse(name + what + " must be float " + inputs[i].shapeToString() + "; got " +
               t.shapeToString());
      return arrivals.neurons(t, plan.layers[l], name + what);
    };
    lif::AdamMatrix matrix{
        bring(inputs[i], " weights", changed), {}, {}, bring(gradient, " gradients", read)};
    if (given.isAdam || given.sgd.momentum != 0)
      matrix.means = bring(inputs[n + i], " means", changed);
    if (given.isAdam)
      matrix.squares = bring(inputs[2 * n + i], " squares", changed);
    matrix.number = static_cast<unsigned>(next);
    (operand.role == lif::Role::Bias ? biases : matrices).push_back(matrix);
    clipped.push_back(matrix.gradients);
  }
  Sequence program;
  changed.addTo(program);
  read.addTo(program);
  program.add(lif::clipGradients(graphs, given.clipping, clipped));
  const Tensor rate = inputs[3 * n + 2], update = inputs[3 * n + 3];
  if (given.isAdam) {
    program.add(lif::adamUpdate(graphs, given.adam, matrices, rate, update, given.rounding));
    lif::AdamConstants withoutDecay = given.adam;
    withoutDecay.weightDecay = 0;
    if (!biases.empty())
      program.add(lif::adamUpdate(graphs, withoutDecay, biases, rate, update));
  } else {
    matrices.insert(matrices.end(), biases.begin(), biases.end());
    program.add(lif::sgdUpdate(graphs, given.sgd, matrices, rate, update, given.rounding));
  }
  changed.addReturnTo(program);
  return std::move(program);
}

} // namespace

extern "C" {

void Train_metadata(IPULSE_METADATA_PARAMETERS) {
  IPULSE_DESCRIBE;
  const std::int64_t n = (std::int64_t{num_inputs} - 4) / 3;
  for (std::int64_t i = 0; i < 3 * n; ++i) {
    input_to_output_tensor_aliasing[i] = i;
    if (i % n >= 2) // ids and counts come off the host
      allocating_indices.push_back(i);
  }
}

Tensor Build_allocator(Graph &graph, std::uint32_t operand, const std::vector<std::size_t> &shape,
                       poplar::Type type, const std::string &attributes,
                       const std::string &debug_prefix);

Tensor Train_allocator(Graph &graph, std::uint32_t operand, const std::vector<std::size_t> &shape,
                       poplar::Type type, const std::string &attributes,
                       const std::string &debug_prefix) {
  const TrainAttributes given(attributes);
  const auto n = static_cast<std::uint32_t>(given.operands.size());
  return Build_allocator(graph, operand % n, shape, type, given.ofNetwork, debug_prefix);
}

Program Train(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
              const std::string &attributes, const std::string &) {
  const TrainAttributes given(attributes);
  const std::size_t n = given.operands.size();
  if (inputs.size() != 3 * n + 4)
    refuse("the LIF op's " + std::to_string(n) +
           " inputs, as many means and squares, labels, mask, rate and update are " +
           std::to_string(3 * n + 4) + " inputs; got " + std::to_string(inputs.size()));
  const std::vector<Tensor> ofNetwork(inputs.begin(),
                                      inputs.begin() + static_cast<std::ptrdiff_t>(n));
  const lif::Operands operands(given.network, ofNetwork);
  lif::checkShape("labels", inputs[3 * n], shapeOfRight(given, operands.steps, operands.batch));
  lif::checkShape("mask", inputs[3 * n + 1], {operands.batch});
  lif::checkShape("rate", inputs[3 * n + 2], {1});
  lif::checkShape("update", inputs[3 * n + 3], {1});

  Sequence program;
  std::vector<Tensor> results, gradients;
  program.add(lif::buildForward(graph, given.network, operands, results));
  const Objective objective =
      addObjective(graph, given, results, inputs[3 * n], inputs[3 * n + 1], program);
  program.add(
      lif::buildBackward(graph, given.network, operands, objective.gradients, results, gradients));
  program.add(updateOf(graph, given, inputs, gradients, operands.batch));
  outputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(3 * n));
  outputs.insert(outputs.end(), objective.outputs.begin(), objective.outputs.end());
  outputs.insert(outputs.end(), results.begin(), results.end());
  return std::move(program);
}

} // extern "C"
