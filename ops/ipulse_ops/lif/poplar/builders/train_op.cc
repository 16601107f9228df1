// `op_name="Train"`: a training step of the LIF op's network in one program: forward pass, loss,
// backward pass and update. attributes: "ipulse-train/1", the names of a loss and an optimizer,
// then numbers (NAME=VALUE), as DeviceTraining.words in train_op.py writes them, and those of the
// LIF op. With n the number of the LIF op's inputs, the inputs are these, then a mean and then a
// square for each: of the shape of a weight, else float [1]; then labels int [batch], mask float
// [batch], rate float [1], update int [1]. With own_loss the codelets include its vertex, and
// labels may be targets, float [batch, classes] or [batch, time, classes]. Outputs: the first 3 n
// inputs, of which weights, means and squares were changed in place; the loss of each sample float
// [batch]; the LIF op's outputs.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "backward/backward.h"
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
                            "class_rows", "step_rows"},
                           {"mean_membrane", "last_membrane", "step_membrane", "own_loss", "target",
                            "step_target", "adam", "sgd", "nesterov", "stochastic_rounding"});
    hasOwnLoss = words.flag("own_loss");
    ownLoss = {words.flag("step_target") ? lif::Right::StepTarget
               : words.flag("target")    ? lif::Right::Target
                                         : lif::Right::Label,
               words.whole("class_rows"), words.whole("step_rows")};
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
    if (network.layers.back().spiking)
      refuse("the losses need a leaky readout");
    operands = lif::operandsOf(network);
  }
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

/// No gradient by any output of the forward pass but the readout's membrane.
std::vector<Tensor> gradientsOf(const lif::Network &network, const Tensor &membrane,
                                std::size_t outputs) {
  std::vector<Tensor> gradients(outputs);
  const auto readout = static_cast<unsigned>(network.layers.size() - 1);
  gradients[lif::placeOf(network, lif::Result::Membrane, readout)] = membrane;
  return gradients;
}

Program updateOf(Graph &graph, const TrainAttributes &given, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &gradients, unsigned batch) {
  const std::size_t n = given.operands.size();
  const lif::TilePlan plan = lif::planFor(graph, given.network, batch);
  lif::IpuGraphs graphs(graph, plan);
  lif::Arrivals changed(graphs), read(graphs);
  std::vector<lif::AdamMatrix> matrices, biases;
  std::size_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const lif::Operand &operand = given.operands[i];
    if (operand.role < lif::Role::Weights || operand.role >= lif::Role::Decay)
      continue;
    const unsigned l = operand.layer;
    const std::string name = plan.names[l] + "/" + lif::nameOf(operand.role);
    const auto bring = [&](const Tensor &t, const char *what, lif::Arrivals &arrivals) {
      const bool weights = &t == &inputs[i]; // checked by Operands
      if (!weights && (t.shape() != inputs[i].shape() || t.elementType() != FLOAT))
        refuse(name + what + " must be float " + inputs[i].shapeToString() + "; got " +
               t.shapeToString());
      return arrivals.neurons(t, plan.layers[l], name + what);
    };
    lif::AdamMatrix matrix{bring(inputs[i], " weights", changed),
                           {},
                           {},
                           bring(gradients[next++], " gradients", read)};
    if (given.isAdam || given.sgd.momentum != 0)
      matrix.means = bring(inputs[n + i], " means", changed);
    if (given.isAdam)
      matrix.squares = bring(inputs[2 * n + i], " squares", changed);
    matrix.number = static_cast<unsigned>(next);
    (operand.role == lif::Role::Bias ? biases : matrices).push_back(matrix);
  }
  Sequence program;
  changed.addTo(program);
  read.addTo(program);
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
  const auto readout = static_cast<unsigned>(given.network.layers.size() - 1);
  const Tensor membrane = results[lif::placeOf(given.network, lif::Result::Membrane, readout)];
  const Tensor right = inputs[3 * n], mask = inputs[3 * n + 1];
  const lif::LossResult loss =
      given.hasOwnLoss ? lif::addOwnLoss(graph, given.ownLoss, membrane, right, mask, program)
                       : lif::addLoss(graph, given.loss, membrane, right, mask, program);
  program.add(lif::buildBackward(graph, given.network, operands,
                                 gradientsOf(given.network, loss.gradient, results.size()), results,
                                 gradients));
  program.add(updateOf(graph, given, inputs, gradients, operands.batch));
  outputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(3 * n));
  outputs.push_back(loss.bySample);
  outputs.insert(outputs.end(), results.begin(), results.end());
  return std::move(program);
}

} // extern "C"
