#ifndef poputil_Util_hpp
#define poputil_Util_hpp

#include <climits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Target.hpp>
#include <poplar/TensorCloneMethod.hpp>

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
std::vector<int> balancedPartition(int rangeUpperBound, int splitCount);

} // namespace poputil

#endif
