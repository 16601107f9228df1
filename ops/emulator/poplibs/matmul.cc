#include <poplin/MatMul.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "array_vertices.h"

namespace poplin {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Tensor;
using poplar::VertexRef;

Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, poplar::program::Sequence &prog,
              const poplar::Type &outputType, const poplar::DebugContext &debugContext,
              const poplar::OptionFlags &, PlanningCache *) {
  if (A.rank() != 2 || B.rank() != 2 || A.dim(1) != B.dim(0) || A.elementType() != B.elementType())
    throw poputil::poplibs_error("matMul of " + A.elementType().toString() + A.shapeToString() +
                                 " and " + B.elementType().toString() + B.shapeToString());
  const Tensor out = graph.addVariable(outputType, {A.dim(0), B.dim(1)}, debugContext);
  poputil::mapTensorLinearly(graph, out, 1, 1);
  const Tensor columns = B.transpose();
  const ComputeSet cs = graph.addComputeSet({debugContext, "matMul"});
  for (std::size_t row = 0; row < A.dim(0); ++row) {
    const auto mapping = graph.getTileMapping(out[row]);
    for (unsigned tile = 0; tile < mapping.size(); ++tile) {
      for (const poplar::Interval &part : mapping[tile]) {
        std::vector<Tensor> rows{A[row]};
        for (std::size_t j = part.begin(); j < part.end(); ++j)
          rows.push_back(columns[j]);
        const VertexRef v = graph.addVertex(cs, poplar::emulator::kMatMul);
        graph.connect(v["rows"], rows);
        graph.connect(v["out"], out[row].slice(part));
        graph.setInitialValue(v["type"], static_cast<unsigned>(A.elementType().identity()));
        graph.setInitialValue(v["outType"], static_cast<unsigned>(outputType.identity()));
        graph.setTileMapping(v, tile);
      }
    }
  }
  prog.add(poplar::program::Execute(cs, debugContext));
  return out;
}

Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, poplar::program::Sequence &prog,
              const poplar::DebugContext &debugContext, const poplar::OptionFlags &options,
              PlanningCache *cache) {
  return matMul(graph, A, B, prog, A.elementType(), debugContext, options, cache);
}

Tensor createMatMulInputLHS(Graph &graph, const poplar::Type &inputType, const poplar::Type &,
                            const std::vector<std::size_t> &aShape,
                            const std::vector<std::size_t> &,
                            const poplar::DebugContext &debugContext, const poplar::OptionFlags &,
                            PlanningCache *) {
  const Tensor t = graph.addVariable(inputType, aShape, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

Tensor createMatMulInputRHS(Graph &graph, const poplar::Type &inputType, const poplar::Type &,
                            const std::vector<std::size_t> &,
                            const std::vector<std::size_t> &bShape,
                            const poplar::DebugContext &debugContext, const poplar::OptionFlags &,
                            PlanningCache *) {
  // Columns lie in one piece: that is how they are multiplied.
  const Tensor t = graph.addVariable(inputType, {bShape.at(1), bShape.at(0)}, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t.transpose();
}

} // namespace poplin
