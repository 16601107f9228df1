#include "backward_pass.h"

#include <poputil/exceptions.hpp>

#include "forward/forward.h"

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;

BackwardPass::BackwardPass(Graph &whole, const Network &network, const Operands &operands,
                           const std::vector<Tensor> &gradients, const std::vector<Tensor> &results)
    : network(network), operands(operands),
      span(operands.over(network.recompute ? network.recompute : operands.steps)),
      plan(planFor(whole, network, operands.batch)), graph(whole, plan), arrivals(graph),
      input(graph, plan, operands.get(Role::Ids), operands.get(Role::Counts), network.inputs,
            !network.inputGradients, arrivals),
      counters(graph, plan, span.steps - 1) {
  addSource(0, network.inputSlots);
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    if (network.layers[l].spiking)
      addSource(l + 1, network.layers[l].slots);
    layers.emplace_back(graph, network, plan, span, l,
                        network.recompute ? LayerRecord() : recordOf(l, gradients, results),
                        arrivals);
  }
  for (unsigned l = 0; l < layers.size(); ++l) {
    const bool wanted = l > 0 || network.inputGradients;
    inputSums.push_back(wanted ? newSums(l, 0) : nullptr);
    ownSums.push_back(network.layers[l].recurrent ? newSums(l, 1) : nullptr);
  }
  if (network.inputGradients)
    gradIds = sampleTensor(graph, FLOAT, operands.batch, operands.steps, network.inputSlots,
                           plan.samples(0), "grad_ids");
  spikes = {input.ids, input.counts};
  given = input.given;
  gradOfGiven = gradIds;
  if (network.recompute == 0)
    return;
  std::vector<Neurons> neurons;
  for (const LayerAdjoint &layer : layers)
    neurons.push_back(layer.neurons);
  segments = std::make_unique<Segments>(graph, network, plan, operands, neurons, input, gradients,
                                        results, arrivals);
  for (unsigned l = 0; l < layers.size(); ++l)
    layers[l].record = segments->record(l);
  spikes = segments->input();
  if (!network.inputGradients)
    return;
  given = segments->given();
  gradOfGiven = sampleTensor(graph, FLOAT, operands.batch, given.dim(1), network.inputSlots,
                             plan.samples(0), "grad_ids_of_segment");
}

std::unique_ptr<SlotSums> BackwardPass::newSums(unsigned l, std::size_t matrix) {
  return std::make_unique<SlotSums>(graph, plan, layers[l].neurons, matrix,
                                    sources[matrix == 0 ? l : l + 1]);
}

LayerRecord BackwardPass::recordOf(unsigned l, const std::vector<Tensor> &gradients,
                                   const std::vector<Tensor> &results) {
  const Layer &layer = network.layers[l];
  const auto of = [&](const char *name) { return plan.names[l] + "/" + name; };
  const auto rows = [&](const Tensor &t, const char *name) {
    return arrivals.neurons(t.flatten(0, 2), plan.layers[l], of(name));
  };
  LayerRecord record;
  if (layer.membrane) {
    const Tensor direct = gradients[placeOf(network, Result::Membrane, l)];
    record.direct = direct.valid() ? rows(direct, "grad_membrane")
                                   : arrivals.zeros(operands.steps * operands.batch, plan.layers[l],
                                                    of("grad_membrane"));
  }
  if (network.constantGradients) {
    record.carried = rows(results[placeOf(network, Result::Carried, l)], "carried");
    record.current = rows(results[placeOf(network, Result::Current, l)], "current");
    if (layer.adapts)
      record.raised = rows(results[placeOf(network, Result::Rise, l)], "raised");
  }
  if (!layer.spiking)
    return record;
  const Tensor ids = results[placeOf(network, Result::SpikeIds, l)];
  const Tensor counts = results[placeOf(network, Result::SpikeCounts, l)];
  record.ids = arrivals.samples(ids, plan.samples(l + 1), of("spike_ids"));
  record.counts = arrivals.samples(counts, plan.samples(l + 1), of("spike_counts"));
  for (std::size_t r = 0; r < plan.ranges[l].size(); ++r) {
    const SampleTiles tiles = plan.samples(l + 1, plan.ranges[l][r].ipu);
    const auto ofRange = [&](Result result, const char *name) {
      const Tensor t = results[placeOf(network, result, l)];
      return arrivals.samples(t.rank() == 4 ? t.slice(r, r + 1, 2).squeeze({2}) : t, tiles,
                              of(name));
    };
    const Tensor direct = gradients[placeOf(network, Result::SpikeIds, l)];
    record.phi.push_back(ofRange(Result::Surrogate, "surrogate"));
    if (direct.valid()) {
      record.gradSlots.push_back(arrivals.samples(direct, tiles, of("grad_slots")));
    } else {
      record.gradSlots.push_back(sampleTensor(graph, FLOAT, operands.batch, operands.steps,
                                              layer.slots, tiles, of("grad_slots")));
      arrivals.zero(record.gradSlots.back());
    }
    if (network.recordsMembranes(layer))
      record.membranes.push_back(ofRange(Result::SlotMembrane, "slot_membrane"));
  }
  if (network.recordsResets(layer))
    record.resets = rows(results[placeOf(network, Result::Resets, l)], "resets");
  return record;
}

void BackwardPass::addSource(unsigned number, unsigned slots) {
  // The slots come out of their history, which is on one IPU.
  const std::vector<unsigned> home{plan.ipusOf(number)[0]};
  sources.emplace_back(graph, plan, number, operands.batch, slots, home, arrivals);
  const bool ascending = number > 0 || !network.inputGradients;
  const std::string name = number == 0 ? "input" : plan.names[number - 1];
  const std::size_t width = graph.whole.getTarget().getNumWorkerContexts() + 2;
  starts.push_back(ascending ? SentTensor(graph, poplar::UNSIGNED_INT, operands.batch, width, plan,
                                          number, home, name + "/starts")
                             : SentTensor());
}

Tensor BackwardPass::gradientBy(const Operand &operand) const {
  const LayerAdjoint &layer = layers[operand.layer];
  switch (operand.role) {
  case Role::Ids:
    return gradIds.dimShuffle({1, 0, 2});
  case Role::Weights:
    return layer.gradWeights[0].dense();
  case Role::Recurrent:
    return layer.gradWeights[1].dense();
  case Role::Bias:
    return layer.gradBias.dense().squeeze({0});
  case Role::Decay:
    return layer.gradConstants[0].dense().squeeze({0});
  case Role::Scale:
    return layer.gradConstants[1].dense().squeeze({0});
  case Role::Threshold:
    return layer.gradConstants[2].dense().squeeze({0});
  case Role::SynapseDecay:
    return layer.gradConstants[3].dense().squeeze({0});
  case Role::AdaptationStrength:
    return layer.gradConstants[4].dense().squeeze({0});
  case Role::AdaptationDecay:
    return layer.gradConstants[5].dense().squeeze({0});
  case Role::Counts:
  case Role::Seed:
  case Role::SecondThreshold:
    break;
  }
  throw poputil::poplibs_error("LIF op: no gradient by " + nameOf(operand));
}

std::vector<Tensor> BackwardPass::outputs() const {
  std::vector<Tensor> found;
  for (const Operand &operand : operandsWithGradients(network))
    found.push_back(gradientBy(operand));
  return found;
}

} // namespace lif
