#ifndef IPULSE_POPLIBS_INDEX_VECTORS_H
#define IPULSE_POPLIBS_INDEX_VECTORS_H

#include <cstddef>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// The indices of a scatter or gather: vectors, of which element k is along a dimension of the
/// operand.
class IndexVectors {
public:
  /// dims: by element the dimension of the operand. Raises poplibs_error.
  IndexVectors(const poplar::Tensor &operand, const poplar::Tensor &indices, std::size_t vectorDim,
               const std::vector<unsigned> &dims, const char *what);

  std::vector<std::size_t> shape; // the dimensions of the vectors' elements
  poplar::Tensor vectors;         // [number, dims.size()], INT or UNSIGNED_INT
  std::vector<std::size_t> dims;

  /// Vector `number`, [1], as UNSIGNED_INT [dims.size()].
  poplar::Tensor at(poplar::Graph &graph, const poplar::Tensor &number,
                    poplar::program::Sequence &prog, const poplar::DebugContext &dc) const;
  /// Returns for each element the last index at which a window of these sizes fits.
  poplar::Tensor last(poplar::Graph &graph, const poplar::Tensor &operand,
                      const std::vector<std::size_t> &windowSizes) const;
  /// Returns the operand's sizes along `dims`.
  std::vector<std::size_t> along(const std::vector<std::size_t> &sizes) const;
};

} // namespace popops

#endif
