#include <poplin/MatMul.hpp>
#include <popsparse/MatMul.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "dense_weights.h"

namespace popsparse {
namespace dynamic {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

/// The sizes of the product that a sparse operand was made for.
class SizesOfProduct : public poputil::TensorMetaDataBase {
public:
  explicit SizesOfProduct(const MatMulParams &params) : params(params) {}
  const MatMulParams params;
};

} // namespace

std::ostream &operator<<(std::ostream &os, const MatMulParams &params) {
  return os << "{sparsity=" << params.getSparsityParams() << ", nzRatio=" << params.getNzRatio()
            << ", groups=" << params.getNumGroups() << ", m=" << params.getM()
            << ", k=" << params.getK() << ", n=" << params.getN() << '}';
}

SparseTensor createSparseDenseMatMulLHS(Graph &graph, const poplar::Type &inputType,
                                        const MatMulParams &params,
                                        const DebugContext &debugContext,
                                        const OptionFlags &options, PlanningCache *cache) {
  const SparseTensor made =
      createFullyConnectedWeights(graph, inputType, params.asLayer(), debugContext, options, cache);
  return {made.getMetaInfoTensor(), made.getNzValuesTensor(),
          poputil::TensorMetaData(std::make_shared<const SizesOfProduct>(params))};
}

Tensor createSparseDenseMatMulRHS(Graph &graph, const poplar::Type &inputType,
                                  const MatMulParams &params, const DebugContext &debugContext,
                                  const OptionFlags &, PlanningCache *) {
  const Tensor t = graph.addVariable(
      inputType, {params.getNumGroups(), params.getK(), params.getN()}, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

Tensor sparseDenseMatMul(Graph &graph, const SparseTensor &lhs, const Tensor &rhs, Sequence &prog,
                         bool transposeLHS, bool transposeRHS, const DebugContext &debugContext,
                         const OptionFlags &options, PlanningCache *) {
  const auto *made = dynamic_cast<const SizesOfProduct *>(lhs.getOpMetaData().getData());
  if (!made)
    throw poputil::poplibs_error(
        "sparseDenseMatMul: the sparse operand was not made by createSparseDenseMatMulLHS");
  const MatMulParams &params = made->params;
  const Tensor right = transposeRHS ? rhs.dimShuffle({0, 2, 1}) : rhs;
  const std::vector<std::size_t> shape{params.getNumGroups(),
                                       transposeLHS ? params.getM() : params.getK(), params.getN()};
  if (right.shape() != shape)
    throw poputil::poplibs_error("sparseDenseMatMul: the dense operand has shape " +
                                 rhs.shapeToString() + " and does not fit the sizes " +
                                 std::to_string(shape[0]) + " x " + std::to_string(shape[1]) +
                                 " x " + std::to_string(shape[2]));
  const DebugContext dc{debugContext, "sparseDenseMatMul"};
  const Tensor dense = denseWeights(graph, lhs, params.asLayer(), prog, dc);
  return poplin::matMulGrouped(graph, transposeLHS ? dense.dimShuffle({0, 2, 1}) : dense, right,
                               prog, rhs.elementType(), dc, options);
}

} // namespace dynamic

namespace static_ {

std::ostream &operator<<(std::ostream &os, const MatMulParams &params) {
  return os << "{groups=" << params.getNumGroups() << ", m=" << params.getM()
            << ", k=" << params.getK() << ", n=" << params.getN()
            << ", transposed=" << params.isTransposed() << '}';
}

} // namespace static_
} // namespace popsparse
