#include <algorithm>

#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;

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

std::vector<std::vector<std::vector<Interval>>>
splitRegions(const std::vector<std::vector<Interval>> &regions, unsigned grainSize,
             unsigned maxPartitions, unsigned minElementsPerPartition,
             unsigned maxElementsPerPartition, unsigned maxElementsPerRegion) {
  // The groups are concatenated; a part is then split at the end of a group.
  std::vector<Interval> behind;
  std::size_t total = 0;
  for (const std::vector<Interval> &group : regions) {
    const std::size_t begin = total;
    for (const Interval &r : group)
      total += r.size();
    behind.emplace_back(begin, total);
  }
  std::vector<std::vector<std::vector<Interval>>> result;
  for (const std::vector<Interval> &part :
       splitRegions(behind, grainSize, maxPartitions, minElementsPerPartition,
                    maxElementsPerPartition, maxElementsPerRegion)) {
    result.emplace_back();
    for (const Interval &cut : part) {
      std::size_t g = 0;
      while (cut.begin() >= behind[g].end())
        ++g;
      std::vector<Interval> own;
      std::size_t at = behind[g].begin();
      for (const Interval &r : regions[g]) {
        const std::size_t begin = std::max(at, cut.begin());
        const std::size_t end = std::min(at + r.size(), cut.end());
        if (begin < end)
          own.emplace_back(r.begin() + (begin - at), r.begin() + (end - at));
        at += r.size();
      }
      if (!own.empty())
        result.back().push_back(std::move(own));
    }
  }
  return result;
}

std::vector<std::vector<std::vector<Interval>>>
splitRegionsBetweenWorkers(const poplar::Target &target,
                           const std::vector<std::vector<Interval>> &regions, unsigned vectorWidth,
                           unsigned minElementsPerThread, unsigned maxElementsPerThread,
                           unsigned maxElementsPerRegion) {
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

std::size_t intervalSequenceNumElements(const std::vector<std::vector<Interval>> &intervals) {
  std::size_t n = 0;
  for (const Interval &i : flattenIntervals(intervals))
    n += i.size();
  return n;
}

Tensor factorDims(const Tensor &t, const std::vector<std::size_t> &factors, unsigned startDim) {
  const auto n = static_cast<unsigned>(factors.size());
  if (startDim + n > t.rank())
    throw poplibs_error("factorDims out of the range of " + t.shapeToString());
  Tensor result = t;
  for (unsigned i = 0; i < n; ++i) {
    // Behind the quotients made so far, and in front of the factors.
    const unsigned dim = startDim + i;
    if (factors[i] == 0 || result.dim(dim) % factors[i])
      throw poplibs_error("factorDims: a dimension of " + t.shapeToString() +
                          " is no multiple of its factor");
    result = result.reshapePartial(dim, dim + 1, {result.dim(dim) / factors[i], factors[i]})
                 .dimRoll(dim + 1, startDim + n + i);
  }
  return result;
}

Tensor unfactorDims(const Tensor &t, unsigned numDims, unsigned startDim) {
  if (startDim + 2 * numDims > t.rank())
    throw poplibs_error("unfactorDims out of the range of " + t.shapeToString());
  Tensor result = t;
  for (unsigned i = 0; i < numDims; ++i)
    result = result.dimRoll(startDim + numDims + i, startDim + 2 * i + 1);
  for (unsigned i = 0; i < numDims; ++i)
    result = result.flatten(startDim + i, startDim + i + 2);
  return result;
}

} // namespace poputil
