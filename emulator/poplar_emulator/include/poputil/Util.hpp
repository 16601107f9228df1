#ifndef poputil_Util_hpp
#define poputil_Util_hpp

// [M] Signatures from memory but for duplicate, cloneN, splitRegions and
// splitRegionsBetweenWorkers.

#include <climits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Quarter.hpp>
#include <poplar/Target.hpp>
#include <poplar/TensorCloneMethod.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

/// Splits regions into at most maxPartitions parts of whole grains, as even as they can be.
std::vector<std::vector<poplar::Interval>>
splitRegions(const std::vector<poplar::Interval> &regions, unsigned grainSize,
             unsigned maxPartitions, unsigned minElementsPerPartition = 0,
             unsigned maxElementsPerPartition = UINT_MAX, unsigned maxElementsPerRegion = UINT_MAX);
std::vector<std::vector<poplar::Interval>> splitRegionsBetweenWorkers(
    const poplar::Target &target, const std::vector<poplar::Interval> &regions,
    unsigned vectorWidth, unsigned minElementsPerThread = 0,
    unsigned maxElementsPerThread = UINT_MAX, unsigned maxElementsPerRegion = UINT_MAX);
/// The same of groups of regions, such as Graph::getSortedContiguousRegions gives: a group's
/// regions stay together, in parts of a group.
std::vector<std::vector<std::vector<poplar::Interval>>>
splitRegions(const std::vector<std::vector<poplar::Interval>> &regions, unsigned grainSize,
             unsigned maxPartitions, unsigned minElementsPerPartition = 0,
             unsigned maxElementsPerPartition = UINT_MAX, unsigned maxElementsPerRegion = UINT_MAX);
std::vector<std::vector<std::vector<poplar::Interval>>> splitRegionsBetweenWorkers(
    const poplar::Target &target, const std::vector<std::vector<poplar::Interval>> &regions,
    unsigned vectorWidth, unsigned minElementsPerThread = 0,
    unsigned maxElementsPerThread = UINT_MAX, unsigned maxElementsPerRegion = UINT_MAX);
/// Joins intervals, of each tile, that follow each other. The intervals do not overlap.
void mergeAdjacentRegions(std::vector<poplar::Interval> &regions);
void mergeAdjacentRegions(std::vector<std::vector<poplar::Interval>> &mapping);
std::vector<poplar::Interval>
flattenIntervals(const std::vector<std::vector<poplar::Interval>> &intervals);

/// A copy of a tensor in new variables.
poplar::Tensor duplicate(
    poplar::Graph &graph, const poplar::Tensor &in, poplar::program::Sequence &p,
    const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
/// n clones, along a new first dimension.
poplar::Tensor
cloneN(poplar::Graph &graph, const poplar::Tensor &t, unsigned n,
       const poplar::DebugContext &debugContext = {},
       poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
/// The coordinates of an element by its row-major index, and back.
template <typename T>
std::vector<T> unflattenIndex(const std::vector<T> &shape, std::size_t index) {
  std::vector<T> indices(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d])
    indices[d] = static_cast<T>(index % shape[d]);
  return indices;
}
template <typename T>
std::size_t flattenIndex(const std::vector<T> &shape, const std::vector<T> &indices) {
  std::size_t index = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    index = index * shape[d] + indices[d];
  return index;
}
/// The intervals that put a tensor back into order that was shuffled by `intervals`, which are one
/// range without gaps.
std::vector<poplar::Interval>
calculateUnshufflingIntervals(const std::vector<poplar::Interval> &intervals);

/// The nearest number of half.
double castToDeviceHalfValue(const poplar::Target &target, double input);
/// Whether a cast of `input` between half and float has an error of less than `tolerance` times the
/// input [I], and does not overflow. Raises poplibs_error for other types.
bool checkAccuracyWhenCast(const poplar::Target &target, double input, poplar::Type inputType,
                           poplar::Type outputType, double tolerance);
std::vector<int> balancedPartition(int rangeUpperBound, int splitCount);

std::size_t
intervalSequenceNumElements(const std::vector<std::vector<poplar::Interval>> &intervals);
/// Each dimension from startDim on of size s is split into [s / f, f], and all the factors are
/// moved behind all the quotients; unfactorDims undoes it for numDims dimensions.
poplar::Tensor factorDims(const poplar::Tensor &t, const std::vector<std::size_t> &factors,
                          unsigned startDim = 0);
poplar::Tensor unfactorDims(const poplar::Tensor &t, unsigned numDims, unsigned startDim = 0);

} // namespace poputil

#endif
