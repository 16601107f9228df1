#ifndef poputil_TileMapping_hpp
#define poputil_TileMapping_hpp

// [M] Signatures from memory but for the linear mappings.

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Interval.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <poputil/TensorUseTracker.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

/// Distributes the elements of a tensor, or of a tensor of that shape, evenly over the tiles from
/// tile 0 on.
std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph &graph,
                                                                 std::vector<std::size_t> shape,
                                                                 unsigned minElementsPerTile,
                                                                 unsigned grainSize);
std::vector<std::vector<poplar::Interval>>
calcLinearTileMapping(const poplar::Graph &graph, std::vector<std::size_t> shape,
                      unsigned minElementsPerTile, unsigned grainSize, unsigned offset,
                      bool ascending = true);
std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph &graph,
                                                                 const poplar::Tensor &t);
std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph &graph,
                                                                 const poplar::Tensor &t,
                                                                 unsigned offset,
                                                                 bool ascending = true);
std::vector<std::vector<poplar::Interval>>
calcLinearTileMapping(const poplar::Target &target, std::vector<std::size_t> shape,
                      poplar::Type elementType, unsigned offset = 0, bool ascending = true);
/// The mapping, and the tile after the last one used.
std::pair<poplar::Graph::TileToTensorMapping, unsigned>
calcLinearTileMappingAndNewOffset(const poplar::Graph &graph, const poplar::Tensor &t,
                                  unsigned offset = 0);
/// A tile, less than numTiles, that depends on the shape and the seed. Which one is the emulator's.
std::size_t chooseMappingOffset(std::size_t numTiles, const std::vector<std::size_t> &shape,
                                std::size_t seed = 0);
/// The number of a tile among those of a mapping that begins at `offset`, and back.
unsigned transformTileIndex(unsigned tile, unsigned numTiles, unsigned offset, bool ascending);
unsigned invTransformTileIndex(unsigned tile, unsigned numTiles, unsigned offset, bool ascending);
void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t, unsigned minElementsPerTile,
                       unsigned grainSize);
void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t);
/// Distributes from tile `offset` on, upwards or downwards, with wrap-around.
void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t,
                                 unsigned minElementsPerTile, unsigned grainSize, unsigned offset,
                                 bool ascending = true);
void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t, unsigned offset = 0,
                                 bool ascending = true);

/// Returns the number of elements on the fullest tile beyond an even distribution.
unsigned getTileImbalance(const poplar::Graph::TileToTensorMapping &mapping,
                          unsigned minElementsPerTile = 0, unsigned grainSize = 1);
unsigned getTileImbalance(const poplar::Graph &graph, const poplar::Tensor &t,
                          unsigned minElementsPerTile = 0, unsigned grainSize = 1);

/// A tensor to broadcast along dimension `dim` of fullTensor, mapped as that dimension is.
poplar::Tensor createBroadcastOperand(poplar::Graph &graph, const poplar::Tensor &fullTensor,
                                      const poplar::Type &type, unsigned dim,
                                      bool ditherMapping = false,
                                      const poplar::DebugContext &debugContext = {});
bool dimIsSplitOverTiles(const poplar::Graph &graph, const poplar::Tensor &t, unsigned dimension);

/// Returns whether the dimension is distributed over several IPUs. [M]
bool dimIsSplitOverIPUs(const poplar::Graph &graph, const poplar::Tensor &t, unsigned dimension);

/// Clones a tensor into another graph of the same device, such as a virtual graph of other tiles,
/// with every element on the tile of the same number. [M]
poplar::Tensor cloneToGraph(
    poplar::Graph &srcGraph, poplar::Graph &dstGraph, const poplar::Tensor &t,
    const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

/// A clone with every element on another IPU, at the tile of the same number; the second form also
/// copies. graph has whole IPUs.
poplar::Tensor cloneToIpu(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned dstIPU,
    const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
poplar::Tensor copyToIpu(
    poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, unsigned dstIPU,
    const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
/// The clone, with the two sides of the copy for the caller's own program.
poplar::Tensor createIpuCopy(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned dstIpu, poplar::Tensor &copySrc,
    poplar::Tensor &copyDst, const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

} // namespace poputil

#endif
