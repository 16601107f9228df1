#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "block_matrix.h"

namespace popsparse {
namespace experimental {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;
using Mask = std::vector<unsigned char>;

namespace {

Tensor constant(Graph &graph, const poplar::Type &type, float value, const DebugContext &dc) {
  const Tensor t = graph.addConstant(type, {1}, value, dc);
  graph.setTileMapping(t, 0);
  return t;
}

/// Repeats [rows], a number for each row, for each element of the blocks.
Tensor ofRows(const BlockMatrix &matrix, const Tensor &rows) {
  return matrix.sparse(rows.expand({1}).broadcast(static_cast<unsigned>(matrix.columns), 1));
}

} // namespace

void bsSoftmaxInPlace(Graph &graph, Tensor sparseTensor, const std::array<int, 2> &dim,
                      const std::array<int, 2> &blockSize, const Mask &sparsity,
                      SubBlockMask subBlockMaskType, unsigned numGroups, Sequence &prog,
                      const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "bsSoftmax"};
  const BlockMatrix matrix(dim[0] * static_cast<int>(numGroups), dim[1], blockSize[0], blockSize[1],
                           sparsity);
  const poplar::Type type = sparseTensor.elementType();
  const Tensor blocks = sparseTensor.reshape({matrix.blocks(), matrix.blockSize()});
  if (matrix.blocks() == 0)
    return;
  const Tensor counted = graph.addConstant(
      type, blocks.shape(), poplar::ArrayRef<float>(matrix.counted(subBlockMaskType, numGroups)),
      {dc, "mask"});
  poputil::mapTensorLinearly(graph, counted);
  // Absent elements are the smallest numbers: their exponential is 0.
  const float least = type == poplar::HALF ? -65504.0f : -3e38f;
  const Tensor absent = constant(graph, type, least, dc), zero = constant(graph, type, 0, dc);
  popops::mapInPlace(graph, Select(_1, Const(least), _2 > Const(0.0f)), {blocks, counted}, prog,
                     dc);
  const Tensor most = popops::reduce(graph, matrix.dense(blocks, absent), type, {1},
                                     popops::Operation::MAX, prog, dc);
  popops::mapInPlace(graph, Exp(_1 - _2) * _3, {blocks, ofRows(matrix, most), counted}, prog, dc);
  const Tensor sums = popops::reduce(graph, matrix.dense(blocks, zero), type, {1},
                                     popops::Operation::ADD, prog, dc);
  popops::mapInPlace(graph, Select(_1 / _2, _1, _2 > Const(0.0f)), {blocks, ofRows(matrix, sums)},
                     prog, dc);
}

Tensor bsSoftmax(Graph &graph, Tensor sparseTensor, const std::array<int, 2> &dim,
                 const std::array<int, 2> &blockSize, const Mask &sparsity,
                 SubBlockMask subBlockMaskType, unsigned numGroups, Sequence &prog,
                 const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "bsSoftmax"};
  const Tensor result = graph.clone(sparseTensor, dc);
  prog.add(poplar::program::Copy(sparseTensor, result, false, dc));
  bsSoftmaxInPlace(graph, result, dim, blockSize, sparsity, subBlockMaskType, numGroups, prog,
                   debugContext);
  return result;
}

Tensor bsSoftmaxGrad(Graph &graph, Tensor sparseOut, Tensor sparseOutGrad,
                     const std::array<int, 2> &dim, const std::array<int, 2> &blockSize,
                     const Mask &sparsity, Sequence &prog, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "bsSoftmaxGrad"};
  const BlockMatrix matrix(dim[0], dim[1], blockSize[0], blockSize[1], sparsity);
  if (sparseOut.shape() != sparseOutGrad.shape())
    throw poputil::poplibs_error("bsSoftmaxGrad: a result of shape " + sparseOut.shapeToString() +
                                 " and a gradient of shape " + sparseOutGrad.shapeToString());
  const poplar::Type type = sparseOut.elementType();
  const Tensor products = popops::mul(graph, sparseOut, sparseOutGrad, prog, dc);
  if (matrix.blocks() == 0)
    return products;
  const Tensor sums = popops::reduce(graph, matrix.dense(products, constant(graph, type, 0, dc)),
                                     type, {1}, popops::Operation::ADD, prog, dc);
  return popops::map(graph, _1 - _2 * _3,
                     {products, sparseOut, ofRows(matrix, sums).reshape(products.shape())}, prog,
                     dc);
}

} // namespace experimental
} // namespace popsparse
