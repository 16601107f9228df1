#include <algorithm>

#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;

namespace {

std::size_t elements(const std::vector<std::size_t> &shape) {
  std::size_t n = 1;
  for (const std::size_t d : shape)
    n *= d;
  return n;
}

/// PopLibs 3.3, lib/poputil/TileMapping.cpp: at least 128 bytes a tile, in grains of a vector.
std::pair<unsigned, unsigned> defaults(const Graph &graph, const Tensor &t) {
  constexpr unsigned kMinBytesPerTile = 128;
  const unsigned size = graph.getTarget().getTypeSize(t.elementType());
  return {(kMinBytesPerTile + size - 1) / size, graph.getTarget().getVectorWidth(t.elementType())};
}

} // namespace

std::vector<std::vector<Interval>> splitRegions(const std::vector<Interval> &regions,
                                                unsigned grainSize, unsigned maxPartitions,
                                                unsigned minElementsPerPartition,
                                                unsigned maxElementsPerPartition,
                                                unsigned maxElementsPerRegion) {
  std::size_t total = 0;
  for (const Interval &r : regions)
    total += r.size();
  std::vector<std::vector<Interval>> result;
  if (total == 0)
    return result;
  const std::size_t grains = (total + grainSize - 1) / grainSize;
  std::size_t parts = std::min<std::size_t>(maxPartitions, grains);
  if (minElementsPerPartition > 1)
    parts = std::max<std::size_t>(
        1, std::min<std::size_t>(parts,
                                 (total + minElementsPerPartition - 1) / minElementsPerPartition));
  if (maxElementsPerPartition != UINT_MAX)
    parts = std::max<std::size_t>(parts,
                                  (total + maxElementsPerPartition - 1) / maxElementsPerPartition);
  std::size_t region = 0, at = 0, done = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t end = std::min(total, (p + 1) * grains / parts * grainSize);
    std::vector<Interval> part;
    while (done < end) {
      const Interval &r = regions[region];
      const std::size_t n =
          std::min({r.size() - at, end - done, std::size_t{maxElementsPerRegion}});
      part.emplace_back(r.begin() + at, r.begin() + at + n);
      done += n;
      at += n;
      if (at == r.size())
        ++region, at = 0;
    }
    if (!part.empty())
      result.push_back(std::move(part));
  }
  return result;
}

std::vector<std::vector<Interval>>
splitRegionsBetweenWorkers(const poplar::Target &target, const std::vector<Interval> &regions,
                           unsigned vectorWidth, unsigned minElementsPerThread,
                           unsigned maxElementsPerThread, unsigned maxElementsPerRegion) {
  return splitRegions(regions, vectorWidth, target.getNumWorkerContexts(), minElementsPerThread,
                      maxElementsPerThread, maxElementsPerRegion);
}

std::vector<Interval> flattenIntervals(const std::vector<std::vector<Interval>> &intervals) {
  std::vector<Interval> flat;
  for (const std::vector<Interval> &group : intervals)
    flat.insert(flat.end(), group.begin(), group.end());
  return flat;
}

std::vector<int> balancedPartition(int rangeUpperBound, int splitCount) {
  std::vector<int> sizes(static_cast<std::size_t>(splitCount), rangeUpperBound / splitCount);
  for (int i = 0; i < rangeUpperBound % splitCount; ++i)
    ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph,
                                                         std::vector<std::size_t> shape,
                                                         unsigned minElementsPerTile,
                                                         unsigned grainSize, unsigned offset,
                                                         bool ascending) {
  const unsigned tiles = graph.getTarget().getNumTiles();
  auto parts = splitRegions({Interval(0, elements(shape))}, grainSize, tiles, minElementsPerTile);
  parts.resize(tiles);
  if (offset == 0 && ascending)
    return parts;
  std::vector<std::vector<Interval>> moved(tiles);
  for (unsigned i = 0; i < tiles; ++i)
    moved[ascending ? (offset + i) % tiles : (tiles - 1 - offset % tiles + tiles - i) % tiles] =
        std::move(parts[i]);
  return moved;
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph,
                                                         std::vector<std::size_t> shape,
                                                         unsigned minElementsPerTile,
                                                         unsigned grainSize) {
  return calcLinearTileMapping(graph, std::move(shape), minElementsPerTile, grainSize, 0, true);
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph, const Tensor &t,
                                                         unsigned offset, bool ascending) {
  const auto [least, grain] = defaults(graph, t);
  return calcLinearTileMapping(graph, t.shape(), least, grain, offset, ascending);
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph, const Tensor &t) {
  return calcLinearTileMapping(graph, t, 0, true);
}

void mapTensorLinearly(Graph &graph, const Tensor &t, unsigned minElementsPerTile,
                       unsigned grainSize) {
  graph.setTileMapping(t, calcLinearTileMapping(graph, t.shape(), minElementsPerTile, grainSize));
}
void mapTensorLinearly(Graph &graph, const Tensor &t) {
  graph.setTileMapping(t, calcLinearTileMapping(graph, t));
}
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned minElementsPerTile,
                                 unsigned grainSize, unsigned offset, bool ascending) {
  graph.setTileMapping(
      t, calcLinearTileMapping(graph, t.shape(), minElementsPerTile, grainSize, offset, ascending));
}
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned offset, bool ascending) {
  graph.setTileMapping(t, calcLinearTileMapping(graph, t, offset, ascending));
}

unsigned getTileImbalance(const Graph::TileToTensorMapping &mapping, unsigned minElementsPerTile,
                          unsigned grainSize) {
  std::size_t most = 0, total = 0;
  for (const auto &regions : mapping) {
    std::size_t n = 0;
    for (const Interval &i : regions)
      n += i.size();
    most = std::max(most, n);
    total += n;
  }
  const std::size_t even = mapping.empty() ? 0 : (total + mapping.size() - 1) / mapping.size();
  const std::size_t share =
      std::max<std::size_t>(minElementsPerTile, (even + grainSize - 1) / grainSize * grainSize);
  return most > share ? static_cast<unsigned>(most - share) : 0;
}
unsigned getTileImbalance(const Graph &graph, const Tensor &t, unsigned minElementsPerTile,
                          unsigned grainSize) {
  return getTileImbalance(graph.getTileMapping(t), minElementsPerTile, grainSize);
}

Tensor createBroadcastOperand(Graph &graph, const Tensor &fullTensor, const poplar::Type &type,
                              unsigned dim, bool, const poplar::DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, {fullTensor.dim(dim)}, debugContext);
  const Tensor first = fullTensor.dimRoll(dim).flatten(1, fullTensor.rank());
  for (std::size_t i = 0; i < t.dim(0); ++i) {
    const auto mapping = graph.getTileMapping(first[i].slice(0, 1));
    for (unsigned tile = 0; tile < mapping.size(); ++tile)
      if (!mapping[tile].empty())
        graph.setTileMapping(t[i], tile);
  }
  return t;
}

bool dimIsSplitOverTiles(const Graph &graph, const Tensor &t, unsigned dimension) {
  const auto whole = graph.getTileMapping(t.slice(0, 1, dimension).flatten());
  for (std::size_t i = 1; i < t.dim(dimension); ++i)
    if (graph.getTileMapping(t.slice(i, i + 1, dimension).flatten()) != whole)
      return true;
  return false;
}

Tensor duplicate(Graph &graph, const Tensor &in, poplar::program::Sequence &p,
                 const poplar::DebugContext &debugContext, poplar::TensorCloneMethod method) {
  const Tensor out = graph.clone(in, debugContext, method);
  p.add(poplar::program::Copy(in, out, false, debugContext));
  return out;
}

Tensor cloneN(Graph &graph, const Tensor &t, unsigned n, const poplar::DebugContext &debugContext,
              poplar::TensorCloneMethod method) {
  std::vector<Tensor> clones;
  for (unsigned i = 0; i < n; ++i)
    clones.push_back(graph.clone(t, debugContext, method).expand({0}));
  return poplar::concat(clones);
}

void expandToMatchRanks(Tensor &a, Tensor &b) {
  Tensor &low = a.rank() < b.rank() ? a : b;
  const unsigned missing = std::max(a.rank(), b.rank()) - low.rank();
  if (missing)
    low = low.expand(std::vector<std::size_t>(missing, 0));
}

void broadcastToMatch(Tensor &a, const std::vector<std::size_t> &shape) {
  if (a.rank() < shape.size())
    a = a.expand(std::vector<std::size_t>(shape.size() - a.rank(), 0));
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (a.dim(d) == shape[d])
      continue;
    if (a.dim(d) != 1)
      throw poplibs_error("a tensor of shape " + a.shapeToString() + " cannot be broadcast");
    a = a.broadcast(static_cast<unsigned>(shape[d]), d);
  }
}

bool canBroadcastToMatch(const Tensor &a, const Tensor &b) {
  for (unsigned d = 1; d <= std::min(a.rank(), b.rank()); ++d) {
    const std::size_t x = a.dim(a.rank() - d), y = b.dim(b.rank() - d);
    if (x != y && x != 1 && y != 1)
      return false;
  }
  return true;
}

void broadcastToMatch(Tensor &a, Tensor &b) {
  if (!canBroadcastToMatch(a, b))
    throw poplibs_error("tensors of shape " + a.shapeToString() + " and " + b.shapeToString() +
                        " have no common shape");
  expandToMatchRanks(a, b);
  std::vector<std::size_t> shape;
  for (unsigned d = 0; d < a.rank(); ++d)
    shape.push_back(a.dim(d) == 1 ? b.dim(d) : a.dim(d));
  broadcastToMatch(a, shape);
  broadcastToMatch(b, shape);
}

void broadcastToMatch(Tensor &a, Tensor &b, Tensor &c) {
  broadcastToMatch(a, b);
  broadcastToMatch(a, c);
  broadcastToMatch(b, a.shape());
}

} // namespace poputil
