#include <poplin/MatMul.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "matmul_blocks.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "poplibs/poputil/linear_variable.h"
#include "poplibs/poputil/memory_proportion.h"

namespace poplin {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::emulator::linearVariable;

namespace {

void check(const Tensor &A, const Tensor &B, unsigned rank) {
  if (A.rank() != rank || B.rank() != rank || A.dim(rank - 1) != B.dim(rank - 2) ||
      A.dim(0) != (rank == 3 ? B.dim(0) : A.dim(0)) || A.elementType() != B.elementType())
    throw poputil::poplibs_error("matMul of " + A.elementType().toString() + A.shapeToString() +
                                 " and " + B.elementType().toString() + B.shapeToString());
}

/// out = A x B: one vertex for each row of `out` and each tile with elements of it.
void addMatMul(Graph &graph, const Tensor &A, const Tensor &B, const Tensor &out, ComputeSet cs) {
  check(A, B, 2);
  if (out.shape() != std::vector<std::size_t>{A.dim(0), B.dim(1)})
    throw poputil::poplibs_error("matMul: the output has shape " + out.shapeToString());
  const Tensor columns = B.transpose();
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
        graph.setInitialValue(v["outType"], static_cast<unsigned>(out.elementType().identity()));
        graph.setTileMapping(v, tile);
      }
    }
  }
}

Tensor outputFor(Graph &graph, const poplar::Type &type, std::vector<std::size_t> shape,
                 const poplar::DebugContext &debugContext) {
  const Tensor out = graph.addVariable(type, shape, debugContext);
  poputil::mapTensorLinearly(graph, out, 1, 1);
  return out;
}

} // namespace

void matMulWithOutput(Graph &graph, const Tensor &A, const Tensor &B, Tensor &out,
                      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext,
                      const poplar::OptionFlags &options, PlanningCache *) {
  check(A, B, 2);
  const double share = poputil::availableMemoryProportion(options);
  if (isWorkedInBlocks({A.dim(0), A.dim(1), B.dim(1)}))
    return multiplyInBlocks(graph, A, B, out, share, prog, {debugContext, "matMul"});
  const ComputeSet cs = graph.addComputeSet({debugContext, "matMul"});
  addMatMul(graph, A, B, out, cs);
  prog.add(poplar::program::Execute(cs, debugContext));
}

Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, poplar::program::Sequence &prog,
              const poplar::Type &outputType, const poplar::DebugContext &debugContext,
              const poplar::OptionFlags &options, PlanningCache *cache) {
  check(A, B, 2);
  Tensor out = outputFor(graph, outputType, {A.dim(0), B.dim(1)}, debugContext);
  matMulWithOutput(graph, A, B, out, prog, debugContext, options, cache);
  return out;
}

void matMulAcc(Graph &graph, const Tensor &C, float k, const Tensor &A, const Tensor &B,
               poplar::program::Sequence &prog, const poplar::DebugContext &debugContext,
               const poplar::OptionFlags &options, PlanningCache *cache) {
  const Tensor product = matMul(graph, A, B, prog, C.elementType(), debugContext, options, cache);
  popops::scaledAddTo(graph, C, product, k, prog, debugContext);
}
void matMulAcc(Graph &graph, const Tensor &C, const Tensor &k, const Tensor &A, const Tensor &B,
               poplar::program::Sequence &prog, const poplar::DebugContext &debugContext,
               const poplar::OptionFlags &options, PlanningCache *cache) {
  const Tensor product = matMul(graph, A, B, prog, C.elementType(), debugContext, options, cache);
  popops::scaledAddTo(graph, C, product, k, prog, debugContext);
}

void matMulGroupedWithOutput(Graph &graph, const Tensor &A, const Tensor &B, Tensor &out,
                             poplar::program::Sequence &prog,
                             const poplar::DebugContext &debugContext,
                             const poplar::OptionFlags &options, PlanningCache *) {
  check(A, B, 3);
  const double share = poputil::availableMemoryProportion(options);
  if (isWorkedInBlocks({A.dim(1), A.dim(2), B.dim(2)})) {
    for (std::size_t g = 0; g < A.dim(0); ++g)
      multiplyInBlocks(graph, A[g], B[g], out[g], share, prog, {debugContext, "matMulGrouped"});
    return;
  }
  const ComputeSet cs = graph.addComputeSet({debugContext, "matMulGrouped"});
  for (std::size_t g = 0; g < A.dim(0); ++g)
    addMatMul(graph, A[g], B[g], out[g], cs);
  prog.add(poplar::program::Execute(cs, debugContext));
}

Tensor matMulGrouped(Graph &graph, const Tensor &A, const Tensor &B,
                     poplar::program::Sequence &prog, const poplar::Type &outputType,
                     const poplar::DebugContext &debugContext, const poplar::OptionFlags &options,
                     PlanningCache *cache) {
  check(A, B, 3);
  Tensor out = outputFor(graph, outputType, {A.dim(0), A.dim(1), B.dim(2)}, debugContext);
  matMulGroupedWithOutput(graph, A, B, out, prog, debugContext, options, cache);
  return out;
}

void matMulGroupedAcc(Graph &graph, const Tensor &C, float k, const Tensor &A, const Tensor &B,
                      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext,
                      const poplar::OptionFlags &options, PlanningCache *cache) {
  const Tensor product =
      matMulGrouped(graph, A, B, prog, C.elementType(), debugContext, options, cache);
  popops::scaledAddTo(graph, C, product, k, prog, debugContext);
}

void matMulGroupedAcc(Graph &graph, const Tensor &C, const Tensor &k, const Tensor &A,
                      const Tensor &B, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext, const poplar::OptionFlags &options,
                      PlanningCache *cache) {
  const Tensor product =
      matMulGrouped(graph, A, B, prog, C.elementType(), debugContext, options, cache);
  popops::scaledAddTo(graph, C, product, k, prog, debugContext);
}

Tensor createMatMulGroupedOutput(Graph &graph, const poplar::Type &, const poplar::Type &outputType,
                                 const std::vector<std::size_t> &aShape,
                                 const std::vector<std::size_t> &bShape,
                                 const poplar::DebugContext &debugContext,
                                 const poplar::OptionFlags &, PlanningCache *) {
  return outputFor(graph, outputType, {aShape.at(0), aShape.at(1), bShape.at(2)}, debugContext);
}
void matMulReportPlan(std::ostream &out, const Graph &graph, const poplar::Type &inputType,
                      const poplar::Type &, const std::vector<std::size_t> &aShape,
                      const std::vector<std::size_t> &bShape, const poplar::OptionFlags &options,
                      PlanningCache *) {
  reportProduct(out, {aShape.at(0), aShape.at(1), bShape.at(1)}, inputType, graph.getTarget(),
                poputil::availableMemoryProportion(options));
}
void matMulGroupedReportPlan(std::ostream &out, const Graph &graph, const poplar::Type &inputType,
                             const poplar::Type &outputType, const std::vector<std::size_t> &aShape,
                             const std::vector<std::size_t> &bShape,
                             const poplar::OptionFlags &options, PlanningCache *cache) {
  out << aShape.at(0) << " groups, each of them ";
  matMulReportPlan(out, graph, inputType, outputType, {aShape.at(1), aShape.at(2)},
                   {bShape.at(1), bShape.at(2)}, options, cache);
}

Tensor createMatMulOutput(Graph &graph, const poplar::Type &, const poplar::Type &outputType,
                          const std::vector<std::size_t> &aShape,
                          const std::vector<std::size_t> &bShape,
                          const poplar::DebugContext &debugContext, const poplar::OptionFlags &,
                          PlanningCache *) {
  return outputFor(graph, outputType, {aShape.at(0), bShape.at(1)}, debugContext);
}
Tensor createMatMulGroupedInputLHS(Graph &graph, const poplar::Type &inputType,
                                   const poplar::Type &, const std::vector<std::size_t> &aShape,
                                   const std::vector<std::size_t> &,
                                   const poplar::DebugContext &debugContext,
                                   const poplar::OptionFlags &, PlanningCache *) {
  return linearVariable(graph, inputType, aShape, debugContext);
}
Tensor createMatMulGroupedInputRHS(Graph &graph, const poplar::Type &inputType,
                                   const poplar::Type &, const std::vector<std::size_t> &,
                                   const std::vector<std::size_t> &bShape,
                                   const poplar::DebugContext &debugContext,
                                   const poplar::OptionFlags &, PlanningCache *) {
  return linearVariable(graph, inputType, {bShape.at(0), bShape.at(2), bShape.at(1)}, debugContext)
      .dimShuffle({0, 2, 1});
}
Tensor createMatMulInputLHS(Graph &graph, const poplar::Type &dataType,
                            const std::vector<std::size_t> &aShape,
                            const std::vector<std::size_t> &bShape,
                            const poplar::DebugContext &debugContext,
                            const poplar::OptionFlags &options, PlanningCache *cache) {
  return createMatMulInputLHS(graph, dataType, dataType, aShape, bShape, debugContext, options,
                              cache);
}
Tensor createMatMulInputRHS(Graph &graph, const poplar::Type &dataType,
                            const std::vector<std::size_t> &aShape,
                            const std::vector<std::size_t> &bShape,
                            const poplar::DebugContext &debugContext,
                            const poplar::OptionFlags &options, PlanningCache *cache) {
  return createMatMulInputRHS(graph, dataType, dataType, aShape, bShape, debugContext, options,
                              cache);
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
  return linearVariable(graph, inputType, aShape, debugContext);
}

Tensor createMatMulInputRHS(Graph &graph, const poplar::Type &inputType, const poplar::Type &,
                            const std::vector<std::size_t> &,
                            const std::vector<std::size_t> &bShape,
                            const poplar::DebugContext &debugContext, const poplar::OptionFlags &,
                            PlanningCache *) {
  // Columns are contiguous, as the product reads them.
  return linearVariable(graph, inputType, {bShape.at(1), bShape.at(0)}, debugContext).transpose();
}

Tensor preArrangeMatMulGroupedInputRHS(Graph &graph, const std::vector<std::size_t> &aShape,
                                       const Tensor &B, poplar::program::Sequence &prog,
                                       const poplar::Type &outputType,
                                       const poplar::DebugContext &debugContext,
                                       const poplar::OptionFlags &options, PlanningCache *cache) {
  const Tensor arranged = createMatMulGroupedInputRHS(graph, B.elementType(), outputType, aShape,
                                                      B.shape(), debugContext, options, cache);
  prog.add(poplar::program::Copy(B, arranged, false, debugContext));
  return arranged;
}
Tensor preArrangeMatMulInputRHS(Graph &graph, const std::vector<std::size_t> &aShape,
                                const Tensor &B, poplar::program::Sequence &prog,
                                const poplar::Type &outputType,
                                const poplar::DebugContext &debugContext,
                                const poplar::OptionFlags &options, PlanningCache *cache) {
  return preArrangeMatMulGroupedInputRHS(graph, {1, aShape.at(0), aShape.at(1)}, B.expand({0}),
                                         prog, outputType, debugContext, options, cache)[0];
}
Tensor preArrangeMatMulInputRHS(Graph &graph, const std::vector<std::size_t> &aShape,
                                const Tensor &B, poplar::program::Sequence &prog,
                                const poplar::DebugContext &debugContext,
                                const poplar::OptionFlags &options, PlanningCache *cache) {
  return preArrangeMatMulInputRHS(graph, aShape, B, prog, B.elementType(), debugContext, options,
                                  cache);
}

} // namespace poplin
