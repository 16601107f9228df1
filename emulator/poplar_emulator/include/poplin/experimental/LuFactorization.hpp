#ifndef poplin_LuFactorization_hpp
#define poplin_LuFactorization_hpp

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplin {
namespace experimental {

/// Returns L, lower triangular with ones on its diagonal, and U, upper triangular, of which `input`
/// is the product. Rows are not exchanged: a zero pivot gives elements that are not finite.
std::pair<poplar::Tensor, poplar::Tensor>
LUFactorization(poplar::Graph &graph, poplar::Tensor &input, poplar::program::Sequence &seq,
                const poplar::DebugContext &debugContext = {});

} // namespace experimental
} // namespace poplin

#endif
