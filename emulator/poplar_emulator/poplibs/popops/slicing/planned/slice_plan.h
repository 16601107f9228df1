#ifndef IPULSE_POPLIBS_SLICE_PLAN_H
#define IPULSE_POPLIBS_SLICE_PLAN_H

#include <popops/DynamicSlice.hpp>

#include "slice_partition.h"

namespace popops {

/// The content of a plan of embedding::plan.
class SlicePlanInternal {
public:
  SlicePartition partition;
  SliceUse use = SliceUse::Read;
  bool isPartitioned = false; // otherwise a row is spread over the tiles
};

/// Returns the partition of a plan for a table of this size, or null if the plan has none.
const SlicePartition *partitionIn(const SlicePlan &plan, std::size_t rows, std::size_t columns);

} // namespace popops

#endif
