#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include <poplar/Graph.hpp>

#include "graph_state.h"

namespace poplar {

using emulator::kNoTile;
using emulator::Piece;
using emulator::View;

void Graph::setTileMapping(VertexRef v, unsigned tileNum) {
  emulator::VertexInstance &vertex = state->vertices.at(v.getId());
  vertex.tile = physicalTile(tileNum);
  for (const emulator::Connection &field : vertex.fields)
    for (const auto &row : field.rows)
      if (row && row->runs().size() == 1) {
        emulator::Variable &variable = state->variables[row->runs()[0].variable];
        if (variable.withVertex)
          variable.tiles.assign(0, variable.elements, vertex.tile);
      }
}

void Graph::setTileMapping(const Tensor &t, unsigned tileNum) {
  emulator::checkOwn(*state, t);
  const unsigned tile = physicalTile(tileNum);
  t.view().forEachPiece(
      [&](const Piece &p) { state->variables[p.variable].tiles.assign(p.begin, p.end, tile); });
}

void Graph::setTileMapping(const Tensor &t, const TileToTensorMapping &mapping) {
  const Tensor flat = t.flatten();
  std::map<std::size_t, std::size_t> mapped; // ends of intervals by their beginnings
  for (std::size_t tile = 0; tile < mapping.size(); ++tile) {
    for (const Interval &i : mapping[tile]) {
      if (i.end() > flat.numElements())
        throw invalid_tile_mapping("the mapping has an interval that ends at " +
                                   std::to_string(i.end()) + " and the tensor " +
                                   std::to_string(flat.numElements()) + " elements");
      if (i.size() == 0)
        continue;
      const auto next = mapped.lower_bound(i.begin());
      if ((next != mapped.end() && next->first < i.end()) ||
          (next != mapped.begin() && std::prev(next)->second > i.begin()))
        throw invalid_tile_mapping("the mapping has elements twice of the interval from " +
                                   std::to_string(i.begin()) + " to " + std::to_string(i.end()));
      mapped.emplace(i.begin(), i.end());
      setTileMapping(flat.slice(i), static_cast<unsigned>(tile));
    }
  }
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &t, bool *isComplete) const {
  emulator::checkOwn(*state, t);
  std::vector<unsigned> virtualTile(state->machine.numTiles(), kNoTile);
  for (unsigned i = 0; i < tiles.size(); ++i)
    virtualTile[tiles[i]] = i;
  TileToTensorMapping mapping(tiles.size());
  std::size_t at = 0;
  bool complete = true;
  t.view().forEachPiece([&](const Piece &p) {
    state->variables[p.variable].tiles.forEach(
        p.begin, p.end, [&](std::size_t b, std::size_t e, unsigned physical) {
          const unsigned tile = physical == kNoTile ? kNoTile : virtualTile[physical];
          if (tile == kNoTile) {
            complete = false;
          } else {
            std::vector<Interval> &regions = mapping[tile];
            if (!regions.empty() && regions.back().end() == at)
              regions.back() = Interval(regions.back().begin(), at + (e - b));
            else
              regions.emplace_back(at, at + (e - b));
          }
          at += e - b;
        });
  });
  if (isComplete)
    *isComplete = complete;
  return mapping;
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &t, bool requireComplete) const {
  bool complete = true;
  TileToTensorMapping mapping = getTileMapping(t, &complete);
  if (requireComplete && !complete)
    throw invalid_tile_mapping("tensor " + t.getDebugStr() +
                               " has no complete tile mapping in "
                               "this graph");
  return mapping;
}

std::vector<std::vector<Interval>>
Graph::getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions,
                                  bool removeAliasedIntervals,
                                  std::vector<std::size_t> *aliases) const {
  struct Placed {
    Piece piece;
    std::size_t at;
  };
  std::vector<Placed> placed;
  const Tensor flat = t.flatten();
  for (const Interval &region : regions) {
    std::size_t at = region.begin();
    flat.slice(region).view().forEachPiece([&](const Piece &p) {
      placed.push_back({p, at});
      at += p.end - p.begin;
    });
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed &a, const Placed &b) {
    return std::tie(a.piece.variable, a.piece.begin) < std::tie(b.piece.variable, b.piece.begin);
  });
  if (aliases)
    aliases->assign(flat.numElements(), 0);
  std::vector<std::vector<Interval>> result;
  const Piece *last = nullptr;
  for (Placed &p : placed) {
    const bool same = last && last->variable == p.piece.variable;
    if (removeAliasedIntervals && same && p.piece.end <= last->end)
      continue;
    if (removeAliasedIntervals && same && p.piece.begin < last->end) {
      p.at += last->end - p.piece.begin;
      p.piece.begin = last->end;
    }
    const Interval interval(p.at, p.at + (p.piece.end - p.piece.begin));
    if (!same || last->end != p.piece.begin)
      result.emplace_back();
    std::vector<Interval> &group = result.back();
    if (!group.empty() && group.back().end() == interval.begin())
      group.back() = Interval(group.back().begin(), interval.end());
    else
      group.push_back(interval);
    last = &p.piece;
  }
  return result;
}

void Graph::reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool) const {
  const Tensor flat = t->flatten();
  std::vector<Interval> order;
  for (const std::vector<Interval> &group :
       getSortedContiguousRegions(flat, {Interval(0, flat.numElements())}))
    order.insert(order.end(), group.begin(), group.end());
  const auto reorder = [&](Tensor &one) {
    if (!order.empty())
      one = concat(one.flatten().slices(ArrayRef<Interval>(order)));
  };
  reorder(*t);
  for (Tensor *other : ts)
    reorder(*other);
}

Tensor Graph::findUnbroadcastTensor(const Tensor &t) const {
  const View &view = t.view();
  return view.runs().size() == 1 && view.runs()[0].stride == 0
             ? t.flatten().slice(0, 1).reshape(std::vector<std::size_t>(t.rank(), 1))
             : t;
}

} // namespace poplar
