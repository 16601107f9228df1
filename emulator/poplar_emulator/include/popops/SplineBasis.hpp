#ifndef popops_SplineBasis_hpp
#define popops_SplineBasis_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// The bases of B-splines of a graph's edges, and the weights that they multiply.
/// pseudo: [edges, dimensions], coordinates in [0, 1]. kernelSize: INT, [dimensions]. isOpenSpline:
/// UNSIGNED_CHAR, [dimensions]. basis, [edges, (degree + 1)^dimensions], and weightIndex, INT of
/// the same shape, are written. degree: 1, 2 or 3. Raises poplibs_error for others.
void splineBasis(poplar::Graph &graph, const poplar::Tensor &pseudo,
                 const poplar::Tensor &kernelSize, const poplar::Tensor &isOpenSpline,
                 const poplar::Tensor &basis, const poplar::Tensor &weightIndex, unsigned degree,
                 poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
