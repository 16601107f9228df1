#include "forward.h"

#include <algorithm>

#include <poputil/exceptions.hpp>

#include "forward_run.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Call;
using poplar::program::Copy;
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

/// The states after the last step of each segment but the last, in the layout of the states.
class Checkpoints {
public:
  /// None if the network recomputes nothing.
  Checkpoints(IpuGraphs &graph, const Network &network, const ForwardRun &run, unsigned steps,
              unsigned batch, Arrivals &arrivals)
      : batch(batch) {
    const unsigned segments = network.segments(steps);
    for (const LayerRun &layer : run.layers) {
      for (const NeuronTensor *state : {&layer.state.u, &layer.state.i}) {
        if (network.recompute == 0 || state->empty())
          continue;
        const std::size_t rows = std::size_t{std::max(1u, segments - 1)} * batch;
        const std::string &name = layer.neurons.plan->names[layer.neurons.number];
        states.push_back(*state);
        stored.emplace_back(graph, rows, state->tileParts(), name + "/checkpoints",
                            state->part(0).elementType());
        layers.push_back(layer.neurons.number);
        if (segments == 1)
          arrivals.zero(stored.back().all());
      }
    }
  }
  Program store(std::size_t checkpoint) const {
    std::vector<Tensor> from, to;
    for (std::size_t s = 0; s < states.size(); ++s) {
      for (std::size_t p = 0; p < states[s].tileParts().size(); ++p) {
        from.push_back(states[s].field(p));
        to.push_back(
            stored[s].part(p).slice(checkpoint * batch, (checkpoint + 1) * batch).flatten());
      }
    }
    return Copy(poplar::concat(from), poplar::concat(to), false, "checkpoint");
  }
  /// The states u of a layer, or i.
  Tensor dense(unsigned layer, bool synapse) const {
    std::size_t s = 0;
    while (layers[s] != layer)
      ++s;
    return stored[s + synapse].dense();
  }

private:
  unsigned batch;
  std::vector<NeuronTensor> states, stored;
  std::vector<unsigned> layers;
};

std::vector<Tensor> outputsOf(const Network &network, const ForwardRun &forward,
                              const Checkpoints &checkpoints, const CheckedInput &input,
                              unsigned steps, unsigned batch) {
  std::vector<Tensor> outputs;
  for (const Outcome &outcome : outcomesOf(network)) {
    const LayerRun &run = forward.layers[outcome.layer];
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
    case Result::Rise:
      t = run.state.raised.dense();
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
    case Result::Checkpoint:
    case Result::SynapseCheckpoint:
      t = checkpoints.dense(outcome.layer, outcome.result == Result::SynapseCheckpoint);
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
  const unsigned batch = operands.batch, steps = operands.steps;
  Arrivals arrivals(graph);
  ForwardRun run(graph, network, plan, operands, {true, network.recompute == 0}, "", arrivals);
  const Checkpoints checkpoints(graph, network, run, steps, batch, arrivals);
  const CheckedInput input(graph, plan, operands.get(Role::Ids), operands.get(Role::Counts),
                           network.inputs, !network.inputGradients, arrivals);
  const Counters counters(graph, plan, 0);
  const InputSpikes spikes{input.ids, input.counts};

  Sequence program;
  arrivals.addTo(program);
  program.add(input.check(graph, plan));
  program.add(counters.start());
  const ComputeSet first = graph.addComputeSet("take_first_input");
  run.takeInput(first, spikes, counters);
  program.add(Execute(first));
  const Sequence step = run.step(spikes, counters, counters);
  if (network.recompute == 0) {
    program.add(Repeat(steps, step));
  } else {
    const poplar::Function once = whole.addFunction(step);
    for (unsigned begin = 0; begin < steps; begin += network.recompute) {
      if (begin != 0)
        program.add(checkpoints.store(begin / network.recompute - 1));
      program.add(Repeat(std::min(network.recompute, steps - begin), Call(once)));
    }
  }
  outputs = outputsOf(network, run, checkpoints, input, steps, batch);
  return std::move(program);
}

} // namespace lif
