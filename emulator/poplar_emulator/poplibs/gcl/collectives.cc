#include <algorithm>
#include <numeric>

#include <gcl/Collectives.hpp>
#include <gcl/TileAllocation.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/exceptions.hpp>

#include "collective_operation.h"

namespace gcl {

std::ostream &operator<<(std::ostream &os, CollectiveOperator op) {
  static const char *const names[] = {"ADD",         "MEAN",       "MUL",        "MIN",  "MAX",
                                      "LOGICAL_AND", "LOGICAL_OR", "SQUARE_ADD", "LOCAL"};
  return os << names[static_cast<unsigned>(op)];
}

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

namespace {

/// Returns the elements of a row that IPU `i` of `n` keeps.
poplar::Interval partOf(std::size_t elements, std::size_t i, std::size_t n) {
  const std::size_t each = (elements + n - 1) / n;
  return {std::min(i * each, elements), std::min((i + 1) * each, elements)};
}

} // namespace

Chunks reduceScatterWithinReplica(Graph &graph, const Tensor &toReduce, CollectiveOperator op,
                                  Sequence &prog, const DebugContext &debugContext,
                                  const OptionFlags &) {
  const DebugContext dc{debugContext, "reduceScatter"};
  if (toReduce.rank() != 2)
    throw poputil::poplibs_error("a collective over IPUs needs [IPUs, elements], not " +
                                 toReduce.shapeToString());
  const std::size_t ipus = toReduce.dim(0), elements = toReduce.dim(1);
  Chunks chunks{toReduce, {}};
  for (std::size_t i = 0; i < ipus; ++i) {
    const poplar::Interval part = partOf(elements, i, ipus);
    if (part.size() == 0)
      continue;
    // The parts of the chunk are copied to the IPU that keeps it, and reduced there.
    const Tensor chunk = graph.clone(toReduce[i].slice(part), dc);
    popops::reduceWithOutput(graph, toReduce.slice(part, 1), chunk, {0},
                             operationOf(op, chunk.elementType()), prog, dc);
    if (op == CollectiveOperator::MEAN)
      popops::mulInPlace(graph, chunk, 1.0f / static_cast<float>(ipus), prog, dc);
    chunks.chunks.push_back({chunk, static_cast<unsigned>(i), static_cast<unsigned>(part.begin())});
  }
  return chunks;
}

Tensor concatChunks(Chunks chunks) {
  std::sort(chunks.chunks.begin(), chunks.chunks.end(),
            [](const Chunk &a, const Chunk &b) { return a.offset < b.offset; });
  std::vector<Tensor> parts;
  for (const Chunk &chunk : chunks.chunks)
    parts.push_back(chunk.tensor);
  return poplar::concat(parts);
}

Tensor allGatherWithinReplica(Graph &graph, const Chunks &toGather, Sequence &prog,
                              const DebugContext &debugContext, const OptionFlags &) {
  const DebugContext dc{debugContext, "allGather"};
  const Tensor gathered = graph.clone(toGather.originalInput, dc);
  prog.add(
      Copy(concatChunks(toGather).expand({0}).broadcast(static_cast<unsigned>(gathered.dim(0)), 0),
           gathered, false, dc));
  return gathered;
}

Tensor allReduceWithinReplica(Graph &graph, const Tensor &toReduce, CollectiveOperator op,
                              Sequence &prog, const DebugContext &debugContext,
                              const OptionFlags &options) {
  return allGatherWithinReplica(
      graph, reduceScatterWithinReplica(graph, toReduce, op, prog, debugContext, options), prog,
      debugContext, options);
}

std::vector<unsigned> perIPUTiles(const Graph &graph, unsigned offset, unsigned count, bool sorted,
                                  bool tilePairs) {
  const unsigned all = graph.getTarget().getTilesPerIPU(), apiece = tilePairs ? 2 : 1;
  if (offset > all || count > all - offset)
    throw poputil::poplibs_error("perIPUTiles: " + std::to_string(count) + " tiles from number " +
                                 std::to_string(offset) + " on of " + std::to_string(all));
  // Consecutive numbers map to tiles far from each other, and every tile has one.
  const unsigned places = (all + apiece - 1) / apiece;
  unsigned stride = std::max(1u, places / 32);
  while (std::gcd(stride, places) != 1)
    ++stride;
  std::vector<unsigned> tiles;
  for (unsigned i = 0; tiles.size() < offset + count; ++i)
    for (unsigned k = 0; k < apiece && tiles.size() < offset + count; ++k)
      if (const unsigned tile = i % places * stride % places * apiece + k; tile < all)
        tiles.push_back(tile);
  tiles.erase(tiles.begin(), tiles.begin() + offset);
  if (sorted)
    std::sort(tiles.begin(), tiles.end());
  return tiles;
}

} // namespace gcl
