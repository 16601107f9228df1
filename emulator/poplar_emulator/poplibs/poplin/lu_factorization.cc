#include <algorithm>

#include <poplin/FullyConnected.hpp>
#include <poplin/experimental/LuFactorization.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

namespace fc {

std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getMatMulPrePlanParameters(FullyConnectedParams p, poplar::OptionFlags matmulOptions,
                           poplar::Type type, bool inferenceOnly) {
  const auto product = [&](std::size_t m, std::size_t k, std::size_t n, const char *pass) {
    poplar::OptionFlags options = matmulOptions;
    options.set("fullyConnectedPass", pass);
    return std::pair(MatMulParams{type, type, {p.numGroups, m, k}, {p.numGroups, k, n}}, options);
  };
  if (inferenceOnly)
    return {product(p.batchSize, p.inputSize, p.outputSize, "INFERENCE_FWD")};
  return {product(p.batchSize, p.inputSize, p.outputSize, "TRAINING_FWD"),
          product(p.batchSize, p.outputSize, p.inputSize, "TRAINING_BWD"),
          product(p.inputSize, p.batchSize, p.outputSize, "TRAINING_WU")};
}

} // namespace fc

namespace experimental {

using poplar::Tensor;

std::pair<Tensor, Tensor> LUFactorization(poplar::Graph &graph, Tensor &input,
                                          poplar::program::Sequence &seq,
                                          const poplar::DebugContext &debugContext) {
  using namespace popops::expr;
  const poplar::DebugContext dc{debugContext, "LUFactorization"};
  if (input.rank() != 2 ||
      (input.elementType() != poplar::FLOAT && input.elementType() != poplar::HALF))
    throw poputil::poplibs_error("LUFactorization needs a matrix of float or half, not " +
                                 input.getDebugStr());
  const std::size_t rows = input.dim(0), columns = input.dim(1);
  std::vector<float> identity(rows * rows);
  for (std::size_t i = 0; i < rows; ++i)
    identity[i * (rows + 1)] = 1;
  const Tensor ones = graph.addConstant(input.elementType(), {rows, rows},
                                        poplar::ArrayRef<float>(identity), {dc, "ones"});
  poputil::mapTensorLinearly(graph, ones);
  const Tensor lower = graph.addVariable(input.elementType(), {rows, rows}, {dc, "lower"});
  poputil::mapTensorLinearly(graph, lower);
  const Tensor upper = graph.addVariable(input.elementType(), {rows, columns}, {dc, "upper"});
  poputil::mapTensorLinearly(graph, upper);
  seq.add(poplar::program::Copy(ones, lower, false, dc));
  seq.add(poplar::program::Copy(input, upper, false, dc));
  for (std::size_t k = 0; k + 1 < rows && k < columns; ++k) {
    const Tensor below = upper.slice(k + 1, rows), pivot = upper.slice(k, k + 1);
    const Tensor factors = lower.slice({k + 1, k}, {rows, k + 1});
    popops::mapInPlace(graph, _2 / _3,
                       {factors, below.slice(k, k + 1, 1), pivot.slice(k, k + 1, 1)}, seq, dc);
    if (k + 1 < columns)
      popops::mapInPlace(graph, _1 - _2 * _3,
                         {below.slice(k + 1, columns, 1), factors, pivot.slice(k + 1, columns, 1)},
                         seq, dc);
    popops::zero(graph, below.slice(k, k + 1, 1), seq, dc);
  }
  return {lower, upper};
}

} // namespace experimental
} // namespace poplin
