#include "forward_run.h"

#include "forward.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Sequence;

ForwardRun::ForwardRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                       const Operands &operands, Stored stored, const std::string &prefix,
                       Arrivals &arrivals)
    : ForwardRun(graph, network, plan, operands, {}, stored, prefix, arrivals) {}

ForwardRun::ForwardRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                       const Operands &operands, const std::vector<Neurons> &neurons, Stored stored,
                       const std::string &prefix, Arrivals &arrivals)
    : graph(graph), network(network), plan(plan), batch(operands.batch), prefix(prefix),
      seed(graph, plan, operands.get(Role::Seed), arrivals) {
  const auto addSource = [&](unsigned number, unsigned slots) {
    sources.emplace_back(graph, plan, number, batch, slots, plan.ipusOf(number), arrivals);
  };
  addSource(0, network.inputSlots);
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    if (network.layers[l].spiking)
      addSource(l + 1, network.layers[l].slots);
    layers.push_back(
        newRun(graph, network, plan, operands,
               neurons.empty() ? Neurons(graph, network, plan, operands, l, arrivals) : neurons[l],
               stored, arrivals));
  }
}

void ForwardRun::takeInput(ComputeSet set, const InputSpikes &input,
                           const Counters &counters) const {
  takeSpikes(graph, set, plan, sources[0], input.ids, input.counts, counters.next, 0);
}

// A step: every stage updates its neurons, lists who may get a slot, and fills the slots.
Sequence ForwardRun::step(const InputSpikes &input, const Counters &counters,
                          const Counters &drawn) {
  Sequence program;
  const auto stages = stagesOf(network);
  for (std::size_t s = 0; s < stages.size(); ++s)
    addStage(program, stages[s], s == 0, s + 1 == stages.size(), input, counters, drawn);
  return program;
}

// The first stage's second compute set also advances the counters, and the last stage's third also
// takes the input of the next step.
void ForwardRun::addStage(Sequence &step, const std::vector<unsigned> &stage, bool first, bool last,
                          const InputSpikes &input, const Counters &counters,
                          const Counters &drawn) {
  const std::string name = prefix + (stage.size() > 1 ? "all_layers" : plan.names[stage[0]]);
  const ComputeSet update = graph.addComputeSet(name + "/integrate");
  const ComputeSet list = graph.addComputeSet(name + "/list_candidates");
  const ComputeSet merge = graph.addComputeSet(name + "/merge_candidates");
  const ComputeSet join = graph.addComputeSet(name + "/join_candidates");
  Crossing sent, candidates;
  if (first)
    counters.advance(graph, list, 1);
  if (first && &drawn != &counters)
    drawn.advance(graph, list, 1);
  const StepNumber &atUpdate = first ? counters.next : counters.now;
  const StepNumber &drawnAt = first ? drawn.next : drawn.now;
  for (const unsigned l : stage) {
    const LayerRun &run = layers[l];
    sent.add(sources[l]);
    integrate(graph, update, network, run.neurons, sources, batch, run.state, atUpdate, drawnAt,
              seed);
    for (std::size_t r = 0; r < run.offsets.size(); ++r)
      drawOffsets(graph, update, plan.samples(l + 1, plan.ranges[l][r].ipu),
                  network.layers[l].neurons, seed, drawnAt, run.offsets[r]);
    record(graph, join, run, batch, counters.now);
    for (const Selection &selection : run.selection)
      selection.list(graph, list, run.state.compared().dense());
    for (const SplitSelection &split : run.split) {
      split.merge(graph, merge, run.selection, batch);
      split.addTo(candidates);
      split.join(graph, join, sources[l + 1], run.slots, run.offsets, counters.now);
    }
    if (run.selection.size() == 1)
      run.selection[0].join(graph, join, plan, sources[l + 1], run.slots[0], counters.now);
  }
  if (last)
    takeInput(join, input, counters);
  sent.addTo(step, name + "/cross/");
  step.add(Execute(update));
  step.add(Execute(list));
  if (!candidates.empty())
    step.add(Execute(merge));
  candidates.addTo(step, name + "/cross/candidates/");
  step.add(Execute(join));
}

std::vector<Tensor> ForwardRun::states() const {
  std::vector<Tensor> found;
  for (const LayerRun &run : layers) {
    found.push_back(run.state.u.dense());
    if (!run.state.i.empty())
      found.push_back(run.state.i.dense());
    for (const NeuronTensor *state : {&run.state.rise, &run.state.shifted})
      if (!state->empty())
        found.push_back(state->dense());
  }
  return found;
}

} // namespace lif
