#include "forward.h"

#include <poputil/exceptions.hpp>

#include "layer_run.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Repeat;
using poplar::program::Sequence;

TilePlan planFor(const Graph &graph, const Network &network, unsigned batch) {
  const poplar::Target &target = graph.getTarget();
  const unsigned perIpu = std::min(target.getTilesPerIPU(), target.getNumTiles());
  if (target.getNumTiles() < network.ipus * perIpu)
    throw poputil::poplibs_error("LIF op: ipus=" + std::to_string(network.ipus) +
                                 " and the graph has " + std::to_string(target.getNumIPUs()));
  return TilePlan(network, batch, perIpu);
}

std::vector<std::vector<unsigned>> stagesOf(const Network &network) {
  std::vector<std::vector<unsigned>> stages;
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    if (network.delay == 0 || l == 0)
      stages.emplace_back();
    stages.back().push_back(l);
  }
  return stages;
}

namespace {

std::vector<Tensor> outputsOf(const Network &network, const std::vector<LayerRun> &runs,
                              const CheckedInput &input, unsigned steps, unsigned batch) {
  std::vector<Tensor> outputs;
  for (const Outcome &outcome : outcomesOf(network)) {
    const LayerRun &run = runs[outcome.layer];
    const auto byTime = [](const Tensor &t) { return t.dimShuffle({1, 0, 2}); };
    const auto byRange = [&](std::size_t value) { // [time, batch, ranges, slots]
      std::vector<Tensor> each;
      for (const SlotHistory &slots : run.slots)
        each.push_back(byTime(slots.values[value]).expand({2}));
      return poplar::concat(each, 2);
    };
    Tensor t;
    switch (outcome.result) {
    case Result::Membrane:
      t = run.membranes.dense();
      break;
    case Result::Ignored:
      t = byTime(input.ignored);
      break;
    case Result::Resets:
      t = run.resets.dense();
      break;
    case Result::Carried:
      t = run.state.carried.dense();
      break;
    case Result::Current:
      t = run.state.current.dense();
      break;
    case Result::SpikeIds:
      t = byTime(run.slots[0].ids);
      break;
    case Result::SpikeCounts:
      t = byTime(run.slots[0].counts);
      break;
    case Result::Dropped:
      t = byTime(run.slots[0].dropped);
      break;
    case Result::Surrogate:
      t = byRange(0);
      break;
    case Result::SlotMembrane:
      t = byRange(1);
      break;
    }
    outputs.push_back(t.reshape(shapeOf(network, outcome, steps, batch)));
  }
  return outputs;
}

} // namespace

Program buildForward(Graph &whole, const Network &network, const Operands &operands,
                     std::vector<Tensor> &outputs) {
  const TilePlan plan = planFor(whole, network, operands.batch);
  IpuGraphs graph(whole, plan);
  const unsigned batch = operands.batch;
  Arrivals arrivals(graph);
  std::vector<SpikeSource> sources;
  std::vector<LayerRun> runs;
  const auto addSource = [&](unsigned number, unsigned slots) {
    sources.emplace_back(graph, plan, number, batch, slots, plan.ipusOf(number), arrivals);
  };
  addSource(0, network.inputSlots);
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    if (network.layers[l].spiking)
      addSource(l + 1, network.layers[l].slots);
    runs.push_back(newRun(graph, network, plan, operands, l, arrivals));
  }
  const CheckedInput input(graph, plan, operands.get(Role::Ids), operands.get(Role::Counts),
                           network.inputs, !network.inputGradients, arrivals);
  const SeedCopies seed(graph, plan, operands.get(Role::Seed), arrivals);
  const Counters counters(graph, plan, 0);
  const auto takeInput = [&](ComputeSet set) {
    takeSpikes(graph, set, plan, sources[0], input.ids, input.counts, counters.next, 0);
  };

  Sequence program;
  arrivals.addTo(program);
  program.add(input.check(graph, plan));
  program.add(counters.start());
  const ComputeSet first = graph.addComputeSet("take_first_input");
  takeInput(first);
  program.add(Execute(first));

  // A step: every stage updates its neurons, lists who may get a slot, and fills the slots. What is
  // done on the side goes along: the first stage's second compute set advances the counters, the
  // last stage's third takes the input of the next step.
  Sequence step;
  const auto stages = stagesOf(network);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::string name = stages[s].size() > 1 ? "all_layers" : plan.names[stages[s][0]];
    const ComputeSet update = graph.addComputeSet(name + "/integrate");
    const ComputeSet list = graph.addComputeSet(name + "/list_candidates");
    const ComputeSet merge = graph.addComputeSet(name + "/merge_candidates");
    const ComputeSet join = graph.addComputeSet(name + "/join_candidates");
    Crossing sent, candidates;
    if (s == 0)
      counters.advance(graph, list, 1);
    const StepNumber &atUpdate = s == 0 ? counters.next : counters.now;
    for (const unsigned l : stages[s]) {
      const LayerRun &run = runs[l];
      sent.add(sources[l]);
      integrate(graph, update, network, run.neurons, sources, batch, run.state, atUpdate);
      for (std::size_t r = 0; r < run.offsets.size(); ++r)
        drawOffsets(graph, update, plan.samples(l + 1, plan.ranges[l][r].ipu),
                    network.layers[l].neurons, seed, atUpdate, run.offsets[r]);
      record(graph, join, run, batch, counters.now);
      for (const Selection &selection : run.selection)
        selection.list(graph, list, run.state.u.dense());
      for (const SplitSelection &split : run.split) {
        split.merge(graph, merge, run.selection, batch);
        split.addTo(candidates);
        split.join(graph, join, sources[l + 1], run.slots, run.offsets, counters.now);
      }
      if (run.selection.size() == 1)
        run.selection[0].join(graph, join, plan, sources[l + 1], run.slots[0], counters.now);
    }
    if (s + 1 == stages.size())
      takeInput(join);
    sent.addTo(step, name + "/cross/");
    step.add(Execute(update));
    step.add(Execute(list));
    if (!candidates.empty())
      step.add(Execute(merge));
    candidates.addTo(step, name + "/cross/candidates/");
    step.add(Execute(join));
  }
  program.add(Repeat(operands.steps, step));
  outputs = outputsOf(network, runs, input, operands.steps, batch);
  return std::move(program);
}

} // namespace lif
