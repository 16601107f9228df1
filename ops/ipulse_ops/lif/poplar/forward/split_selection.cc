#include "split_selection.h"

#include <algorithm>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;

SplitSelection::SplitSelection(IpuGraphs &graph, const TilePlan &plan, unsigned layer,
                               std::size_t batch, unsigned slots, std::size_t values) {
  const std::vector<Range> &ranges = plan.ranges[layer];
  rangeNeurons = ranges[0].end;
  listSlots = std::min(slots, rangeNeurons);
  stride = listSlots + listSlots % 2;
  for (const Range &range : ranges) {
    const SampleTiles own = plan.samples(layer + 1, range.ipu);
    const auto made = [&](const poplar::Type &type, std::size_t rows, std::size_t width) {
      return sampleTensor(graph, type, batch, rows, width, own, plan.names[layer] + "/candidates");
    };
    Lists one{made(poplar::UNSIGNED_SHORT, ranges.size(), stride),
              made(poplar::UNSIGNED_INT, ranges.size(), 2),
              {}};
    for (std::size_t v = 0; v < values; ++v)
      one.values.push_back(made(poplar::FLOAT, 1, stride).squeeze({1}));
    lists.push_back(std::move(one));
    tiles.push_back(own);
  }
}

void SplitSelection::merge(IpuGraphs &graph, ComputeSet set,
                           const std::vector<Selection> &selections, std::size_t batch) const {
  for (std::size_t r = 0; r < lists.size(); ++r)
    selections[r].merge(graph, set, tiles[r], batch, listSlots, [&](std::size_t b) {
      Candidates own{lists[r].ids[b][r], lists[r].counts[b][r], {}};
      for (const Tensor &values : lists[r].values)
        own.values.push_back(values[b]);
      return own;
    });
}

void SplitSelection::addTo(Crossing &crossing) const {
  for (std::size_t from = 0; from < lists.size(); ++from) {
    const auto own = [&](const Tensor &t) { return t.slice(from, from + 1, 1); };
    for (std::size_t to = 0; to < lists.size(); ++to) {
      if (to == from)
        continue;
      crossing.add(own(lists[from].ids), own(lists[to].ids));
      crossing.add(own(lists[from].counts), own(lists[to].counts));
    }
  }
}

void SplitSelection::join(IpuGraphs &graph, ComputeSet set, const SpikeSource &source,
                          const std::vector<SlotHistory> &histories,
                          const std::vector<Tensor> &offsets, const StepNumber &step) const {
  const auto number = static_cast<unsigned>(lists.size());
  for (std::size_t r = 0; r < lists.size(); ++r) {
    for (std::size_t b = 0; b < source.batch; ++b) {
      const Place place = tiles[r][b];
      std::vector<Tensor> values, kept;
      for (const Tensor &own : lists[r].values)
        values.push_back(own[b]);
      for (const Tensor &history : histories[r].values)
        kept.push_back(history[b].flatten());
      const auto told = [&](const Tensor &history) {
        return r == 0 ? history[b].flatten() : unwrittenField(graph, place);
      };
      NewVertex(graph, set, "JoinRanges", place)
          .connect("ids", lists[r].ids[b].flatten())
          .connect("values", values)
          .connect("counts", lists[r].counts[b].flatten())
          .connect("offset", offsets.empty() ? unusedField(graph, poplar::UNSIGNED_INT, place)[0]
                                             : offsets[r][b])
          .connect("step", step.on(place))
          .connect("slotIds", source.ids.on(place.ipu)[b])
          .connect("slotCounts", source.counts.on(place.ipu)[b])
          .connect("idHistory", told(histories[0].ids))
          .connect("valueHistories", kept)
          .connect("countHistory", told(histories[0].counts))
          .connect("droppedHistory", told(histories[0].dropped))
          .set("chunks", number)
          .set("chunkNeurons", rangeNeurons)
          .set("own", static_cast<unsigned>(r) * stride)
          .set("recordsIds", r == 0)
          .set("listSlots", listSlots)
          .set("stride", stride)
          .set("slots", source.slots)
          .estimate(joinCost(number, listSlots, source.slots, !offsets.empty()));
    }
  }
}

} // namespace lif
