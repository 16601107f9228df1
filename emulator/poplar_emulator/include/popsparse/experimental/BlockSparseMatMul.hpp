#ifndef popsparse_experimental_BlockSparseMatMul_hpp
#define popsparse_experimental_BlockSparseMatMul_hpp

#include <memory>

#include <poplar/OptionFlags.hpp>
#include <popsparse/experimental/BlockSparse.hpp>

namespace popsparse {
namespace experimental {

class BSMatMulImpl;

/// A product of [dim[0], dim[1]] and [dim[1], dim[2]] in which the right operand or the result has
/// blocks that are not there. The emulator computes all of it: results follow the definition, but
/// cycles and memory are not the library's.
class BSMatMulParams {
public:
  /// Dense by sparse. Of a transposed right operand, mask and blocks are those before the
  /// transposition. Masks of several groups follow each other.
  BSMatMulParams(const std::array<int, 3> &dim, const std::array<int, 3> &blockSize,
                 const std::vector<unsigned char> &rhsSparsity, bool rhsNeedTranspose,
                 poplar::Type inDataType, poplar::Type outDataType, poplar::Type partialDataType,
                 unsigned numGroupsIn = 1);
  /// Dense by dense, with a sparse result.
  BSMatMulParams(const std::array<int, 3> &dim, const std::array<int, 3> &blockSize,
                 const std::vector<unsigned char> &resSparsity, poplar::Type inDataType,
                 poplar::Type outDataType, poplar::Type partialDataType,
                 SubBlockMask subBlockMask = SubBlockMask::None, unsigned numGroupsIn = 1);
  BSMatMulParams(BSMatMulParams &&other);
  ~BSMatMulParams();

  std::unique_ptr<BSMatMulImpl> impl;
};

/// A dense operand is [groups * rows, columns]; a sparse one [blocks of all groups, elements of a
/// block].
poplar::Tensor createBSMatMulInputLHS(poplar::Graph &graph, const BSMatMulParams &bsMatMul,
                                      const poplar::DebugContext &debugContext,
                                      const poplar::OptionFlags &options = {});
poplar::Tensor createBSMatMulInputRHS(poplar::Graph &graph, const BSMatMulParams &bsMatMul,
                                      const poplar::DebugContext &debugContext,
                                      const poplar::OptionFlags &options = {});
poplar::Tensor bsMatMul(poplar::Graph &graph, const BSMatMulParams &bsMatMulParams,
                        poplar::program::Sequence &prog, const poplar::Tensor &lhsMatrix,
                        const poplar::Tensor &rhsMatrix, const poplar::OptionFlags &options = {},
                        const poplar::DebugContext &debugContext = {});

} // namespace experimental
} // namespace popsparse

#endif
