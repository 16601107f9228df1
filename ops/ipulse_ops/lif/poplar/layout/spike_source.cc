#include "spike_source.h"

#include <algorithm>

#include <poputil/VertexTemplates.hpp>

#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;
using poplar::program::Copy;

SentTensor::SentTensor(IpuGraphs &graph, const poplar::Type &type, std::size_t batch,
                       std::size_t width, const TilePlan &plan, unsigned source,
                       const std::vector<unsigned> &makers, const std::string &name)
    : makers(makers), byIpu(plan.ipus) {
  for (const unsigned ipu : plan.ipusWith(source)) {
    byIpu[ipu] =
        sampleTensor(graph, type, batch, 1, width, plan.samples(source, ipu), name).squeeze({1});
    if (!std::count(makers.begin(), makers.end(), ipu))
      others.push_back(ipu);
  }
}

SpikeSource::SpikeSource(IpuGraphs &graph, const TilePlan &plan, unsigned number, std::size_t batch,
                         unsigned slots, const std::vector<unsigned> &makers, Arrivals &arrivals)
    : number(number), batch(batch), slots(slots), stride(slots + slots % 2) {
  const std::string name = number == 0 ? "input" : plan.names[number - 1];
  ids = SentTensor(graph, poplar::UNSIGNED_SHORT, batch, stride, plan, number, makers,
                   name + "/sent_ids");
  counts = SentTensor(graph, poplar::UNSIGNED_INT, batch, 2, plan, number, makers,
                      name + "/sent_counts");
  for (const unsigned ipu : makers)
    arrivals.zero(counts.on(ipu));
}

void Crossing::add(const SpikeSource &source) {
  add(source.ids);
  add(source.counts);
}

void Crossing::add(const SentTensor &sent) {
  for (const unsigned ipu : sent.sentTo())
    add(sent.home(), sent.on(ipu));
}

void Crossing::add(const Tensor &from, const Tensor &to) {
  const bool id = from.elementType() == poplar::UNSIGNED_SHORT;
  (id ? ids : words).push_back(from.flatten());
  (id ? sentIds : sentWords).push_back(to.flatten());
}

void Crossing::addTo(poplar::program::Sequence &program, const std::string &name) const {
  if (!ids.empty())
    program.add(Copy(poplar::concat(ids), poplar::concat(sentIds), false, name + "ids"));
  if (!words.empty())
    program.add(Copy(poplar::concat(words), poplar::concat(sentWords), false, name + "counts"));
}

StepNumber::StepNumber(IpuGraphs &graph, const TilePlan &plan, const std::string &name) {
  for (unsigned ipu = 0; ipu < plan.ipus; ++ipu)
    byIpu.push_back(graph.addVariable(poplar::UNSIGNED_INT, {}, plan.counterTile(ipu), name));
}

Tensor StepNumber::all() const {
  std::vector<Tensor> each;
  for (const Tensor &t : byIpu)
    each.push_back(t.reshape({1}));
  return poplar::concat(each);
}

Counters::Counters(IpuGraphs &graph, const TilePlan &plan, unsigned firstStep)
    : next(graph, plan, "next_step"), now(graph, plan, "step") {
  first = graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {1}, firstStep, plan.counterTile(0));
  for (unsigned ipu = 0; ipu < plan.ipus; ++ipu)
    tiles.push_back(plan.counterTile(ipu));
}

void Counters::advance(IpuGraphs &graph, ComputeSet set, int by) const {
  for (const Place place : tiles)
    NewVertex(graph, set, "AdvanceStep", place)
        .connect("next", next.on(place))
        .connect("now", now.on(place))
        .set("by", by)
        .estimate(150);
}

poplar::program::Program Counters::start() const {
  const auto ipus = static_cast<unsigned>(tiles.size());
  return Copy(first.broadcast(ipus, 0), next.all(), false, "start");
}

CheckedInput::CheckedInput(IpuGraphs &graph, const TilePlan &plan, const Tensor &givenIds,
                           const Tensor &counted, unsigned neurons, bool sorts, Arrivals &arrivals)
    : neurons(neurons), sorts(sorts) {
  given = arrivals.samples(givenIds, plan.samples(0), "ids");
  givenCounts = arrivals.samples(counted, plan.samples(0), "counts");
  const std::size_t batch = given.dim(0), steps = given.dim(1), slots = given.dim(2);
  const auto made = [&](const poplar::Type &type, std::size_t width, const char *name) {
    return sampleTensor(graph, type, batch, steps, width, plan.samples(0), name);
  };
  ids = made(poplar::UNSIGNED_SHORT, slots + slots % 2, "checked_ids");
  counts = made(poplar::UNSIGNED_SHORT, 2, "checked_counts");
  ignored = made(poplar::FLOAT, 1, "ignored");
}

poplar::program::Program CheckedInput::check(IpuGraphs &graph, const TilePlan &plan) const {
  const ComputeSet set = graph.addComputeSet("check_input");
  const std::string type = poputil::templateVertex("CheckInput", given.elementType());
  const auto steps = static_cast<unsigned>(given.dim(1)), slots = unsigned(given.dim(2));
  for (std::size_t b = 0; b < given.dim(0); ++b)
    NewVertex(graph, set, type, plan.samples(0)[b])
        .connect("ids", given[b].flatten())
        .connect("counts", givenCounts[b].flatten())
        .connect("checkedIds", ids[b].flatten())
        .connect("checkedCounts", counts[b].flatten())
        .connect("ignored", ignored[b].flatten())
        .set("steps", steps)
        .set("slots", slots)
        .set("stride", static_cast<unsigned>(ids.dim(2)))
        .set("countWidth", static_cast<unsigned>(givenCounts.dim(2)))
        .set("neurons", neurons)
        .set("sorts", sorts)
        .estimate(6.0 * (20 + shareOf(steps) * (20 + 18.5 * slots)));
  return poplar::program::Execute(set);
}

void takeSpikes(IpuGraphs &graph, ComputeSet set, const TilePlan &plan, const SpikeSource &source,
                const Tensor &ids, const Tensor &counts, const StepNumber &step, unsigned offset) {
  const std::string type = poputil::templateVertex("TakeSpikes", ids.elementType());
  for (std::size_t b = 0; b < ids.dim(0); ++b) {
    const Place place = plan.samples(source.number)[b];
    NewVertex(graph, set, type, place)
        .connect("ids", ids[b].flatten())
        .connect("counts", counts[b].flatten())
        .connect("step", step.on(place))
        .connect("takenIds", source.ids.home()[b])
        .connect("takenCounts", source.counts.home()[b])
        .set("steps", static_cast<unsigned>(ids.dim(1)))
        .set("offset", offset)
        .set("width", static_cast<unsigned>(ids.dim(2)))
        .set("countWidth", static_cast<unsigned>(counts.dim(2)))
        .estimate(6.0 * 50 + 8.5 * source.slots);
  }
}

void locateSpikes(IpuGraphs &graph, ComputeSet set, const TilePlan &plan, unsigned source,
                  unsigned senders, const Tensor &ids, const Tensor &counts, const StepNumber &step,
                  unsigned offset, const Tensor &starts) {
  const std::string type = poputil::templateVertex("LocateSpikes", ids.elementType());
  for (std::size_t b = 0; b < ids.dim(0); ++b) {
    const Place place = plan.samples(source)[b];
    NewVertex(graph, set, type, place)
        .connect("ids", ids[b].flatten())
        .connect("counts", counts[b].flatten())
        .connect("step", step.on(place))
        .connect("starts", starts[b])
        .set("steps", static_cast<unsigned>(ids.dim(1)))
        .set("offset", offset)
        .set("width", static_cast<unsigned>(ids.dim(2)))
        .set("countWidth", static_cast<unsigned>(counts.dim(2)))
        .set("senders", senders)
        .estimate(6.0 * 100);
  }
}

} // namespace lif
