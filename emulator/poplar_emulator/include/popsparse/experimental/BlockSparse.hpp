#ifndef popsparse_experimental_BlockSparse_hpp
#define popsparse_experimental_BlockSparse_hpp

#include <array>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popsparse {
namespace experimental {

/// Which elements of the whole matrix are 0, also in blocks that are there.
enum class SubBlockMask { None, ZeroUpperTriangle, ZeroLowerTriangle };

/// Softmax of the rows of `numGroups` matrices of `dim`, one below the other; `sparsity` has the
/// entries of all. The input and the result have the blocks that are there, [blocks, elements of a
/// block]. Others, and elements that the mask hides, do not count. A block must not be hidden.
poplar::Tensor bsSoftmax(poplar::Graph &graph, poplar::Tensor sparseTensor,
                         const std::array<int, 2> &dim, const std::array<int, 2> &blockSize,
                         const std::vector<unsigned char> &sparsity, SubBlockMask subBlockMaskType,
                         unsigned numGroups, poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {});
void bsSoftmaxInPlace(poplar::Graph &graph, poplar::Tensor sparseTensor,
                      const std::array<int, 2> &dim, const std::array<int, 2> &blockSize,
                      const std::vector<unsigned char> &sparsity, SubBlockMask subBlockMaskType,
                      unsigned numGroups, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
/// The gradient of the input from the result and its gradient. `dim`: of all groups together.
poplar::Tensor bsSoftmaxGrad(poplar::Graph &graph, poplar::Tensor sparseOut,
                             poplar::Tensor sparseOutGrad, const std::array<int, 2> &dim,
                             const std::array<int, 2> &blockSize,
                             const std::vector<unsigned char> &sparsity,
                             poplar::program::Sequence &prog,
                             const poplar::DebugContext &debugContext = {});

} // namespace experimental
} // namespace popsparse

#endif
