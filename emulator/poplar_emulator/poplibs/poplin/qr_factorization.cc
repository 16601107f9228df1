#include <algorithm>
#include <charconv>

#include <poplin/experimental/QRFactorization.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {
namespace experimental {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

void check(const Tensor &a, const Tensor &q) {
  if (a.rank() != 2 || a.dim(0) < a.dim(1) ||
      q.shape() != std::vector<std::size_t>{a.dim(0), a.dim(0)})
    throw poputil::poplibs_error("QRFactorization needs a matrix with as many rows as columns or "
                                 "more, and a square one with as many rows, not " +
                                 a.getDebugStr() + " and " + q.getDebugStr());
  if (a.elementType() != poplar::FLOAT || q.elementType() != poplar::FLOAT)
    throw poputil::poplibs_error("QRFactorization needs matrices of float");
}

/// The columns of a loop.
std::size_t columnsOfLoop(const poplar::OptionFlags &options) {
  std::size_t columns = 32;
  for (const auto &[name, value] : options) {
    if (name != "rowsPerIteration")
      throw poplar::invalid_option("QRFactorization has no option " + name);
    const char *end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, columns);
    if (read.ec != std::errc() || read.ptr != end || columns == 0)
      throw poplar::invalid_option("QRFactorization: rowsPerIteration is \"" + value +
                                   "\", not a whole number of 1 or more");
  }
  return columns;
}

Tensor numbered(Graph &graph, std::size_t count, Sequence &prog, const DebugContext &dc) {
  const Tensor t = graph.addVariable(poplar::UNSIGNED_INT, {count}, dc);
  poputil::mapTensorLinearly(graph, t);
  popops::iota(graph, t, 0U, prog, dc);
  return t;
}

/// The step of a loop: reflects the rows of `a` and the columns of `q`, so that column `step` of
/// `a` has zeros below its diagonal. A column of zeros stays as it is.
Sequence reflection(Graph &graph, const Tensor &a, const Tensor &q, const Tensor &rows,
                    const Tensor &step, const DebugContext &dc) {
  Sequence body({}, dc);
  const auto sum = [&](const Tensor &t, std::vector<std::size_t> over, popops::Operation how) {
    return popops::reduce(graph, t, poplar::FLOAT, over, how, body, dc);
  };
  const Tensor column =
      popops::dynamicSlice(graph, a, step.reshape({1}), {1}, {1}, body, dc).flatten();
  const Tensor here = step.reshape({1}).broadcast(static_cast<unsigned>(rows.numElements()), 0);
  // The column from its diagonal on; its squared length; the diagonal alone.
  const Tensor v =
      popops::map(graph, Select(_1, Const(0.0f), _2 >= _3), {column, rows, here}, body, dc);
  const Tensor squares = sum(v, {0}, popops::Operation::SQUARE_ADD);
  const Tensor pivots =
      popops::map(graph, Select(_1, Const(0.0f), _2 == _3), {v, rows, here}, body, dc);
  const Tensor pivot = sum(pivots, {0}, popops::Operation::ADD);
  // 2 / |w|^2 of the reflecting vector w = v + sign(pivot) |v| e.
  const Tensor scale = popops::map(
      graph, Select(Const(1.0f) / (_1 + Abs(_2) * Sqrt(_1)), Const(0.0f), _1 > Const(0.0f)),
      {squares, pivot}, body, dc);
  popops::mapInPlace(graph,
                     Select(_1 + Select(Sqrt(_4), -Sqrt(_4), _5 >= Const(0.0f)), _1, _2 == _3),
                     {v, rows, here, squares, pivot}, body, dc);
  const Tensor down = v.expand({1}), along = v.expand({0});
  const auto reflect = [&](const Tensor &matrix, const Tensor &w, std::size_t over) {
    const Tensor products = popops::map(graph, _1 * _2, {matrix, w}, body, dc);
    const Tensor dots = sum(products, {over}, popops::Operation::ADD);
    popops::mapInPlace(graph, _1 - _2 * (_3 * _4), {matrix, w, dots.expand({over}), scale}, body,
                       dc);
  };
  reflect(a, down, 0);
  reflect(q, along, 1);
  return body;
}

} // namespace

std::array<Tensor, 2> createQRFactorizationMatrices(Graph &graph, const poplar::Type &type,
                                                    std::size_t m, std::size_t n,
                                                    const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "QRFactorization"};
  const Tensor a = graph.addVariable(type, {m, n}, {dc, "A"});
  const Tensor q = graph.addVariable(type, {m, m}, {dc, "Q"});
  if (m < n)
    check(a, q);
  poputil::mapTensorLinearly(graph, a);
  poputil::mapTensorLinearly(graph, q);
  return {a, q};
}

void QRFactorization(Graph &graph, Tensor &A, Tensor &Q, Sequence &prog,
                     const DebugContext &debugContext, const poplar::OptionFlags &options) {
  const DebugContext dc{debugContext, "QRFactorization"};
  check(A, Q);
  const std::size_t m = A.dim(0), n = A.dim(1), most = columnsOfLoop(options);
  const Tensor rows = numbered(graph, m, prog, {dc, "rows"});
  // A loop over some columns works on what is left of the matrices.
  for (std::size_t first = 0; first < n; first += most) {
    const Tensor a = A.slice({first, first}, {m, n}), q = Q.slice(first, m, 1);
    prog.add(popops::countedLoop(
        graph, std::min(most, n - first),
        [&](const Tensor &step) {
          return reflection(graph, a, q, rows.slice(0, m - first), step, dc);
        },
        dc));
  }
  popops::mapInPlace(graph, Select(_1, Const(0.0f), _2 <= _3),
                     {A, rows.expand({1}), rows.slice(0, n).expand({0})}, prog, dc);
}

} // namespace experimental
} // namespace poplin
