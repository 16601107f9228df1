#include <algorithm>
#include <set>

#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Zero.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "array_vertices.h"
#include "expression_code.h"

namespace popops {

using poplar::ArrayRef;
using poplar::ComputeSet;
using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

/// One vertex for each tile of `out`, with the regions on that tile.
void addMap(Graph &graph, const expr::Expr &expr, std::vector<Tensor> ts, const Tensor &out,
            bool inPlace, ComputeSet cs) {
  const ExpressionCode code = encode(expr, ts);
  if (code.result != out.elementType())
    throw poputil::poplibs_error("the expression gives " + code.result.toString() +
                                 " and is to be stored as " + out.elementType().toString());
  std::vector<unsigned> types;
  unsigned scalars = 0; // a bit for each operand
  for (Tensor &t : ts) {
    if (t.numElements() == 1 && out.numElements() > 1)
      scalars |= 1u << types.size();
    types.push_back(static_cast<unsigned>(t.elementType().identity()));
    if (t.numElements() != 1)
      poputil::broadcastToMatch(t, out.shape());
    t = t.flatten();
  }
  types.push_back(static_cast<unsigned>(out.elementType().identity()));
  types.push_back(scalars);
  const Tensor flat = out.flatten();
  const auto mapping = graph.getTileMapping(flat);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    std::vector<Tensor> rows, outs;
    for (const auto &region : graph.getSortedContiguousRegions(flat, mapping[tile])) {
      const auto regionOf = [&](const Tensor &t) {
        return poplar::concat(t.slices(ArrayRef<Interval>(region)));
      };
      for (const Tensor &t : ts)
        rows.push_back(t.numElements() == 1 ? t : regionOf(t));
      outs.push_back(regionOf(flat));
    }
    const VertexRef v =
        graph.addVertex(cs, inPlace ? "popops::MapExpressionInPlace" : "popops::MapExpression");
    graph.connect(v["in"], rows);
    graph.connect(v["out"], outs);
    graph.setInitialValue(v["code"], code.words);
    graph.setInitialValue(v["constants"], code.constants);
    graph.setInitialValue(v["types"], types);
    graph.setTileMapping(v, tile);
  }
}

Tensor resultOf(Graph &graph, const expr::Expr &expr, const std::vector<Tensor> &ts,
                const poplar::DebugContext &debugContext) {
  if (ts.empty())
    throw poputil::poplibs_error("map needs at least one tensor");
  Tensor shaped = ts[0];
  for (Tensor t : ts)
    poputil::broadcastToMatch(shaped, t);
  const poplar::Type type = encode(expr, ts).result;
  for (const Tensor &t : ts)
    if (t.shape() == shaped.shape() && !t.containsConstant())
      return graph.clone(type, t, debugContext);
  const Tensor out = graph.addVariable(type, shaped.shape(), debugContext);
  poputil::mapTensorLinearly(graph, out);
  return out;
}

} // namespace

Tensor map(Graph &graph, const expr::Expr &expr, const std::vector<Tensor> &ts, Sequence &prog,
           const poplar::DebugContext &debugContext, const poplar::OptionFlags &options) {
  const Tensor out = resultOf(graph, expr, ts, debugContext);
  mapWithOutput(graph, expr, ts, out, prog, debugContext, options);
  return out;
}

void mapInPlace(Graph &graph, const expr::Expr &expr, const std::vector<Tensor> &ts, Sequence &prog,
                const poplar::DebugContext &debugContext, const poplar::OptionFlags &) {
  const ComputeSet cs = graph.addComputeSet({debugContext, "mapInPlace"});
  addMap(graph, expr, ts, ts.at(0), true, cs);
  prog.add(Execute(cs, debugContext));
}

void mapWithOutput(Graph &graph, const expr::Expr &expr, const std::vector<Tensor> &ts,
                   const Tensor &out, Sequence &prog, const poplar::DebugContext &debugContext,
                   const poplar::OptionFlags &) {
  const ComputeSet cs = graph.addComputeSet({debugContext, "map"});
  addMap(graph, expr, ts, out, false, cs);
  prog.add(Execute(cs, debugContext));
}

void cast(Graph &graph, Tensor src, Tensor dst, ComputeSet cs) {
  addMap(graph, expr::Cast(expr::_1, dst.elementType()), {src}, dst, false, cs);
}
poplar::program::Program cast(Graph &graph, Tensor src, Tensor dst,
                              const poplar::DebugContext &debugContext) {
  const ComputeSet cs = graph.addComputeSet({debugContext, "Cast"});
  cast(graph, src, dst, cs);
  return Execute(cs, debugContext);
}
Tensor cast(Graph &graph, Tensor src, const poplar::Type &dstType, ComputeSet cs,
            const poplar::DebugContext &debugContext) {
  const Tensor dst = graph.clone(dstType, src, debugContext);
  cast(graph, src, dst, cs);
  return dst;
}
Tensor cast(Graph &graph, const Tensor &src, const poplar::Type &dstType, Sequence &prog,
            const poplar::DebugContext &debugContext) {
  const Tensor dst = graph.clone(dstType, src, debugContext);
  prog.add(cast(graph, src, dst, debugContext));
  return dst;
}
void castWithOutput(Graph &graph, const Tensor &src, const Tensor &dst, Sequence &prog,
                    const poplar::DebugContext &debugContext) {
  prog.add(cast(graph, src, dst, debugContext));
}

namespace fill_detail {

void fill(Graph &graph, const Tensor &t, const std::vector<Interval> &tileRegions, unsigned tile,
          ComputeSet fillCS, double value) {
  if (tileRegions.empty())
    return;
  const Tensor flat = t.flatten();
  std::vector<Tensor> regions;
  for (const auto &region : graph.getSortedContiguousRegions(flat, tileRegions))
    regions.push_back(poplar::concat(flat.slices(ArrayRef<Interval>(region))));
  const VertexRef v = graph.addVertex(fillCS, poplar::emulator::kFill);
  graph.connect(v["out"], regions);
  graph.setInitialValue(v["outType"], static_cast<unsigned>(t.elementType().identity()));
  // Two floats represent every 32-bit integer exactly.
  const auto high = static_cast<float>(value);
  graph.setInitialValue(v["a"], high);
  graph.setInitialValue(v["b"], static_cast<float>(value - static_cast<double>(high)));
  graph.setTileMapping(v, tile);
}

void fill(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping,
          ComputeSet fillCS, double value) {
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    fill(graph, t, mapping[tile], tile, fillCS, value);
}

} // namespace fill_detail

void zero(Graph &graph, Tensor t, const std::vector<Interval> &tileRegions, unsigned tile,
          ComputeSet zeroCS) {
  fill(graph, t, tileRegions, tile, zeroCS, 0);
}
void zero(Graph &graph, const Tensor &t, unsigned tile, ComputeSet zeroCS) {
  fill(graph, t, tile, zeroCS, 0);
}
void zero(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping,
          ComputeSet zeroCS) {
  fill(graph, t, mapping, zeroCS, 0);
}
void zero(Graph &graph, const Tensor &t, Sequence &prog, const poplar::DebugContext &debugContext) {
  fill(graph, t, prog, 0, debugContext);
}

} // namespace popops
