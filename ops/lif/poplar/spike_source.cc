#include "spike_source.h"

#include <poputil/VertexTemplates.hpp>

#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Copy;

SpikeSource::SpikeSource(Graph &graph, const TilePlan &plan, unsigned number, unsigned batch,
                         unsigned slots, Arrivals &arrivals)
    : number(number), slots(slots), stride(slots + slots % 2) {
  const std::string name = "source" + std::to_string(number);
  ids = sampleTensor(graph, poplar::UNSIGNED_SHORT, batch, 1, stride, plan, number, name + "/ids")
            .squeeze({1});
  counts = sampleTensor(graph, poplar::UNSIGNED_INT, batch, 1, 2, plan, number, name + "/counts")
               .squeeze({1});
  arrivals.zero(counts);
}

Counters::Counters(Graph &graph, const TilePlan &plan, unsigned firstStep) {
  first = graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {1}, firstStep, "first_step");
  graph.setTileMapping(first, plan.counterTile(0));
  for (unsigned ipu = 0; ipu < plan.ipus; ++ipu) {
    tiles.push_back(plan.counterTile(ipu));
    nexts.push_back(graph.addVariable(poplar::UNSIGNED_INT, {}, "next_step"));
    nows.push_back(graph.addVariable(poplar::UNSIGNED_INT, {}, "step"));
    graph.setTileMapping(nexts.back(), tiles.back());
    graph.setTileMapping(nows.back(), tiles.back());
  }
}

void Counters::advance(Graph &graph, ComputeSet set, int by) const {
  for (std::size_t i = 0; i < tiles.size(); ++i)
    NewVertex(graph, set, "AdvanceStep", tiles[i])
        .connect("next", nexts[i])
        .connect("now", nows[i])
        .set("by", by)
        .estimate(150);
}

poplar::program::Program Counters::start() const {
  std::vector<Tensor> all;
  for (const Tensor &t : nexts)
    all.push_back(t.reshape({1}));
  const Tensor target = poplar::concat(all);
  return Copy(first.broadcast(static_cast<unsigned>(all.size()), 0), target, false, "start");
}

void takeSpikes(Graph &graph, ComputeSet set, const TilePlan &plan, const SpikeSource &source,
                const Tensor &ids, const Tensor &counts, const Tensor &step, unsigned offset) {
  const std::string type = poputil::templateVertex("TakeSpikes", ids.elementType());
  for (std::size_t b = 0; b < ids.dim(0); ++b)
    NewVertex(graph, set, type, plan.sampleTile(source.number, static_cast<unsigned>(b)))
        .connect("ids", ids[b].flatten())
        .connect("counts", counts[b].flatten())
        .connect("step", step)
        .connect("takenIds", source.ids[b])
        .connect("takenCounts", source.counts[b])
        .set("steps", static_cast<unsigned>(ids.dim(1)))
        .set("offset", offset)
        .set("width", source.slots)
        .set("countWidth", static_cast<unsigned>(counts.dim(2)))
        .estimate(6.0 * (30 + 3 * source.slots));
}

} // namespace lif
