#include <popops/AllTrue.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ElementWiseUtil.hpp>
#include <popops/Encoding.hpp>
#include <popops/NaN.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

void iota(Graph &graph, const Tensor &t, int startInteger, Sequence &prog,
          const poplar::DebugContext &debugContext) {
  if (t.rank() != 1)
    throw poputil::poplibs_error("iota needs a vector, not a tensor of shape " + t.shapeToString());
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "iota"});
  const auto mapping = graph.getTileMapping(t);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    for (const poplar::Interval &part : mapping[tile]) {
      const poplar::VertexRef v =
          graph.addVertex(cs, poplar::emulator::kCount, {{"out", t.slice(part)}});
      graph.setInitialValue(v["outType"], static_cast<unsigned>(t.elementType().identity()));
      graph.setInitialValue(v["choice"], static_cast<unsigned>(startInteger) +
                                             static_cast<unsigned>(part.begin()));
      graph.setTileMapping(v, tile);
    }
  }
  prog.add(poplar::program::Execute(cs, debugContext));
}

void iota(Graph &graph, const Tensor &t, unsigned startInteger, Sequence &prog,
          const poplar::DebugContext &debugContext) {
  iota(graph, t, static_cast<int>(startInteger), prog, debugContext);
}

void encodeOneHot(Graph &graph, const Tensor &indices, const Tensor &encoded, Sequence &prog,
                  const Tensor &on, const Tensor &off, const poplar::DebugContext &debugContext) {
  if (encoded.rank() != 2 || indices.rank() != 1 || indices.dim(0) != encoded.dim(0))
    throw poputil::poplibs_error("encodeOneHot of indices " + indices.shapeToString() +
                                 " into a tensor of shape " + encoded.shapeToString());
  const Tensor classes =
      graph.addVariable(indices.elementType(), {encoded.dim(1)}, {debugContext, "classes"});
  poputil::mapTensorLinearly(graph, classes);
  iota(graph, classes, 0u, prog, debugContext);
  using namespace expr;
  mapWithOutput(graph, Select(_3, _4, _1 == _2),
                {indices.expand({1}), classes.expand({0}), on, off}, encoded, prog, debugContext);
}

void encodeOneHot(Graph &graph, const Tensor &indices, const Tensor &encoded, Sequence &prog,
                  const poplar::DebugContext &debugContext) {
  const auto constant = [&](float value) {
    const Tensor t = graph.addConstant(encoded.elementType(), {}, value);
    graph.setTileMapping(t, 0);
    return t;
  };
  encodeOneHot(graph, indices, encoded, prog, constant(1), constant(0), debugContext);
}

Tensor allTrue(Graph &graph, Tensor t, Sequence &prog, const poplar::DebugContext &debugContext) {
  if (t.elementType() != poplar::BOOL)
    throw poputil::poplibs_error("allTrue of a tensor of type " + t.elementType().toString());
  return reduce(graph, t.flatten(), {0}, Operation::LOGICAL_AND, prog, {debugContext, "allTrue"});
}

namespace {

Tensor any(Graph &graph, const Tensor &found, Sequence &prog,
           const poplar::DebugContext &debugContext) {
  return reduce(graph, found.flatten(), {0}, Operation::LOGICAL_OR, prog, debugContext);
}

} // namespace

Tensor hasNaN(Graph &graph, const Tensor &src, Sequence &prog,
              const poplar::DebugContext &debugContext) {
  return any(graph, isNaN(graph, src, prog, debugContext), prog, debugContext);
}

Tensor hasNaNOrInf(Graph &graph, const Tensor &src, Sequence &prog,
                   const poplar::DebugContext &debugContext) {
  using namespace expr;
  return any(graph, map(graph, Not(IsFinite(_1)), {src}, prog, debugContext), prog, debugContext);
}

Tensor createOutputForElementWiseOp(Graph &graph, const std::vector<Tensor> &inputs,
                                    const poplar::Type &outputType,
                                    const poplar::DebugContext &debugContext) {
  if (inputs.empty())
    throw poputil::poplibs_error("createOutputForElementWiseOp needs at least one input");
  for (const Tensor &t : inputs)
    if (!t.containsAliases() && !t.containsConstant())
      return graph.clone(outputType, t, debugContext);
  const Tensor t = graph.addVariable(outputType, inputs[0].shape(), debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

} // namespace popops
