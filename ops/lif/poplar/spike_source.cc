#include "spike_source.h"

#include <poputil/VertexTemplates.hpp>

#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;
using poplar::program::Copy;

SpikeSource::SpikeSource(IpuGraphs &graph, const TilePlan &plan, unsigned number, unsigned batch,
                         unsigned slots, Arrivals &arrivals)
    : number(number), slots(slots), stride(slots + slots % 2) {
  const std::string name = "source" + std::to_string(number);
  ids = sampleTensor(graph, poplar::UNSIGNED_SHORT, batch, 1, stride, plan, number, name + "/ids")
            .squeeze({1});
  counts = sampleTensor(graph, poplar::UNSIGNED_INT, batch, 1, 2, plan, number, name + "/counts")
               .squeeze({1});
  arrivals.zero(counts);
  sentIds = onNextIpu(graph, plan, number, ids, name + "/sent_ids");
  sentCounts = onNextIpu(graph, plan, number, counts, name + "/sent_counts");
  crosses = plan.crosses(number);
}

Tensor onNextIpu(IpuGraphs &graph, const TilePlan &plan, unsigned source, const Tensor &like,
                 const std::string &name) {
  if (!plan.crosses(source))
    return like;
  const Tensor t = graph.addVariable(like.elementType(), like.shape(), name);
  for (unsigned b = 0; b < like.dim(0); ++b)
    graph.setTileMapping(t[b], {plan.ipuOfLayer[source], plan.sampleTile(source, b).tile});
  return t;
}

void Crossing::add(const SpikeSource &source) {
  if (!source.crosses)
    return;
  ids.push_back(source.ids.flatten());
  sentIds.push_back(source.sentIds.flatten());
  add(source.counts, source.sentCounts);
}

void Crossing::add(const Tensor &from, const Tensor &to) {
  words.push_back(from.flatten());
  sentWords.push_back(to.flatten());
}

void Crossing::addTo(poplar::program::Sequence &program) const {
  if (!ids.empty())
    program.add(Copy(poplar::concat(ids), poplar::concat(sentIds), false, "cross/ids"));
  if (!words.empty())
    program.add(Copy(poplar::concat(words), poplar::concat(sentWords), false, "cross/counts"));
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
  given = arrivals.samples(givenIds, plan, 0, "ids");
  givenCounts = arrivals.samples(counted, plan, 0, "counts");
  const std::size_t batch = given.dim(0), steps = given.dim(1), slots = given.dim(2);
  const auto made = [&](const poplar::Type &type, std::size_t width, const char *name) {
    return sampleTensor(graph, type, batch, steps, width, plan, 0, name);
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
    NewVertex(graph, set, type, plan.sampleTile(0, static_cast<unsigned>(b)))
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
    const Place place = plan.sampleTile(source.number, static_cast<unsigned>(b));
    NewVertex(graph, set, type, place)
        .connect("ids", ids[b].flatten())
        .connect("counts", counts[b].flatten())
        .connect("step", step.on(place))
        .connect("takenIds", source.ids[b])
        .connect("takenCounts", source.counts[b])
        .set("steps", static_cast<unsigned>(ids.dim(1)))
        .set("offset", offset)
        .set("width", static_cast<unsigned>(ids.dim(2)))
        .set("countWidth", static_cast<unsigned>(counts.dim(2)))
        .estimate(6.0 * 25 + 8.5 * source.slots);
  }
}

void locateSpikes(IpuGraphs &graph, ComputeSet set, const TilePlan &plan, unsigned source,
                  unsigned senders, const Tensor &ids, const Tensor &counts, const StepNumber &step,
                  unsigned offset, const Tensor &starts) {
  const std::string type = poputil::templateVertex("LocateSpikes", ids.elementType());
  for (std::size_t b = 0; b < ids.dim(0); ++b) {
    const Place place = plan.sampleTile(source, static_cast<unsigned>(b));
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
