#include "selection.h"

#include <algorithm>
#include <limits>

#include <poputil/VertexTemplates.hpp>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;

double joinCost(std::size_t lists, unsigned listSlots, unsigned slots, bool cyclic) {
  const double all = 6.0 * (30 + 37.0 * static_cast<double>(lists)) + 40.0 * slots;
  return all + (cyclic ? 6.0 * (24.0 * static_cast<double>(lists) + 8.0 * listSlots) : 0.0);
}

Selection::Selection(IpuGraphs &graph, const Surrogate &surrogate, Policy policy,
                     const Range &range, const Tensor &threshold, const Tensor &secondThreshold,
                     unsigned slots, bool membranes, Arrivals &arrivals, const std::string &layer)
    : surrogate(surrogate), policy(policy), range(range) {
  // The policy "top" compares membranes once more when lists are joined.
  const unsigned values = membranes || policy == Policy::Top ? 2 : 1;
  listSlots = 0;
  for (const Chunk &chunk : range.chunks)
    listSlots = std::max(listSlots, std::min(slots, chunk.neurons));
  stride = listSlots + listSlots % 2;
  const std::vector<float> table =
      surrogate.table.empty() ? std::vector<float>(2, 0.0f) : surrogate.table;
  for (const Chunk &chunk : range.chunks) {
    const auto variable = [&](const poplar::Type &type, std::vector<std::size_t> shape,
                              const char *name) {
      return graph.addVariable(type, shape, chunk.place, layer + "/candidates/" + name);
    };
    const auto local = [&](const Tensor &given) {
      const Tensor t = variable(FLOAT, {chunk.neurons}, "threshold");
      arrivals.copy(given.slice(chunk.firstNeuron, chunk.firstNeuron + chunk.neurons), t);
      return t;
    };
    Lists made;
    made.threshold = local(threshold);
    if (secondThreshold.valid()) {
      made.secondThreshold = local(secondThreshold);
    } else {
      made.secondThreshold = graph.addConstant<float>(
          FLOAT, {chunk.neurons}, std::numeric_limits<float>::lowest(), chunk.place);
    }
    made.table = graph.addConstant<float>(FLOAT, {table.size()}, table.data(), chunk.place);
    made.ids = variable(poplar::UNSIGNED_SHORT, {chunk.samples, stride}, "ids");
    made.counts = variable(poplar::UNSIGNED_INT, {chunk.samples, 2}, "counts");
    for (unsigned v = 0; v < values; ++v)
      made.values.push_back(variable(FLOAT, {chunk.samples, stride}, "values"));
    lists.push_back(std::move(made));
  }
}

Tensor Selection::offsetsOf(IpuGraphs &graph, const Chunk &chunk) const {
  if (offsets.valid())
    return offsets.slice(chunk.firstSample, chunk.firstSample + chunk.samples);
  return graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {chunk.samples}, 0u, chunk.place);
}

void Selection::list(IpuGraphs &graph, ComputeSet set, const Tensor &u) const {
  for (std::size_t c = 0; c < lists.size(); ++c) {
    const Chunk &chunk = range.chunks[c];
    std::vector<Tensor> values;
    for (const Tensor &t : lists[c].values)
      values.push_back(t.flatten());
    const Tensor own = u.slice(chunk.firstSample, chunk.firstSample + chunk.samples)
                           .slice(chunk.firstNeuron, chunk.firstNeuron + chunk.neurons, 1);
    const bool top = policy == Policy::Top;
    const std::string type =
        poputil::templateVertex(top ? "ListTopCandidates" : "ListCandidates", u.elementType());
    NewVertex vertex(graph, set, type, chunk.place);
    vertex.connect("u", own.flatten())
        .connect("threshold", lists[c].threshold)
        .connect("secondThreshold", lists[c].secondThreshold)
        .connect("table", lists[c].table)
        .connect("ids", lists[c].ids.flatten())
        .connect("values", values)
        .connect("counts", lists[c].counts.flatten())
        .set("samples", chunk.samples)
        .set("neurons", chunk.neurons)
        .set("firstNeuron", chunk.firstNeuron)
        .set("slots", listSlots)
        .set("stride", stride)
        .set("kind", surrogate.kind)
        .set("parameter", surrogate.parameter)
        .estimate(
            6.0 *
            (180 + (top ? 22.4 : 9.4) * chunk.neurons + 30 * std::min(chunk.neurons, listSlots) +
             (top && chunk.neurons > listSlots ? 21.0 * chunk.neurons + 22.0 * listSlots : 0.0)));
    if (!top)
      vertex.connect("offsets", offsetsOf(graph, chunk));
  }
}

Candidates Selection::ofSample(std::size_t sample) const {
  std::vector<Tensor> ids, counts;
  std::vector<std::vector<Tensor>> values(lists[0].values.size());
  for (std::size_t c = 0; c < lists.size(); ++c) {
    const Chunk &chunk = range.chunks[c];
    if (sample < chunk.firstSample || sample >= chunk.firstSample + chunk.samples)
      continue;
    const std::size_t row = sample - chunk.firstSample;
    ids.push_back(lists[c].ids[row].expand({0}));
    counts.push_back(lists[c].counts[row].expand({0}));
    for (std::size_t v = 0; v < values.size(); ++v)
      values[v].push_back(lists[c].values[v][row]);
  }
  Candidates found{poplar::concat(ids), poplar::concat(counts), {}};
  for (const std::vector<Tensor> &ofChunks : values)
    found.values.push_back(poplar::concat(ofChunks));
  return found;
}

Tensor Selection::offsetOf(IpuGraphs &graph, std::size_t sample, Place place) const {
  return offsets.valid() ? offsets[sample] : unusedField(graph, poplar::UNSIGNED_INT, place)[0];
}

void Selection::merge(IpuGraphs &graph, ComputeSet set, const SampleTiles &tiles, std::size_t batch,
                      unsigned size, const std::function<Candidates(std::size_t)> &made) const {
  for (std::size_t b = 0; b < batch; ++b) {
    const Candidates from = ofSample(b), to = made(b);
    const auto number = static_cast<unsigned>(from.ids.dim(0));
    NewVertex(graph, set, "MergeCandidates", tiles[b])
        .connect("ids", from.ids.flatten())
        .connect("values", from.values)
        .connect("counts", from.counts.flatten())
        .connect("offset", offsetOf(graph, b, tiles[b]))
        .connect("mergedIds", to.ids.flatten())
        .connect("mergedValues", to.values)
        .connect("mergedCounts", to.counts.flatten())
        .set("chunks", number)
        .set("chunkNeurons", range.chunks[0].neurons)
        .set("firstNeuron", range.begin)
        .set("neurons", range.end - range.begin)
        .set("listSlots", listSlots)
        .set("stride", stride)
        .set("slots", size)
        .estimate(joinCost(number, listSlots, size, offsets.valid()));
  }
}

void Selection::join(IpuGraphs &graph, ComputeSet set, const TilePlan &plan,
                     const SpikeSource &source, const SlotHistory &history,
                     const StepNumber &step) const {
  for (std::size_t b = 0; b < source.batch; ++b) {
    const Candidates from = ofSample(b);
    const auto number = static_cast<unsigned>(from.ids.dim(0));
    std::vector<Tensor> histories;
    for (const Tensor &kept : history.values)
      histories.push_back(kept[b].flatten());
    const Place place = plan.samples(source.number)[b];
    const bool top = policy == Policy::Top;
    const double listed = std::min(number * listSlots, range.end - range.begin);
    NewVertex vertex(graph, set, top ? "JoinTopCandidates" : "JoinCandidates", place);
    vertex.connect("ids", from.ids.flatten())
        .connect("values", from.values)
        .connect("counts", from.counts.flatten())
        .connect("step", step.on(place))
        .connect("slotIds", source.ids.home()[b])
        .connect("slotCounts", source.counts.home()[b])
        .connect("idHistory", history.ids[b].flatten())
        .connect("valueHistories", histories)
        .connect("countHistory", history.counts[b].flatten())
        .connect("droppedHistory", history.dropped[b].flatten())
        .set("chunks", number)
        .set("listSlots", listSlots)
        .set("stride", stride)
        .set("slots", source.slots)
        .estimate(top ? 6.0 * (100 + 40 * number + 31 * listed + 104 * source.slots)
                      : joinCost(number, listSlots, source.slots, offsets.valid()));
    if (!top)
      vertex.connect("offset", offsetOf(graph, b, place))
          .set("chunkNeurons", range.chunks[0].neurons);
  }
}

void drawOffsets(IpuGraphs &graph, ComputeSet set, const SampleTiles &tiles, unsigned neurons,
                 const SeedCopies &seed, const StepNumber &step, const Tensor &offsets) {
  for (unsigned b = 0; b < offsets.numElements(); ++b)
    NewVertex(graph, set, "DrawOffset", tiles[b])
        .connect("seed", seed.on(tiles[b]))
        .connect("step", step.on(tiles[b]))
        .connect("offset", offsets[b])
        .set("layer", tiles.source - 1)
        .set("sample", b)
        .set("neurons", neurons)
        .estimate(6.0 * 400);
}

} // namespace lif
