#include "backward.h"

#include <deque>
#include <memory>

#include <poputil/exceptions.hpp>

#include "forward.h"
#include "layer_adjoint.h"
#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Repeat;
using poplar::program::Sequence;

namespace {

/// The pass and its parts. With a delay, a spike of step t meets dL/dI of step t + 1: all layers
/// are taken back at once, and the input's spikes wait for theirs, one step behind, so that the
/// loop goes one step further. Without, layers follow each other from last to first.
class Backward {
public:
  Backward(Graph &whole, const Network &network, const Operands &operands,
           const std::vector<Tensor> &gradients, const std::vector<Tensor> &results)
      : network(network), operands(operands), plan(planFor(whole, network, operands.batch)),
        graph(whole, plan), arrivals(graph),
        input(graph, plan, operands.get(Role::Ids), operands.get(Role::Counts), network.inputs,
              !network.inputGradients, arrivals),
        counters(graph, plan, operands.steps - 1) {
    sources.emplace_back(graph, plan, 0, operands.batch, network.inputSlots, arrivals);
    for (unsigned l = 0; l < network.layers.size(); ++l) {
      if (network.layers[l].spiking)
        sources.emplace_back(graph, plan, l + 1, operands.batch, network.layers[l].slots, arrivals);
      layers.emplace_back(graph, network, plan, operands, l, recordOf(l, gradients, results),
                          arrivals);
    }
    for (unsigned source = 0; source < sources.size(); ++source) {
      const bool ascending = source > 0 || !network.inputGradients;
      starts.push_back(ascending ? newStarts(source) : Tensor());
      sentStarts.push_back(ascending ? onNextIpu(graph, plan, source, starts.back(), "sent_starts")
                                     : Tensor());
    }
    for (unsigned l = 0; l < layers.size(); ++l) {
      const bool wanted = l > 0 || network.inputGradients;
      inputSums.push_back(wanted ? newSums(l, 0) : nullptr);
      ownSums.push_back(network.layers[l].recurrent ? newSums(l, 1) : nullptr);
    }
    if (network.inputGradients)
      gradIds = sampleTensor(graph, FLOAT, operands.batch, operands.steps, network.inputSlots, plan,
                             0, "grad_ids");
  }

  Program build() {
    Sequence program, step;
    arrivals.addTo(program);
    program.add(input.check(graph, plan));
    program.add(counters.start());
    const ComputeSet take = newSet("take_spikes");
    takeAll(take);
    step.add(Execute(take));
    Crossing crossing;
    for (unsigned source = 0; source < sources.size(); ++source) {
      crossing.add(sources[source]);
      if (sources[source].crosses)
        crossing.add(starts[source], sentStarts[source]);
    }
    crossing.addTo(step);
    if (network.delay)
      addStepOfAll(step);
    else
      addStepOfEach(step);
    program.add(Repeat(operands.steps + network.delay, step));
    if (network.constantGradients) {
      const ComputeSet sums = newSet("sum_constants");
      for (const LayerAdjoint &layer : layers)
        layer.sumConstants(graph, sums);
      program.add(Execute(sums));
    }
    return std::move(program);
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> found;
    for (const Operand &operand : operandsWithGradients(network))
      found.push_back(gradientBy(operand));
    return found;
  }

private:
  const Network &network;
  const Operands &operands;
  const TilePlan plan;
  IpuGraphs graph;
  Arrivals arrivals;
  CheckedInput input;
  Counters counters;
  Tensor gradIds;
  std::vector<SpikeSource> sources;
  // Of each source's spikes by worker, and for the next layer; invalid if they may not ascend.
  std::vector<Tensor> starts, sentStarts;
  std::deque<LayerAdjoint> layers; // referred to by the sums
  std::vector<std::unique_ptr<SlotSums>> inputSums, ownSums;

  Tensor gradientBy(const Operand &operand) const {
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
    case Role::Counts:
    case Role::Seed:
    case Role::SecondThreshold:
      break;
    }
    throw poputil::poplibs_error("LIF op: no gradient by " + nameOf(operand));
  }
  ComputeSet newSet(const std::string &name) { return graph.addComputeSet("backward/" + name); }
  /// The layer's own spikes; of a leaky readout null.
  const SpikeSource *own(unsigned l) const {
    return network.layers[l].spiking ? &sources[l + 1] : nullptr;
  }
  std::unique_ptr<SlotSums> newSums(unsigned l, std::size_t matrix) {
    return std::make_unique<SlotSums>(graph, plan, layers[l].neurons, matrix,
                                      sources[matrix == 0 ? l : l + 1]);
  }

  LayerRecord recordOf(unsigned l, const std::vector<Tensor> &gradients,
                       const std::vector<Tensor> &results) {
    const Layer &layer = network.layers[l];
    const auto rows = [&](const Tensor &t, const char *name) {
      return arrivals.neurons(t.flatten(0, 2), plan.layers[l], name);
    };
    LayerRecord record;
    if (layer.membrane)
      record.direct = rows(gradients[placeOf(network, Result::Membrane, l)], "grad_membrane");
    if (network.constantGradients) {
      record.carried = rows(results[placeOf(network, Result::Carried, l)], "carried");
      record.current = rows(results[placeOf(network, Result::Current, l)], "current");
    }
    if (!layer.spiking)
      return record;
    const auto samples = [&](const std::vector<Tensor> &from, Result result, const char *name) {
      return arrivals.samples(from[placeOf(network, result, l)], plan, l + 1, name);
    };
    record.ids = samples(results, Result::SpikeIds, "spike_ids");
    record.counts = samples(results, Result::SpikeCounts, "spike_counts");
    record.phi = samples(results, Result::Surrogate, "surrogate");
    record.gradSlots = samples(gradients, Result::SpikeIds, "grad_slots");
    if (network.recordsMembranes(layer))
      record.membranes = samples(results, Result::SlotMembrane, "slot_membrane");
    if (network.recordsResets(layer))
      record.resets = rows(results[placeOf(network, Result::Resets, l)], "resets");
    return record;
  }

  Tensor newStarts(unsigned source) {
    const std::size_t width = graph.whole.getTarget().getNumWorkerContexts() + 2;
    return sampleTensor(graph, poplar::UNSIGNED_INT, operands.batch, 1, width, plan, source,
                        "starts")
        .squeeze({1});
  }

  void takeAll(ComputeSet set) {
    const auto take = [&](unsigned source, const Tensor &ids, const Tensor &counts,
                          unsigned offset) {
      takeSpikes(graph, set, plan, sources[source], ids, counts, counters.next, offset);
      if (starts[source].valid())
        locateSpikes(graph, set, plan, source, network.senders(source), ids, counts, counters.next,
                     offset, starts[source]);
    };
    take(0, input.ids, input.counts, network.delay);
    for (unsigned l = 0; l < layers.size(); ++l)
      if (network.layers[l].spiking)
        take(l + 1, layers[l].record.ids, layers[l].record.counts, 0);
  }

  /// What a layer's dL/dI gives to a matrix and, through it, to the slots of who sent.
  void spread(ComputeSet set, unsigned l, std::size_t matrix) {
    const SlotSums *sums = (matrix == 0 ? inputSums : ownSums)[l].get();
    if (sums)
      sums->partials(graph, set, layers[l].gradCurrent);
    const unsigned from = matrix == 0 ? l : l + 1;
    layers[l].addWeightGradients(graph, set, matrix, sources[from],
                                 (matrix == 0 ? sentStarts : starts)[from]);
    if (matrix == 0)
      layers[l].addBiasGradients(graph, set);
  }

  void slotGradients(ComputeSet set, unsigned l) {
    std::vector<const SlotSums *> sums;
    if (l + 1 < layers.size())
      sums.push_back(inputSums[l + 1].get());
    if (ownSums[l])
      sums.push_back(ownSums[l].get());
    layers[l].slotGradients(graph, set, plan, *own(l), sums, counters.now);
  }

  void recordInputGradients(ComputeSet set) {
    for (unsigned b = 0; b < operands.batch; ++b) {
      const Tensor sums = sumsOfSample({inputSums[0].get()}, b);
      const Place place = plan.sampleTile(0, b);
      NewVertex(graph, set, "RecordInputGradients", place)
          .connect("sums", sums.flatten())
          .connect("ids", input.given[b].flatten())
          .set("neurons", network.inputs)
          .connect("counts", sources[0].counts[b])
          .connect("step", counters.now.on(place))
          .connect("history", gradIds[b].flatten())
          .set("steps", operands.steps)
          .set("offset", network.delay)
          .set("slots", network.inputSlots)
          .set("groups", static_cast<unsigned>(sums.dim(0)))
          .set("width", sources[0].stride)
          .estimate(6.0 * (30 + 2.0 * network.inputSlots * sums.dim(0)));
    }
  }

  void addStepOfAll(Sequence &step) {
    const ComputeSet spreading = newSet("spread"), summing = newSet("sum");
    const ComputeSet slots = newSet("slot_gradients"), states = newSet("adjoint");
    counters.advance(graph, spreading, -1);
    for (unsigned l = 0; l < layers.size(); ++l) {
      spread(spreading, l, 0);
      if (ownSums[l])
        spread(spreading, l, 1);
      for (const auto *sums : {inputSums[l].get(), ownSums[l].get()})
        if (sums)
          sums->sum(graph, summing);
      if (network.layers[l].spiking)
        slotGradients(slots, l);
      layers[l].stepBack(graph, states, own(l), counters.now);
    }
    if (network.inputGradients)
      recordInputGradients(slots);
    for (const ComputeSet set : {spreading, summing, slots, states})
      step.add(Execute(set));
  }

  void addStepOfEach(Sequence &step) {
    const ComputeSet recurrent = newSet("spread_recurrent"), summing = newSet("sum_recurrent");
    counters.advance(graph, recurrent, -1);
    step.add(Execute(recurrent));
    bool any = false;
    for (unsigned l = 0; l < layers.size(); ++l) {
      if (!ownSums[l])
        continue;
      spread(recurrent, l, 1);
      ownSums[l]->sum(graph, summing);
      any = true;
    }
    if (any)
      step.add(Execute(summing));
    for (unsigned l = static_cast<unsigned>(layers.size()); l-- > 0;) {
      const std::string name = "layer" + std::to_string(l);
      if (network.layers[l].spiking) {
        const ComputeSet slots = newSet(name + "/slot_gradients");
        slotGradients(slots, l);
        step.add(Execute(slots));
      }
      const ComputeSet states = newSet(name + "/adjoint"), spreading = newSet(name + "/spread");
      layers[l].stepBack(graph, states, own(l), counters.now);
      spread(spreading, l, 0);
      step.add(Execute(states));
      step.add(Execute(spreading));
      if (inputSums[l]) {
        const ComputeSet sums = newSet(name + "/sum");
        inputSums[l]->sum(graph, sums);
        step.add(Execute(sums));
      }
    }
    if (network.inputGradients) {
      const ComputeSet record = newSet("record_input_gradients");
      recordInputGradients(record);
      step.add(Execute(record));
    }
  }
};

} // namespace

Program buildBackward(Graph &graph, const Network &network, const Operands &operands,
                      const std::vector<Tensor> &gradients, const std::vector<Tensor> &results,
                      std::vector<Tensor> &found) {
  const std::vector<Outcome> outcomes = outcomesOf(network);
  if (gradients.size() != outcomes.size() || results.size() != outcomes.size())
    throw poputil::poplibs_error("LIF op: the attributes ask for " +
                                 std::to_string(outcomes.size()) + " outputs; got " +
                                 std::to_string(results.size()) + " and " +
                                 std::to_string(gradients.size()) + " gradients by them");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto shape = shapeOf(network, outcomes[i], operands.steps, operands.batch);
    checkShape("output " + std::to_string(i), results[i], shape);
    checkShape("gradient by output " + std::to_string(i), gradients[i], shape);
  }
  if (network.inputGradients && operands.get(Role::Ids).elementType() != FLOAT)
    throw poputil::poplibs_error("LIF op: gradients=weights+inputs needs ids that are float, since "
                                 "a gradient has the type of its input");
  Backward backward(graph, network, operands, gradients, results);
  Program program = backward.build();
  found = backward.outputs();
  return program;
}

} // namespace lif
