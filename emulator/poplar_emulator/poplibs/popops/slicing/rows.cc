#include <limits>

#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/EncodingConstants.hpp>
#include <popops/HostSliceTensor.hpp>
#include <popops/Reduce.hpp>
#include <popops/SelectScalarFromRows.hpp>
#include <popops/UpdateScalarInRows.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using namespace expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

/// The column numbers, and the indices of each row, of the same shape.
std::pair<Tensor, Tensor> numbered(Graph &graph, const Tensor &params, const Tensor &indices,
                                   Sequence &prog, const DebugContext &dc) {
  if (params.rank() != 2 || indices.rank() != 1 || indices.dim(0) != params.dim(0))
    throw poputil::poplibs_error("one scalar of each row of " + params.shapeToString() +
                                 " by indices of shape " + indices.shapeToString());
  if (indices.elementType() != poplar::UNSIGNED_INT ||
      (params.elementType() != poplar::FLOAT && params.elementType() != poplar::HALF))
    throw poputil::poplibs_error("one scalar of each row: params are float or half, and indices "
                                 "unsigned int");
  const Tensor columns = graph.addVariable(poplar::UNSIGNED_INT, {params.dim(1)}, dc);
  poputil::mapTensorLinearly(graph, columns);
  iota(graph, columns, 0u, prog, dc);
  return {columns.expand({0}), indices.expand({1})};
}

const Const kNaN(std::numeric_limits<float>::quiet_NaN());

} // namespace

Tensor selectScalarFromRows(Graph &graph, const Tensor &params, const Tensor &indices,
                            Sequence &program, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "selectScalarFromRows"};
  const auto [columns, chosen] = numbered(graph, params, indices, program, dc);
  const Tensor alone =
      map(graph, Select(_1, Const(0.f), _2 == _3), {params, columns, chosen}, program, dc);
  const Tensor sums = reduce(graph, alone, {1}, Operation::ADD, program, dc);
  const auto width = static_cast<unsigned>(params.dim(1));
  mapInPlace(graph, Select(_1, kNaN, _2 < Const(width) || _2 == Const(MASKED_LABEL_CODE)),
             {sums, indices}, program, dc);
  return sums;
}

void updateScalarInRows(Graph &graph, const Tensor &params, const Tensor &indices,
                        Sequence &program, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "updateScalarInRows"};
  const auto [columns, chosen] = numbered(graph, params, indices, program, dc);
  const auto width = static_cast<unsigned>(params.dim(1));
  mapInPlace(graph,
             Select(Select(_1 - 1.f, _1, _2 == _3), kNaN,
                    _3 < Const(width) || _3 == Const(MASKED_LABEL_CODE)),
             {params, columns, chosen}, program, dc);
}

IndicesAndTensor createHostSliceableTensor(Graph &graph, const poplar::Type &type,
                                           const std::vector<std::size_t> &shape, bool isRead,
                                           const DebugContext &debugContext) {
  if (shape.empty())
    throw poputil::poplibs_error("a host-sliceable tensor has rows");
  const Tensor indices =
      graph.addVariable(poplar::UNSIGNED_INT, {shape[0]}, {debugContext, "indices"});
  graph.setTileMapping(indices, 0);
  return {indices, createHostTransferableTensor(graph, type, shape, isRead, debugContext)};
}

Tensor createHostTransferableTensor(Graph &graph, const poplar::Type &type,
                                    const std::vector<std::size_t> &shape, bool,
                                    const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, shape, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

} // namespace popops
