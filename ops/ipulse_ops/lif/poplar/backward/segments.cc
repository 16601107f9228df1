#include "segments.h"

#include <algorithm>
#include <map>

#include <popops/Cast.hpp>
#include <popops/Zero.hpp>

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;
using poplar::program::Call;
using poplar::program::Copy;
using poplar::program::Execute;
using poplar::program::Repeat;
using poplar::program::Sequence;

namespace {

const std::string kPrefix = "backward/recompute/";

} // namespace

/// Copies of all types, in few programs.
struct Segments::Copies {
  std::map<std::string, std::vector<Tensor>> from, to, zeros;
  std::vector<Tensor> narrow, wide; // halves that are cast to floats after the copies

  void clear(const Tensor &target) { zeros[target.elementType().toString()].push_back(target); }
  void cast(const NeuronTensor &source, const NeuronTensor &target) {
    narrow.push_back(source.all());
    wide.push_back(target.all());
  }
  void add(const Tensor &source, const Tensor &target) {
    const std::string type = target.elementType().toString();
    from[type].push_back(source.flatten());
    to[type].push_back(target.flatten());
  }
  void addTo(poplar::Graph &graph, Sequence &program) const {
    for (const auto &one : from)
      program.add(Copy(poplar::concat(one.second), poplar::concat(to.at(one.first)), false,
                       kPrefix + "arrange"));
    for (const auto &one : zeros)
      popops::zero(graph, poplar::concat(one.second), program, kPrefix + "clear");
    if (!narrow.empty())
      program.add(
          popops::cast(graph, poplar::concat(narrow), poplar::concat(wide), kPrefix + "widen"));
  }
};

Segments::Segments(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                   const Operands &operands, const std::vector<Neurons> &neurons,
                   const CheckedInput &input, const std::vector<Tensor> &gradients,
                   const std::vector<Tensor> &results, Arrivals &arrivals)
    : graph(graph), network(network), plan(plan), operands(operands),
      span(operands.over(network.recompute)), whole(input), gradients(gradients), results(results),
      forward(graph, network, plan, span, neurons, {false, true}, kPrefix, arrivals),
      counters(graph, plan, 0), drawn(graph, plan, 0) {
  const std::size_t batch = operands.batch;
  const auto cleared = [&](const poplar::Type &type, std::size_t rows, std::size_t width,
                           const SampleTiles &tiles, const std::string &name) {
    const Tensor t = sampleTensor(graph, type, batch, rows, width, tiles, name);
    arrivals.zero(t);
    return t;
  };
  const std::size_t inputs = span.steps + network.delay;
  spikes.ids = cleared(poplar::UNSIGNED_SHORT, inputs, input.ids.dim(2), plan.samples(0),
                       kPrefix + "input_ids");
  spikes.counts =
      cleared(poplar::UNSIGNED_SHORT, inputs, 2, plan.samples(0), kPrefix + "input_counts");
  if (network.inputGradients)
    givenIds = cleared(FLOAT, inputs, network.inputSlots, plan.samples(0), kPrefix + "given_ids");
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    const std::string name = kPrefix + plan.names[l];
    OfLayer of;
    if (layer.membrane)
      of.direct = arrivals.zeros(span.steps * batch, plan.layers[l], name + "/grad_membrane");
    if (layer.synapse && network.constantGradients)
      of.before = arrivals.zeros(batch, plan.layers[l], name + "/i_before");
    if (layer.spiking) {
      const SampleTiles home = plan.samples(l + 1);
      of.ids = cleared(FLOAT, 1, layer.slots, home, name + "/ids_before");
      of.counts = cleared(FLOAT, 1, 2, home, name + "/counts_before");
      for (const Range &range : plan.ranges[l])
        of.gradSlots.push_back(cleared(FLOAT, span.steps, layer.slots,
                                       plan.samples(l + 1, range.ipu), name + "/grad_slots"));
    }
    layers.push_back(std::move(of));
  }
}

LayerRecord Segments::record(unsigned l) const {
  const LayerRun &run = forward.layers[l];
  LayerRecord record;
  record.direct = layers[l].direct;
  record.before = layers[l].before;
  record.carried = run.state.carried;
  record.current = run.state.current;
  record.resets = run.resets;
  record.gradSlots = layers[l].gradSlots;
  for (const SlotHistory &slots : run.slots) {
    record.phi.push_back(slots.values[0]);
    if (slots.values.size() > 1)
      record.membranes.push_back(slots.values[1]);
  }
  if (!run.slots.empty()) {
    record.ids = run.slots[0].ids;
    record.counts = run.slots[0].counts;
  }
  return record;
}

void Segments::addArrival(Sequence &program, unsigned number) const {
  const unsigned begin = number * span.steps, end = std::min(begin + span.steps, operands.steps);
  Copies copies;
  addStart(copies, number);
  addGradients(copies, begin, end);
  addInput(copies, begin, std::min(begin + span.steps + network.delay, operands.steps));
  copies.addTo(graph.whole, program);
  if (!network.needsSeed())
    return;
  const Tensor first =
      graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {1}, begin, plan.counterTile(0));
  program.add(Copy(first.broadcast(plan.ipus, 0), drawn.next.all(), false, kPrefix + "start"));
}

void Segments::addStart(Copies &copies, unsigned number) const {
  for (unsigned l = 0; l < layers.size(); ++l) {
    const OfLayer &of = layers[l];
    const NeuronState &state = forward.layers[l].state;
    if (number == 0) { // from rest
      copies.clear(state.u.all());
      if (!state.i.empty())
        copies.clear(state.i.all());
      if (!of.before.empty())
        copies.clear(of.before.all());
      if (of.counts.valid())
        copies.clear(of.counts.flatten());
      continue;
    }
    copies.add(result(Result::Checkpoint, l)[number - 1], state.u.dense());
    if (!state.i.empty())
      copies.add(result(Result::SynapseCheckpoint, l)[number - 1], state.i.dense());
    if (!of.before.empty()) {
      if (network.states == States::Float)
        copies.add(result(Result::SynapseCheckpoint, l)[number - 1], of.before.dense());
      else
        copies.cast(state.i, of.before);
    }
    if (of.counts.valid()) {
      const unsigned before = number * span.steps - 1;
      copies.add(result(Result::SpikeIds, l)[before], of.ids);
      copies.add(result(Result::SpikeCounts, l)[before], of.counts);
    }
  }
}

void Segments::addGradients(Copies &copies, unsigned begin, unsigned end) const {
  for (unsigned l = 0; l < layers.size(); ++l) {
    const OfLayer &of = layers[l];
    if (!of.direct.empty() && gradient(Result::Membrane, l).valid())
      copies.add(gradient(Result::Membrane, l).slice(begin, end),
                 of.direct.dense().slice(0, std::size_t{end - begin} * operands.batch));
    for (const Tensor &slots : of.gradSlots)
      if (gradient(Result::SpikeIds, l).valid())
        copies.add(gradient(Result::SpikeIds, l).slice(begin, end).dimShuffle({1, 0, 2}),
                   slots.slice(0, end - begin, 1));
  }
}

void Segments::addInput(Copies &copies, unsigned begin, unsigned end) const {
  const auto take = [&](const Tensor &from, const Tensor &to) {
    copies.add(from.slice(begin, end, 1), to.slice(0, end - begin, 1));
  };
  take(whole.ids, spikes.ids);
  take(whole.counts, spikes.counts);
  if (givenIds.valid())
    take(whole.given, givenIds);
}

void Segments::addRun(Sequence &program) {
  program.add(counters.start());
  const ComputeSet take = graph.addComputeSet(kPrefix + "take_spikes");
  forward.takeInput(take, spikes, counters);
  Crossing crossing;
  for (unsigned l = 0; l < layers.size(); ++l) {
    if (!layers[l].counts.valid())
      continue;
    // The spikes before the segment are wanted by recurrent layers, by resets on emission and, with
    // a delay, by the next layer, on every IPU.
    const SpikeSource &source = forward.sources[l + 1];
    takeSpikes(graph, take, plan, source, layers[l].ids, layers[l].counts, counters.next, 0);
    const unsigned home = plan.ipusOf(l + 1)[0];
    for (const unsigned ipu : plan.ipusWith(l + 1)) {
      if (ipu == home)
        continue;
      crossing.add(source.ids.on(home), source.ids.on(ipu));
      crossing.add(source.counts.on(home), source.counts.on(ipu));
    }
  }
  program.add(Execute(take));
  crossing.addTo(program, kPrefix + "cross/");
  program.add(
      Repeat(span.steps, forward.step(spikes, counters, network.needsSeed() ? drawn : counters)));
}

} // namespace lif
