// The steps of the backward pass's time loop.
#include "backward_pass.h"

#include <algorithm>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;
using poplar::program::Call;
using poplar::program::Copy;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Repeat;
using poplar::program::Sequence;

namespace {

const std::string kTogether = "all_layers/"; // steps of several layers

} // namespace

Program BackwardPass::build() {
  Sequence program, step;
  arrivals.addTo(program);
  program.add(input.check(graph, plan));
  const ComputeSet take = newSet(kTogether + "take_spikes");
  takeAll(take);
  step.add(Execute(take));
  Crossing crossing;
  for (unsigned source = 0; source < sources.size(); ++source) {
    crossing.add(sources[source]);
    crossing.add(starts[source]);
  }
  crossing.addTo(step, "backward/" + kTogether + "cross/");
  if (network.delay)
    addStepOfAll(step);
  else
    addStepOfEach(step);
  if (segments) {
    addSegments(program, step);
  } else {
    program.add(counters.start());
    program.add(Repeat(operands.steps + network.delay, step));
  }
  if (network.constantGradients) {
    const ComputeSet sums = newSet("sum_constants");
    for (const LayerAdjoint &layer : layers)
      layer.sumConstants(graph, sums);
    program.add(Execute(sums));
  }
  return std::move(program);
}

void BackwardPass::addSegments(Sequence &program, const Program &step) {
  const poplar::Function once = graph.whole.addFunction(step);
  Sequence body;
  segments->addRun(body);
  body.add(counters.start());
  body.add(Repeat(span.steps, Call(once)));
  const poplar::Function segment = graph.whole.addFunction(body);
  const unsigned delay = network.delay;
  for (unsigned s = segments->count(); s-- > 0;) {
    segments->addArrival(program, s);
    program.add(Call(segment));
    addInputGradients(program, s * span.steps + delay, delay, span.steps);
  }
  if (delay) { // the input's spikes of step 0, one step behind
    program.add(Call(once));
    addInputGradients(program, 0, 0, delay);
  }
}

void BackwardPass::addInputGradients(Sequence &program, unsigned begin, unsigned first,
                                     unsigned rows) const {
  const unsigned end = std::min(begin + rows, operands.steps);
  if (!network.inputGradients || begin >= end)
    return;
  program.add(Copy(gradOfGiven.slice(first, first + end - begin, 1), gradIds.slice(begin, end, 1),
                   false, "backward/recompute/grad_ids"));
}

void BackwardPass::takeAll(ComputeSet set) {
  const auto take = [&](unsigned source, const Tensor &ids, const Tensor &counts, unsigned offset) {
    takeSpikes(graph, set, plan, sources[source], ids, counts, counters.next, offset);
    if (starts[source].valid())
      locateSpikes(graph, set, plan, source, network.senders(source), ids, counts, counters.next,
                   offset, starts[source].home());
  };
  take(0, spikes.ids, spikes.counts, network.delay);
  for (unsigned l = 0; l < layers.size(); ++l)
    if (network.layers[l].spiking)
      take(l + 1, layers[l].record.ids, layers[l].record.counts, 0);
}

void BackwardPass::spread(ComputeSet set, unsigned l, std::size_t matrix) {
  const SlotSums *sums = (matrix == 0 ? inputSums : ownSums)[l].get();
  if (sums)
    sums->partials(graph, set, layers[l].gradCurrent);
  const unsigned from = matrix == 0 ? l : l + 1;
  layers[l].addWeightGradients(graph, set, matrix, sources[from], starts[from]);
  if (matrix == 0)
    layers[l].addBiasGradients(graph, set);
}

void BackwardPass::slotGradients(ComputeSet set, unsigned l) {
  std::vector<const SlotSums *> sums;
  if (l + 1 < layers.size())
    sums.push_back(inputSums[l + 1].get());
  if (ownSums[l])
    sums.push_back(ownSums[l].get());
  layers[l].slotGradients(graph, set, *own(l), sums, counters.now);
}

void BackwardPass::recordInputGradients(ComputeSet set) {
  for (unsigned b = 0; b < operands.batch; ++b) {
    const Tensor sums = sumsOfSample({inputSums[0].get()}, b);
    const Place place = plan.samples(0)[b];
    NewVertex(graph, set, "RecordInputGradients", place)
        .connect("sums", sums.flatten())
        .connect("ids", given[b].flatten())
        .set("neurons", network.inputs)
        .connect("counts", sources[0].counts.home()[b])
        .connect("step", counters.now.on(place))
        .connect("history", gradOfGiven[b].flatten())
        .set("steps", static_cast<unsigned>(given.dim(1)))
        .set("offset", network.delay)
        .set("slots", network.inputSlots)
        .set("groups", static_cast<unsigned>(sums.dim(0)))
        .set("width", sources[0].stride)
        .estimate(6.0 * (200 + network.inputSlots * (16.0 + 5 * sums.dim(0))));
  }
}

void BackwardPass::addStepOfAll(Sequence &step) {
  const ComputeSet spreading = newSet(kTogether + "spread"), summing = newSet(kTogether + "sum");
  const ComputeSet slots = newSet(kTogether + "slot_gradients"),
                   states = newSet(kTogether + "adjoint");
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

void BackwardPass::addStepOfEach(Sequence &step) {
  const ComputeSet recurrent = newSet(kTogether + "spread_recurrent"),
                   summing = newSet(kTogether + "sum_recurrent");
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
    const std::string &name = plan.names[l];
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

} // namespace lif
