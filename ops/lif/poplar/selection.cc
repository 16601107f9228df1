#include "selection.h"

#include <algorithm>
#include <limits>

#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;

Selection::Selection(IpuGraphs &graph, const Surrogate &surrogate, Policy policy,
                     const std::vector<Chunk> &chunks, const Tensor &threshold,
                     const Tensor &secondThreshold, unsigned slots, bool membranes,
                     Arrivals &arrivals)
    : surrogate(surrogate), policy(policy), chunks(chunks) {
  // The policy "top" compares membranes once more when lists are joined.
  const unsigned values = membranes || policy == Policy::Top ? 2 : 1;
  listSlots = 0;
  for (const Chunk &chunk : chunks)
    listSlots = std::max(listSlots, std::min(slots, chunk.neurons));
  stride = listSlots + listSlots % 2;
  const std::vector<float> table =
      surrogate.table.empty() ? std::vector<float>(2, 0.0f) : surrogate.table;
  for (const Chunk &chunk : chunks) {
    const auto variable = [&](const poplar::Type &type, std::vector<std::size_t> shape,
                              const char *name) {
      return graph.addVariable(type, shape, chunk.place, std::string("candidates/") + name);
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
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const Chunk &chunk = chunks[c];
    std::vector<Tensor> values;
    for (const Tensor &t : lists[c].values)
      values.push_back(t.flatten());
    const Tensor own = u.slice(chunk.firstSample, chunk.firstSample + chunk.samples)
                           .slice(chunk.firstNeuron, chunk.firstNeuron + chunk.neurons, 1);
    const bool top = policy == Policy::Top;
    NewVertex vertex(graph, set, top ? "ListTopCandidates" : "ListCandidates", chunk.place);
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
        .estimate(6.0 * (20 + 4 * chunk.neurons + 10 * listSlots));
    if (!top)
      vertex.connect("offsets", offsetsOf(graph, chunk));
  }
}

void Selection::join(IpuGraphs &graph, ComputeSet set, const TilePlan &plan,
                     const SpikeSource &source, const SlotHistory &history,
                     const StepNumber &step) const {
  const std::size_t batch = source.ids.dim(0);
  for (std::size_t b = 0; b < batch; ++b) {
    std::vector<Tensor> ids, counts;
    std::vector<std::vector<Tensor>> values(lists[0].values.size());
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      if (b < chunks[c].firstSample || b >= chunks[c].firstSample + chunks[c].samples)
        continue;
      const std::size_t row = b - chunks[c].firstSample;
      ids.push_back(lists[c].ids[row]);
      counts.push_back(lists[c].counts[row]);
      for (std::size_t v = 0; v < values.size(); ++v)
        values[v].push_back(lists[c].values[v][row]);
    }
    std::vector<Tensor> joined, histories;
    for (const std::vector<Tensor> &ofChunks : values)
      joined.push_back(poplar::concat(ofChunks));
    for (const Tensor &kept : history.values)
      histories.push_back(kept[b].flatten());
    const Place place = plan.sampleTile(source.number, static_cast<unsigned>(b));
    const bool top = policy == Policy::Top;
    NewVertex vertex(graph, set, top ? "JoinTopCandidates" : "JoinCandidates", place);
    vertex.connect("ids", poplar::concat(ids))
        .connect("values", joined)
        .connect("counts", poplar::concat(counts))
        .connect("step", step.on(place))
        .connect("slotIds", source.ids[b])
        .connect("slotCounts", source.counts[b])
        .connect("idHistory", history.ids[b].flatten())
        .connect("valueHistories", histories)
        .connect("countHistory", history.counts[b].flatten())
        .connect("droppedHistory", history.dropped[b].flatten())
        .set("chunks", static_cast<unsigned>(ids.size()))
        .set("listSlots", listSlots)
        .set("stride", stride)
        .set("slots", source.slots)
        .estimate(6.0 * (30 + 37 * ids.size()) + (top ? 80.0 : 51.0) * source.slots);
    if (top)
      continue;
    Tensor offset;
    if (offsets.valid())
      offset = offsets[b];
    else
      offset = unusedField(graph, poplar::UNSIGNED_INT, place)[0];
    vertex.connect("offset", offset).set("chunkNeurons", chunks[0].neurons);
  }
}

SeedCopies::SeedCopies(IpuGraphs &graph, const TilePlan &plan, const Tensor &given,
                       Arrivals &arrivals) {
  for (unsigned ipu = 0; given.valid() && ipu < plan.ipus; ++ipu) {
    byIpu.push_back(graph.addVariable(poplar::INT, {2}, plan.counterTile(ipu), "seed"));
    arrivals.copy(given, byIpu.back());
  }
}

void drawOffsets(IpuGraphs &graph, ComputeSet set, const TilePlan &plan, unsigned layer,
                 unsigned neurons, const SeedCopies &seed, const StepNumber &step,
                 const Tensor &offsets) {
  for (unsigned b = 0; b < offsets.numElements(); ++b) {
    const Place place = plan.sampleTile(layer + 1, b);
    NewVertex(graph, set, "DrawOffset", place)
        .connect("seed", seed.on(place))
        .connect("step", step.on(place))
        .connect("offset", offsets[b])
        .set("layer", layer)
        .set("sample", b)
        .set("neurons", neurons)
        .estimate(6.0 * 400);
  }
}

} // namespace lif
