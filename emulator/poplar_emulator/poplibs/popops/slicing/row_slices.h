#ifndef IPULSE_POPLIBS_ROW_SLICES_H
#define IPULSE_POPLIBS_ROW_SLICES_H

#include <poplar/Graph.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

/// [rows along dim, elements of a row]
poplar::Tensor rowsOf(const poplar::Tensor &t, unsigned dim);

/// Adds a vertex for each tile of a row of t along dim, which updates the elements of that tile in
/// all rows.
void addUpdate(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
               const poplar::Tensor &offsets, const poplar::Tensor &scale,
               poplar::emulator::MultiUpdate kind, unsigned dim, poplar::ComputeSet cs);

/// Returns [n * size, elements of a row]: a vertex for each tile of a row copies its elements of
/// all slices.
poplar::Tensor addMultiSlice(poplar::Graph &graph, const poplar::Tensor &from,
                             const poplar::Tensor &offsets, std::size_t size, poplar::ComputeSet cs,
                             const poplar::DebugContext &debugContext);

} // namespace popops

#endif
