#include <poplin/Cholesky.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/TriangularSolve.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/poputil/linear_variable.h"

namespace poplin {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::emulator::linearVariable;
using poplar::program::Copy;
using poplar::program::Sequence;
using Shape = std::vector<std::size_t>;

namespace {

/// Matrices [groups, n, m] of [..., n, m].
Tensor grouped(const Tensor &t) {
  if (t.rank() < 2)
    throw poputil::poplibs_error("matrices of shape " + t.shapeToString());
  return t.rank() == 2 ? t.expand({0}) : t.flatten(0, t.rank() - 2);
}
void checkSquare(const Tensor &a) {
  if (a.rank() < 2 || a.dim(a.rank() - 1) != a.dim(a.rank() - 2))
    throw poputil::poplibs_error("square matrices are needed, and not " + a.shapeToString());
}
Tensor part(const Tensor &t, std::size_t row, std::size_t rows, std::size_t column,
            std::size_t columns) {
  return t.slice(row, row + rows, 1).slice(column, column + columns, 2);
}

} // namespace

Tensor createTriangularSolveInputLHS(Graph &graph, const poplar::Type &inputType,
                                     const poplar::Type &, const Shape &aShape, const Shape &, bool,
                                     const DebugContext &debugContext, const OptionFlags &,
                                     PlanningCache *) {
  return linearVariable(graph, inputType, aShape, debugContext);
}
Tensor createTriangularSolveInputRHS(Graph &graph, const poplar::Type &inputType,
                                     const poplar::Type &, const Shape &, const Shape &bShape, bool,
                                     const DebugContext &debugContext, const OptionFlags &,
                                     PlanningCache *) {
  return linearVariable(graph, inputType, bShape, debugContext);
}
Tensor createCholeskyInput(Graph &graph, const poplar::Type &type, const Shape &shape, bool,
                           const DebugContext &debugContext, const OptionFlags &, PlanningCache *) {
  return linearVariable(graph, type, shape, debugContext);
}

Tensor triangularMask(Graph &graph, const Tensor &a, bool lower, bool unitDiagonal, Sequence &prog,
                      const DebugContext &debugContext) {
  checkSquare(a);
  const std::size_t n = a.dim(a.rank() - 1);
  std::vector<float> inside(n * n), diagonal(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      inside[i * n + j] = (lower ? j < i : j > i) || (i == j && !unitDiagonal);
      diagonal[i * n + j] = i == j && unitDiagonal;
    }
  const auto constant = [&](const std::vector<float> &values) {
    const Tensor t =
        graph.addConstant(a.elementType(), {n, n}, poplar::ArrayRef<float>(values), debugContext);
    poputil::mapTensorLinearly(graph, t);
    return t;
  };
  return popops::map(graph, Select(_1, _3, _2 > 0.f), {a, constant(inside), constant(diagonal)},
                     prog, {debugContext, "triangularMask"});
}

Tensor triangularSolve(Graph &graph, const Tensor &a, const Tensor &b, bool leftSide, bool lower,
                       bool unitDiagonal, Sequence &prog, const DebugContext &debugContext,
                       const OptionFlags &options, PlanningCache *cache) {
  checkSquare(a);
  if (!leftSide) { // x a = b is a' x' = b'
    const auto turned = [](const Tensor &t) { return t.dimRoll(t.rank() - 1, t.rank() - 2); };
    return turned(triangularSolve(graph, turned(a), turned(b), true, !lower, unitDiagonal, prog,
                                  debugContext, options, cache));
  }
  const DebugContext dc{debugContext, "triangularSolve"};
  const Tensor as = grouped(a), bs = grouped(b);
  const std::size_t n = as.dim(1), columns = bs.dim(2);
  if (as.dim(0) != bs.dim(0) || bs.dim(1) != n)
    throw poputil::poplibs_error("triangularSolve of " + a.shapeToString() + " and " +
                                 b.shapeToString());
  const Tensor x = poputil::duplicate(graph, bs, prog, dc);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = lower ? k : n - 1 - k, first = lower ? 0 : i + 1;
    const Tensor row = part(x, i, 1, 0, columns);
    if (k)
      matMulGroupedAcc(graph, row, -1, part(as, i, 1, first, k), part(x, first, k, 0, columns),
                       prog, dc, options, cache);
    if (!unitDiagonal)
      popops::divInPlace(graph, row, part(as, i, 1, i, 1), prog, dc);
  }
  return x.reshape(b.shape());
}

Tensor cholesky(Graph &graph, const Tensor &a, bool lower, Sequence &prog,
                const DebugContext &debugContext, const OptionFlags &options,
                PlanningCache *cache) {
  checkSquare(a);
  const DebugContext dc{debugContext, "cholesky"};
  const Tensor whole = grouped(a), as = lower ? whole : whole.dimRoll(2, 1);
  const std::size_t n = as.dim(1);
  const Tensor l = graph.clone(as, dc);
  prog.add(Copy(as, l));
  for (std::size_t j = 0; j < n; ++j) {
    const Tensor column = part(l, j, n - j, j, 1);
    if (j)
      matMulGroupedAcc(graph, column, -1, part(l, j, n - j, 0, j),
                       part(l, j, 1, 0, j).dimRoll(2, 1), prog, dc, options, cache);
    const Tensor pivot = part(l, j, 1, j, 1);
    popops::sqrtInPlace(graph, pivot, prog, dc);
    if (j + 1 < n) {
      popops::divInPlace(graph, part(l, j + 1, n - j - 1, j, 1), pivot, prog, dc);
      popops::zero(graph, part(l, j, 1, j + 1, n - j - 1), prog, dc);
    }
  }
  return (lower ? l : l.dimRoll(2, 1)).reshape(a.shape());
}

void choleskyInPlace(Graph &graph, const Tensor &a, bool lower, Sequence &prog,
                     const DebugContext &debugContext, const OptionFlags &options,
                     PlanningCache *cache) {
  prog.add(Copy(cholesky(graph, a, lower, prog, debugContext, options, cache), a));
}

} // namespace poplin
