#include "slice_plan.h"

#include <algorithm>
#include <tuple>

#include <poplar/Graph.hpp>

#include "poplibs/poputil/memory_proportion.h"

namespace popops {

using poplar::OptionFlags;

namespace {

/// Returns whether an option is "true" or, if it is missing, `otherwise`.
bool isSet(const OptionFlags &options, const char *name, bool otherwise) {
  for (const auto &option : options)
    if (option.first == name)
      return option.second == "true";
  return otherwise;
}

std::string textOf(const OptionFlags &options, const char *name, const char *otherwise) {
  for (const auto &option : options)
    if (option.first == name)
      return option.second;
  return otherwise;
}

auto keyOf(const SlicePlan &plan) {
  static const SlicePlanInternal none;
  const SlicePlanInternal &of = plan.getImpl() ? *plan.getImpl() : none;
  const SlicePartition &p = of.partition;
  return std::tuple(of.isPartitioned, p.sizes.rows, p.sizes.columns, p.sizes.lookups, p.serial,
                    p.lookups, p.rows, p.columns);
}

} // namespace

const SlicePartition *partitionIn(const SlicePlan &plan, std::size_t rows, std::size_t columns) {
  const SlicePlanInternal *of = plan.getImpl();
  const bool fits = of && of->isPartitioned && of->partition.sizes.rows == rows &&
                    of->partition.sizes.columns == columns;
  return fits ? &of->partition : nullptr;
}

bool operator<(const SlicePlan &a, const SlicePlan &b) noexcept { return keyOf(a) < keyOf(b); }
bool operator==(const SlicePlan &a, const SlicePlan &b) noexcept { return keyOf(a) == keyOf(b); }
bool operator!=(const SlicePlan &a, const SlicePlan &b) noexcept { return !(a == b); }

std::ostream &operator<<(std::ostream &os, const SlicePlan &plan) {
  const SlicePlanInternal *of = plan.getImpl();
  if (!of || !of->isPartitioned)
    return os << "SlicePlan: all lookups on each tile of a row\n";
  const SlicePartition &p = of->partition;
  return os << "SlicePlan: a table of " << p.sizes.rows << " x " << p.sizes.columns << ", "
            << p.sizes.lookups << " lookups in " << p.serial << " serial parts, each in "
            << p.lookups << " x " << p.rows << " x " << p.columns
            << " parts of lookups, rows and columns, about " << p.bytes << " bytes of a tile\n";
}

namespace embedding {

SlicePlan plan(const poplar::Graph &graph, const poplar::Type &dataType, std::size_t groupSize,
               std::size_t numEntries, std::size_t outputSize,
               const std::vector<std::size_t> &numLookups, const OptionFlags &options) {
  auto made = std::make_shared<SlicePlanInternal>();
  const bool updates = isSet(options, "usedForUpdate", true) &&
                       textOf(options, "operationForUpdate", "add") != "none";
  const bool reads = isSet(options, "usedForSlice", true) || !updates;
  made->use = !reads ? SliceUse::Combine : updates ? SliceUse::ReadAndCombine : SliceUse::Read;
  const double share = poputil::availableMemoryProportion(options);
  const SliceSizes sizes{
      numEntries, outputSize,
      numLookups.empty() ? 0 : *std::max_element(numLookups.begin(), numLookups.end())};
  const poplar::Target &target = graph.getTarget();
  // createSliceableTensor maps a row in this way.
  const std::size_t grain = target.getVectorWidth(dataType);
  const std::size_t grains = (outputSize + grain - 1) / grain;
  const std::size_t tiles = std::min<std::size_t>(grains, target.getNumTiles());
  made->isPartitioned =
      groupSize == 1 && tiles &&
      isWorkedByPartition(dataType, target, sizes, (grains + tiles - 1) / tiles * grain, tiles);
  made->partition.sizes = sizes;
  if (made->isPartitioned)
    made->partition = planSlices(target, dataType, sizes, made->use, share);
  return SlicePlan(made);
}

SlicePlan plan(const poplar::Graph &graph, const poplar::Type &dataType, std::size_t numEntries,
               std::size_t outputSize, const std::vector<std::size_t> &numLookups,
               const OptionFlags &options) {
  return plan(graph, dataType, 1, numEntries, outputSize, numLookups, options);
}

} // namespace embedding

} // namespace popops
