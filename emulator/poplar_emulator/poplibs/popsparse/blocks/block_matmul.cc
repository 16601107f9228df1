#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>
#include <popsparse/experimental/BlockSparseMatMul.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "block_matrix.h"

namespace popsparse {
namespace experimental {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;

/// The sizes of a product; the sparse matrices of its groups.
class BSMatMulImpl {
public:
  std::size_t rows, common, columns;
  poplar::Type in, out, partials;
  bool sparseResult, transposed;
  SubBlockMask hidden;
  std::vector<BlockMatrix> sparse;

  BSMatMulImpl(const std::array<int, 3> &dim, const std::array<int, 2> &of,
               const std::array<int, 2> &blocks, const std::vector<unsigned char> &masks,
               unsigned groups, poplar::Type in, poplar::Type out, poplar::Type partials,
               bool sparseResult, bool transposed, SubBlockMask hidden)
      : rows(static_cast<std::size_t>(dim[0])), common(static_cast<std::size_t>(dim[1])),
        columns(static_cast<std::size_t>(dim[2])), in(in), out(out), partials(partials),
        sparseResult(sparseResult), transposed(transposed), hidden(hidden) {
    if (groups == 0 || masks.size() % groups)
      throw poputil::poplibs_error("a sparsity mask of " + std::to_string(masks.size()) +
                                   " entries for " + std::to_string(groups) + " groups");
    const auto each = static_cast<std::ptrdiff_t>(masks.size() / groups);
    for (std::ptrdiff_t group = 0; group < static_cast<std::ptrdiff_t>(groups); ++group)
      sparse.emplace_back(of[0], of[1], blocks[0], blocks[1],
                          std::vector<unsigned char>(masks.begin() + group * each,
                                                     masks.begin() + (group + 1) * each));
  }
  std::size_t blocks() const {
    std::size_t sum = 0;
    for (const BlockMatrix &matrix : sparse)
      sum += matrix.blocks();
    return sum;
  }
};

BSMatMulParams::BSMatMulParams(const std::array<int, 3> &dim, const std::array<int, 3> &blockSize,
                               const std::vector<unsigned char> &rhsSparsity, bool rhsNeedTranspose,
                               poplar::Type inDataType, poplar::Type outDataType,
                               poplar::Type partialDataType, unsigned numGroupsIn)
    : impl(new BSMatMulImpl(dim,
                            rhsNeedTranspose ? std::array<int, 2>{dim[2], dim[1]}
                                             : std::array<int, 2>{dim[1], dim[2]},
                            rhsNeedTranspose ? std::array<int, 2>{blockSize[2], blockSize[1]}
                                             : std::array<int, 2>{blockSize[1], blockSize[2]},
                            rhsSparsity, numGroupsIn, inDataType, outDataType, partialDataType,
                            false, rhsNeedTranspose, SubBlockMask::None)) {}
BSMatMulParams::BSMatMulParams(const std::array<int, 3> &dim, const std::array<int, 3> &blockSize,
                               const std::vector<unsigned char> &resSparsity,
                               poplar::Type inDataType, poplar::Type outDataType,
                               poplar::Type partialDataType, SubBlockMask subBlockMask,
                               unsigned numGroupsIn)
    : impl(new BSMatMulImpl(dim, {dim[0], dim[2]}, {blockSize[0], blockSize[2]}, resSparsity,
                            numGroupsIn, inDataType, outDataType, partialDataType, true, false,
                            subBlockMask)) {}
BSMatMulParams::BSMatMulParams(BSMatMulParams &&other) = default;
BSMatMulParams::~BSMatMulParams() = default;

namespace {

Tensor created(Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
               const DebugContext &dc) {
  const Tensor t = graph.addVariable(type, shape, dc);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

/// [groups, rows, columns] of a dense operand.
Tensor byGroup(const Tensor &t, std::size_t groups, std::size_t rows, std::size_t columns) {
  if (t.rank() != 2 || t.dim(0) != groups * rows || t.dim(1) != columns)
    throw poputil::poplibs_error("bsMatMul: an operand of shape " + t.shapeToString() + ", not {" +
                                 std::to_string(groups * rows) + "," + std::to_string(columns) +
                                 "}");
  return t.reshape({groups, rows, columns});
}

/// The dense right operands of the groups from their blocks.
Tensor withoutBlocks(Graph &graph, const BSMatMulImpl &sizes, const Tensor &blocks,
                     const DebugContext &dc) {
  if (blocks.rank() == 0 || blocks.dim(0) != sizes.blocks())
    throw poputil::poplibs_error("bsMatMul: blocks of shape " + blocks.shapeToString() + " for " +
                                 std::to_string(sizes.blocks()) + " blocks");
  const Tensor zero = graph.addConstant(sizes.in, {1}, 0.0f, {dc, "zero"});
  graph.setTileMapping(zero, 0);
  std::vector<Tensor> matrices;
  std::size_t next = 0;
  for (const BlockMatrix &matrix : sizes.sparse) {
    const Tensor here = matrix.dense(blocks.slice(next, next + matrix.blocks()), zero);
    matrices.push_back((sizes.transposed ? here.transpose() : here).expand({0}));
    next += matrix.blocks();
  }
  return poplar::concat(matrices);
}

} // namespace

Tensor createBSMatMulInputLHS(Graph &graph, const BSMatMulParams &bsMatMul,
                              const DebugContext &debugContext, const OptionFlags &) {
  const BSMatMulImpl &sizes = *bsMatMul.impl;
  return created(graph, sizes.in, {sizes.sparse.size() * sizes.rows, sizes.common}, debugContext);
}

Tensor createBSMatMulInputRHS(Graph &graph, const BSMatMulParams &bsMatMul,
                              const DebugContext &debugContext, const OptionFlags &) {
  const BSMatMulImpl &sizes = *bsMatMul.impl;
  if (sizes.sparseResult)
    return created(graph, sizes.in, {sizes.sparse.size() * sizes.common, sizes.columns},
                   debugContext);
  return created(graph, sizes.in, {sizes.blocks(), sizes.sparse[0].blockSize()}, debugContext);
}

Tensor bsMatMul(Graph &graph, const BSMatMulParams &bsMatMulParams, poplar::program::Sequence &prog,
                const Tensor &lhsMatrix, const Tensor &rhsMatrix, const OptionFlags &options,
                const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "bsMatMul"};
  const BSMatMulImpl &sizes = *bsMatMulParams.impl;
  const std::size_t groups = sizes.sparse.size();
  for (const auto &[name, value] : options)
    if (name != "numberOfPass" && name != "memoryCycleRatio" && name != "partitionMethod")
      throw poplar::invalid_option("bsMatMul has no option " + name);
  const Tensor left = byGroup(lhsMatrix, groups, sizes.rows, sizes.common);
  const Tensor right = sizes.sparseResult ? byGroup(rhsMatrix, groups, sizes.common, sizes.columns)
                                          : withoutBlocks(graph, sizes, rhsMatrix, dc);
  const Tensor product =
      poplin::matMulGrouped(graph, left, right, prog, sizes.out, dc,
                            {{"partialsType", sizes.partials == poplar::HALF ? "half" : "float"}});
  if (!sizes.sparseResult)
    return product.flatten(0, 2);
  std::vector<Tensor> results;
  std::vector<float> counted;
  for (std::size_t group = 0; group < groups; ++group) {
    results.push_back(sizes.sparse[group].sparse(product[group]));
    const std::vector<float> here = sizes.sparse[group].counted(sizes.hidden, 1);
    counted.insert(counted.end(), here.begin(), here.end());
  }
  const Tensor result = poplar::concat(results);
  if (sizes.hidden != SubBlockMask::None) {
    const Tensor factors = graph.addConstant(sizes.out, result.shape(),
                                             poplar::ArrayRef<float>(counted), {dc, "mask"});
    poputil::mapTensorLinearly(graph, factors);
    popops::mulInPlace(graph, result, factors, prog, dc);
  }
  return result;
}

} // namespace experimental
} // namespace popsparse
