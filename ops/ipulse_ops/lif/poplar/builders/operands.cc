#include "operands.h"

#include <algorithm>
#include <stdexcept>

#include <poputil/exceptions.hpp>

namespace lif {

using poplar::Tensor;

std::vector<Operand> operandsOf(const Network &network) {
  std::vector<Operand> operands{{Role::Ids, 0}, {Role::Counts, 0}};
  if (network.needsSeed())
    operands.push_back({Role::Seed, 0});
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    operands.push_back({Role::Weights, l});
    if (layer.recurrent)
      operands.push_back({Role::Recurrent, l});
    if (layer.bias)
      operands.push_back({Role::Bias, l});
    operands.push_back({Role::Decay, l});
    operands.push_back({Role::Scale, l});
    if (layer.synapse)
      operands.push_back({Role::SynapseDecay, l});
    if (layer.spiking)
      operands.push_back({Role::Threshold, l});
    if (layer.adapts) {
      operands.push_back({Role::AdaptationStrength, l});
      operands.push_back({Role::AdaptationDecay, l});
    }
    if (layer.gated)
      operands.push_back({Role::SecondThreshold, l});
  }
  return operands;
}

std::vector<Operand> operandsWithGradients(const Network &network) {
  std::vector<Operand> found;
  for (const Operand &operand : operandsOf(network)) {
    const bool constant = operand.role >= Role::Decay && operand.role <= Role::AdaptationDecay;
    const bool weight = operand.role >= Role::Weights && operand.role < Role::Decay;
    if (weight || (network.inputGradients && operand.role == Role::Ids) ||
        (network.constantGradients && constant))
      found.push_back(operand);
  }
  return found;
}

std::string nameOf(Role role) {
  static const char *const names[] = {"ids",      "counts", "seed",  "weights", "recurrent",
                                      "bias",     "decay",  "scale", "synapse", "threshold",
                                      "strength", "rate",   "second"};
  return names[static_cast<unsigned>(role)];
}

std::string nameOf(Result result) {
  static const char *const names[] = {
      "membrane",          "ignored", "spike_ids", "spike_counts", "dropped", "surrogate",
      "slot_membrane",     "resets",  "carried",   "current",      "rise",    "checkpoint",
      "synapse_checkpoint"};
  return names[static_cast<unsigned>(result)];
}

std::string nameOf(const Operand &operand) {
  const std::string name = nameOf(operand.role);
  return operand.role < Role::Weights ? name : name + "[" + std::to_string(operand.layer) + "]";
}

void checkShape(const std::string &name, const Tensor &t, const std::vector<std::size_t> &shape) {
  if (t.shape() == shape)
    return;
  std::string words;
  for (const std::size_t size : shape)
    words += (words.empty() ? "" : ",") + std::to_string(size);
  throw poputil::poplibs_error("LIF op: " + name + " must have shape {" + words + "}; got " +
                               t.shapeToString());
}

Operands::Operands(const Network &network, const std::vector<Tensor> &given)
    : operands(operandsOf(network)), tensors(given) {
  if (given.size() != operands.size()) {
    std::string names;
    for (const Operand &operand : operands)
      names += (names.empty() ? "" : ", ") + nameOf(operand);
    throw poputil::poplibs_error("LIF op: the attributes ask for " +
                                 std::to_string(operands.size()) + " inputs (" + names + "); got " +
                                 std::to_string(given.size()));
  }
  if (given[0].rank() != 3 || given[0].dim(0) == 0 || given[0].dim(1) == 0)
    throw poputil::poplibs_error("LIF op: ids must be [time, batch, slots] of at least one step "
                                 "and sample; got " +
                                 given[0].shapeToString());
  steps = static_cast<unsigned>(given[0].dim(0));
  batch = static_cast<unsigned>(given[0].dim(1));
  const auto operandOf = [&](Role role) {
    std::size_t i = 0;
    while (operands[i].role != role)
      ++i;
    return i;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand &operand = operands[i];
    const std::string name = nameOf(operand);
    const bool spikes = operand.role == Role::Ids || operand.role == Role::Counts;
    const poplar::Type type = given[i].elementType();
    if (operand.role == Role::Seed && type != poplar::INT)
      throw poputil::poplibs_error("LIF op: seed must be int; got " + type.toString());
    const bool matrix = operand.role == Role::Weights || operand.role == Role::Recurrent;
    if (operand.role != Role::Seed && type != poplar::FLOAT && !(spikes && type == poplar::INT) &&
        !(matrix && type == poplar::HALF))
      throw poputil::poplibs_error("LIF op: " + name + " must be float" +
                                   (spikes   ? " or int"
                                    : matrix ? " or half"
                                             : "") +
                                   "; got " + type.toString());
    if (matrix && type != given[operandOf(Role::Weights)].elementType())
      throw poputil::poplibs_error("LIF op: all matrices must have one type; got " + name + " of " +
                                   type.toString());
    const unsigned l = operand.layer;
    const std::size_t n = network.layers[l].neurons;
    if (operand.role == Role::Counts && given[i].rank() == 3)
      checkShape(name, given[i], {steps, batch, 2}); // spikes, filled slots
    else if (operand.role == Role::Counts)
      checkShape(name, given[i], {steps, batch});
    else if (operand.role == Role::Seed)
      checkShape(name, given[i], {2});
    else if (operand.role == Role::Weights)
      checkShape(name, given[i], {network.senders(l), n});
    else if (operand.role == Role::Recurrent)
      checkShape(name, given[i], {n, n});
    else if (operand.role == Role::Ids)
      checkShape(name, given[i], {steps, batch, network.inputSlots});
    else
      checkShape(name, given[i], {n});
  }
  if (given[0].elementType() != given[1].elementType())
    throw poputil::poplibs_error("LIF op: ids and counts must have the same type");
}

Tensor Operands::get(Role role, unsigned layer) const {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].role == role && operands[i].layer == layer)
      return tensors[i];
  return {};
}

std::vector<Outcome> outcomesOf(const Network &network) {
  std::vector<Outcome> outcomes{
      {Result::Membrane, static_cast<unsigned>(network.layers.size() - 1)}};
  if (network.countsIgnored)
    outcomes.push_back({Result::Ignored, 0});
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    const bool stored = network.recompute == 0;
    if (layer.spiking)
      for (const Result result : {Result::SpikeIds, Result::SpikeCounts, Result::Dropped})
        outcomes.push_back({result, l});
    if (layer.spiking && stored)
      outcomes.push_back({Result::Surrogate, l});
    if (stored && network.recordsMembranes(layer))
      outcomes.push_back({Result::SlotMembrane, l});
    if (stored && network.recordsResets(layer))
      outcomes.push_back({Result::Resets, l});
    if (layer.membrane && l + 1 != network.layers.size())
      outcomes.push_back({Result::Membrane, l});
    if (stored && network.constantGradients) {
      outcomes.push_back({Result::Carried, l});
      outcomes.push_back({Result::Current, l});
      if (layer.adapts)
        outcomes.push_back({Result::Rise, l});
    }
    if (!stored)
      outcomes.push_back({Result::Checkpoint, l});
    if (!stored && layer.synapse)
      outcomes.push_back({Result::SynapseCheckpoint, l});
  }
  return outcomes;
}

std::vector<std::size_t> shapeOf(const Network &network, const Outcome &outcome, unsigned steps,
                                 unsigned batch) {
  const Layer &layer = network.layers[outcome.layer];
  switch (outcome.result) {
  case Result::Membrane:
  case Result::Carried:
  case Result::Current:
  case Result::Rise:
    return {steps, batch, layer.neurons};
  case Result::Checkpoint:
  case Result::SynapseCheckpoint:
    return {std::max(1u, network.segments(steps) - 1), batch, layer.neurons};
  case Result::SpikeCounts:
    return {steps, batch, 2};
  case Result::Dropped:
  case Result::Ignored:
    return {steps, batch};
  case Result::Resets:
    return {steps, (batch + 23) / 24, layer.neurons};
  case Result::Surrogate:
  case Result::SlotMembrane:
    if (network.rangesOf(layer) > 1)
      return {steps, batch, network.rangesOf(layer), layer.slots};
    break;
  case Result::SpikeIds:
    break;
  }
  return {steps, batch, layer.slots};
}

std::size_t placeOf(const Network &network, Result result, unsigned layer) {
  const std::vector<Outcome> outcomes = outcomesOf(network);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].result == result && outcomes[i].layer == layer)
      return i;
  throw std::out_of_range("the network has no such output");
}

} // namespace lif
