#include <algorithm>

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
std::pair<unsigned, unsigned> defaults(const poplar::Target &target, const poplar::Type &type) {
  constexpr unsigned kMinBytesPerTile = 128;
  const auto size = static_cast<unsigned>(target.getTypeSize(type));
  return {(kMinBytesPerTile + size - 1) / size, target.getVectorWidth(type)};
}

std::vector<std::vector<Interval>> mappingOf(unsigned tiles, const std::vector<std::size_t> &shape,
                                             unsigned least, unsigned grain, unsigned offset,
                                             bool ascending) {
  auto parts = splitRegions({Interval(0, elements(shape))}, grain, tiles, least);
  parts.resize(tiles);
  if (offset == 0 && ascending)
    return parts;
  std::vector<std::vector<Interval>> moved(tiles);
  for (unsigned i = 0; i < tiles; ++i)
    moved[invTransformTileIndex(i, tiles, offset, ascending)] = std::move(parts[i]);
  return moved;
}

} // namespace

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph,
                                                         std::vector<std::size_t> shape,
                                                         unsigned minElementsPerTile,
                                                         unsigned grainSize, unsigned offset,
                                                         bool ascending) {
  return mappingOf(graph.getTarget().getNumTiles(), shape, minElementsPerTile, grainSize, offset,
                   ascending);
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const poplar::Target &target,
                                                         std::vector<std::size_t> shape,
                                                         poplar::Type elementType, unsigned offset,
                                                         bool ascending) {
  const auto [least, grain] = defaults(target, elementType);
  return mappingOf(target.getNumTiles(), shape, least, grain, offset, ascending);
}

std::pair<Graph::TileToTensorMapping, unsigned>
calcLinearTileMappingAndNewOffset(const Graph &graph, const Tensor &t, unsigned offset) {
  const auto mapping = calcLinearTileMapping(graph, t, offset, true);
  const auto tiles = static_cast<unsigned>(mapping.size());
  const auto used =
      std::count_if(mapping.begin(), mapping.end(), [](const auto &tile) { return !tile.empty(); });
  return {mapping, (offset + static_cast<unsigned>(used)) % tiles};
}

std::size_t chooseMappingOffset(std::size_t numTiles, const std::vector<std::size_t> &shape,
                                std::size_t seed) {
  std::size_t hash = seed;
  for (const std::size_t size : shape)
    hash = (hash ^ size) * 0x9e3779b97f4a7c15u;
  return hash / 65536 % numTiles;
}

unsigned transformTileIndex(unsigned tile, unsigned numTiles, unsigned offset, bool ascending) {
  const unsigned begin = offset % numTiles;
  return ascending ? (tile + numTiles - begin) % numTiles
                   : (2 * numTiles - 1 - begin - tile) % numTiles;
}
unsigned invTransformTileIndex(unsigned tile, unsigned numTiles, unsigned offset, bool ascending) {
  const unsigned begin = offset % numTiles;
  return ascending ? (tile + begin) % numTiles : (2 * numTiles - 1 - begin - tile) % numTiles;
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph,
                                                         std::vector<std::size_t> shape,
                                                         unsigned minElementsPerTile,
                                                         unsigned grainSize) {
  return calcLinearTileMapping(graph, std::move(shape), minElementsPerTile, grainSize, 0, true);
}

std::vector<std::vector<Interval>> calcLinearTileMapping(const Graph &graph, const Tensor &t,
                                                         unsigned offset, bool ascending) {
  const auto [least, grain] = defaults(graph.getTarget(), t.elementType());
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

bool dimIsSplitOverIPUs(const Graph &graph, const Tensor &t, unsigned dimension) {
  const unsigned perIpu = graph.getTarget().getTilesPerIPU();
  // For each index of the other dimensions, the IPU along this dimension.
  const Tensor rows = t.dimRoll(dimension).flatten(1, t.rank());
  for (std::size_t i = 0; rows.rank() == 2 && i < rows.dim(1); ++i) {
    const auto mapping = graph.getTileMapping(rows.slice(i, i + 1, 1).flatten());
    std::size_t first = mapping.size();
    for (std::size_t tile = 0; tile < mapping.size(); ++tile) {
      if (mapping[tile].empty())
        continue;
      if (first != mapping.size() && tile / perIpu != first)
        return true;
      first = tile / perIpu;
    }
  }
  return false;
}

Tensor cloneToGraph(Graph &srcGraph, Graph &dstGraph, const Tensor &t,
                    const poplar::DebugContext &debugContext, poplar::TensorCloneMethod method) {
  const Tensor clone = srcGraph.clone(t, debugContext, method);
  dstGraph.setTileMapping(clone, srcGraph.getTileMapping(t));
  return clone;
}

Tensor cloneToIpu(Graph &graph, const Tensor &t, unsigned dstIPU,
                  const poplar::DebugContext &debugContext, poplar::TensorCloneMethod method) {
  const unsigned perIpu = graph.getTarget().getTilesPerIPU();
  if (dstIPU >= graph.getTarget().getNumIPUs())
    throw poplibs_error("there is no IPU " + std::to_string(dstIPU) + " in this graph");
  const Tensor clone = graph.clone(t, debugContext, method);
  const auto mapping = graph.getTileMapping(clone);
  const Tensor flat = clone.flatten();
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const Interval &i : mapping[tile])
      graph.setTileMapping(flat.slice(i), dstIPU * perIpu + tile % perIpu);
  return clone;
}

Tensor copyToIpu(Graph &graph, const Tensor &t, poplar::program::Sequence &prog, unsigned dstIPU,
                 const poplar::DebugContext &debugContext, poplar::TensorCloneMethod method) {
  const Tensor clone = cloneToIpu(graph, t, dstIPU, debugContext, method);
  prog.add(poplar::program::Copy(t, clone, false, debugContext));
  return clone;
}

Tensor createIpuCopy(Graph &graph, const Tensor &t, unsigned dstIpu, Tensor &copySrc,
                     Tensor &copyDst, const poplar::DebugContext &debugContext,
                     poplar::TensorCloneMethod method) {
  copySrc = t;
  return copyDst = cloneToIpu(graph, t, dstIpu, debugContext, method);
}

} // namespace poputil
