#ifndef popops_SplineWeighting_hpp
#define popops_SplineWeighting_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Returns [edges, outputs], the inputs of each edge, [edges, inputs], times the weights, [kernel,
/// inputs, outputs], that weightIndex names, times their basis; the last two are [edges, splines].
poplar::Tensor splineWeighting(poplar::Graph &graph, const poplar::Tensor &input,
                               const poplar::Tensor &weight, const poplar::Tensor &basis,
                               const poplar::Tensor &weightIndex, poplar::program::Sequence &prog,
                               const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
