#ifndef poplin_MeshGrid_hpp
#define poplin_MeshGrid_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>

namespace poplin {

/// A constant [count] from left to right, both included, on tiles as a linear mapping has it.
/// Raises poplibs_error unless the type is HALF or FLOAT and count is at least 1.
poplar::Tensor linspace(poplar::Graph &graph, const poplar::Type &type, float left, float right,
                        std::size_t count, const poplar::DebugContext &debugContext = {});
/// Views [elements of y, elements of x]: x along each row, y along each column. Raises
/// poplibs_error unless both are of rank 1.
std::vector<poplar::Tensor> meshgrid2d(poplar::Graph &graph, poplar::Tensor x, poplar::Tensor y);

} // namespace poplin

#endif
