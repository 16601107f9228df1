#ifndef IPULSE_POPLIBS_PLANNED_SLICES_H
#define IPULSE_POPLIBS_PLANNED_SLICES_H

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"
#include "slice_partition.h"

namespace popops {

/// Creates a table, [rows, columns], of which each tile has a share of the rows of its part.
poplar::Tensor createTable(poplar::Graph &graph, const poplar::Type &type,
                           const SlicePartition &partition, const poplar::DebugContext &dc);

/// Creates slices, [lookups, columns], each on a tile of its part of the lookups.
poplar::Tensor createSlices(poplar::Graph &graph, const poplar::Type &type,
                            const SlicePartition &partition, const poplar::DebugContext &dc);

/// Returns [lookups, columns], the rows of a table that offsets, [lookups], name. A row beyond the
/// end has undefined elements.
poplar::Tensor slicePlanned(poplar::Graph &graph, const poplar::Tensor &table,
                            const poplar::Tensor &offsets, const SlicePartition &partition,
                            poplar::program::Sequence &prog, const poplar::DebugContext &dc);

/// Updates the rows of a table that offsets, [lookups], name by those of `slices`. Rows beyond the
/// end are ignored.
void updatePlanned(poplar::Graph &graph, const poplar::Tensor &table, const poplar::Tensor &slices,
                   const poplar::Tensor &offsets, const poplar::Tensor &scale,
                   poplar::emulator::MultiUpdate kind, const SlicePartition &partition,
                   poplar::program::Sequence &prog, const poplar::DebugContext &dc);

} // namespace popops

#endif
