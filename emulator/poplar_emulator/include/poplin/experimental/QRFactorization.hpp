#ifndef poplin_experimental_QRFactorization_hpp
#define poplin_experimental_QRFactorization_hpp

#include <array>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace poplin {
namespace experimental {

/// Returns unset matrices A [m, n] and Q [m, m] for QRFactorization, spread over the tiles.
std::array<poplar::Tensor, 2>
createQRFactorizationMatrices(poplar::Graph &graph, const poplar::Type &type, std::size_t m,
                              std::size_t n, const poplar::DebugContext &debugContext);

/// Multiplies Q, the identity before, by the orthogonal factor of A, and replaces A, which has as
/// many rows as columns or more, by the upper triangular factor: old A = Q * new A.
void QRFactorization(poplar::Graph &graph, poplar::Tensor &A, poplar::Tensor &Q,
                     poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                     const poplar::OptionFlags &options = {});

} // namespace experimental
} // namespace poplin

#endif
