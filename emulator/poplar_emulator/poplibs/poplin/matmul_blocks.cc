#include "matmul_blocks.h"

#include <algorithm>

#include "poplibs/popops/elementwise/array_vertices.h"
#include "poplibs/poputil/linear_variable.h"
#include "tensor/view.h"

namespace poplin {

using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Copy;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

// A row in more pieces than one for so many elements is made contiguous first.
constexpr std::size_t kElementsOfPiece = 16;

/// The bounds of part i of `parts`.
std::pair<std::size_t, std::size_t> part(std::size_t size, std::size_t parts, std::size_t i) {
  return {size * i / parts, size * (i + 1) / parts};
}

std::size_t piecesOf(const Tensor &row) {
  std::size_t pieces = 0;
  row.view().forEachPiece([&](const poplar::emulator::Piece &) { ++pieces; });
  return pieces;
}
bool isScattered(const Tensor &row) {
  return piecesOf(row) > 1 + row.numElements() / kElementsOfPiece;
}
Tensor rearranged(Graph &graph, const Tensor &t, Sequence &prog, const DebugContext &dc) {
  const Tensor copy =
      poplar::emulator::linearVariable(graph, t.elementType(), t.shape(), {dc, "rearranged"});
  prog.add(Copy(t, copy, false, dc));
  return copy;
}

/// A vertex: `rows` are `numRows` rows of the left operand, and then columns or, with byRows, rows
/// of the right one.
void addBlock(Graph &graph, ComputeSet cs, const std::vector<Tensor> &rows, std::size_t numRows,
              bool byRows, const Tensor &out, unsigned tile) {
  const VertexRef v = graph.addVertex(cs, poplar::emulator::kMatMul);
  graph.connect(v["rows"], rows);
  graph.connect(v["out"], out.flatten());
  graph.setInitialValue(v["type"], static_cast<unsigned>(rows[0].elementType().identity()));
  graph.setInitialValue(v["outType"], static_cast<unsigned>(out.elementType().identity()));
  graph.setInitialValue(v["choice"], static_cast<unsigned>(numRows));
  graph.setInitialValue(v["a"], byRows ? 1.f : 0.f);
  graph.setTileMapping(v, tile);
}

/// out = A x B for a serial part; B in pieces is made contiguous first.
void multiplyPart(Graph &graph, const Tensor &A, Tensor B, const Tensor &out,
                  const ProductSizes &blocks, Sequence &prog, const DebugContext &debugContext) {
  const std::size_t m = A.dim(0), k = A.dim(1), n = B.dim(1);
  const ProductSizes grid{std::min(blocks.m, m), blocks.k, std::min(blocks.n, n)};
  bool byRows = isScattered(B.transpose()[0]);
  if (byRows && isScattered(B[0]))
    B = rearranged(graph, B, prog, debugContext);
  const ComputeSet products = graph.addComputeSet({debugContext, "products"});
  const ComputeSet sums = graph.addComputeSet({debugContext, "sums"});
  Tensor ones;
  if (grid.k > 1) {
    ones = graph.addConstant(poplar::FLOAT, {grid.k}, std::vector<float>(grid.k, 1.f).data(),
                             {debugContext, "ones"});
    graph.setTileMapping(ones, 0);
  }
  unsigned tile = 0;
  for (std::size_t im = 0; im < grid.m; ++im)
    for (std::size_t in = 0; in < grid.n; ++in) {
      const auto [m0, m1] = part(m, grid.m, im);
      const auto [n0, n1] = part(n, grid.n, in);
      const Tensor to = out.slice({m0, n0}, {m1, n1});
      const unsigned first = tile;
      std::vector<Tensor> partials;
      for (std::size_t ik = 0; ik < grid.k; ++ik, ++tile) {
        const auto [k0, k1] = part(k, grid.k, ik);
        const Tensor left = A.slice({m0, k0}, {m1, k1}), right = B.slice({k0, n0}, {k1, n1});
        std::vector<Tensor> rows;
        for (std::size_t r = 0; r < m1 - m0; ++r)
          rows.push_back(left[r]);
        const Tensor columns = byRows ? right : right.transpose();
        for (std::size_t r = 0; r < columns.dim(0); ++r)
          rows.push_back(columns[r]);
        Tensor result = to;
        if (grid.k > 1) {
          result = graph.addVariable(poplar::FLOAT, {m1 - m0, n1 - n0}, {debugContext, "partials"});
          graph.setTileMapping(result, tile);
          partials.push_back(result.flatten());
        }
        addBlock(graph, products, rows, m1 - m0, byRows, result, tile);
      }
      // The tiles of a block's partial results each add a part of them: a product with ones.
      const std::size_t elements = to.numElements();
      for (std::size_t ik = 0; ik < grid.k && grid.k > 1; ++ik) {
        const auto [begin, end] = part(elements, grid.k, ik);
        if (begin == end)
          continue;
        std::vector<Tensor> rows{ones};
        for (const Tensor &partial : partials)
          rows.push_back(partial.slice(begin, end));
        addBlock(graph, sums, rows, 1, true, to.flatten().slice(begin, end),
                 first + static_cast<unsigned>(ik));
      }
    }
  prog.add(Execute(products, debugContext));
  if (grid.k > 1)
    prog.add(Execute(sums, debugContext));
}

} // namespace

void multiplyInBlocks(Graph &graph, const Tensor &A, const Tensor &B, const Tensor &out,
                      double share, Sequence &prog, const DebugContext &debugContext) {
  const std::size_t m = A.dim(0), n = B.dim(1);
  const ProductPlan plan = planProduct({m, A.dim(1), n}, A.elementType(), graph.getTarget(), share);
  for (std::size_t im = 0; im < plan.serial.m; ++im) {
    const auto [m0, m1] = part(m, plan.serial.m, im);
    Tensor rows = A.slice(m0, m1);
    if (isScattered(rows[0]))
      rows = rearranged(graph, rows, prog, debugContext);
    for (std::size_t in = 0; in < plan.serial.n; ++in) {
      const auto [n0, n1] = part(n, plan.serial.n, in);
      multiplyPart(graph, rows, B.slice(n0, n1, 1), out.slice({m0, n0}, {m1, n1}), plan.blocks,
                   prog, debugContext);
    }
  }
}

} // namespace poplin
