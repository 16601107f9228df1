// Histograms, and copies of rows by counts.
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/GatherStatistics.hpp>
#include <popops/Reduce.hpp>
#include <popops/SequenceSlice.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using namespace expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor histogram(Graph &graph, const Tensor &input, const Tensor &levels, bool absoluteOfInput,
                 Sequence &prog, const DebugContext &debugContext, const OptionFlags &options) {
  const DebugContext dc{debugContext, "histogram"};
  if (levels.rank() != 1 || levels.dim(0) == 0 || levels.elementType() != input.elementType())
    throw poputil::poplibs_error("histogram: levels are a vector of the type of the input");
  bool inFloat = false;
  for (const auto &[key, value] : options) {
    if (key != "useFloatArithmetic")
      throw poplar::invalid_option("histogram has no option '" + key + "'");
    inFloat = value == "true";
  }
  const poplar::Type type = inFloat ? poplar::FLOAT : poplar::UNSIGNED_INT;
  const Tensor values = input.flatten().expand({0});
  const Any element = absoluteOfInput ? Any(Abs(_1)) : Any(_1);
  const Tensor above =
      map(graph, Cast(Gte(element, _2), type), {values, levels.expand({1})}, prog, dc);
  const Tensor counts = reduce(graph, above, {1}, Operation::ADD, prog, dc);
  const Tensor all = graph.addConstant(type, {1}, static_cast<float>(input.numElements()));
  const Tensor none = graph.addConstant(type, {1}, 0.0f);
  graph.setTileMapping(all, 0);
  graph.setTileMapping(none, 0);
  return sub(graph, concat(all, counts), concat(counts, none), prog, dc);
}

void histogram(Graph &graph, const Tensor &input, Tensor &output, bool updateOutput,
               const Tensor &levels, bool absoluteOfInput, Sequence &prog,
               const DebugContext &debugContext, const OptionFlags &options) {
  OptionFlags inType(options);
  inType.set("useFloatArithmetic", output.elementType() == poplar::FLOAT ? "true" : "false");
  const Tensor counts =
      histogram(graph, input, levels, absoluteOfInput, prog, debugContext, inType);
  if (updateOutput)
    addInPlace(graph, output, counts, prog, debugContext);
  else
    prog.add(poplar::program::Copy(counts, output, false, debugContext));
}

void sequenceSlice(Graph &graph, const Tensor &src, const Tensor &dst, const Tensor &sizes,
                   const Tensor &srcOffsets, const Tensor &dstOffsets, bool zeroUnused,
                   Sequence &prog, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "sequenceSlice"};
  for (const Tensor &t : {sizes, srcOffsets, dstOffsets})
    if (t.rank() != 1 || t.elementType() != poplar::UNSIGNED_INT || t.dim(0) != sizes.dim(0))
      throw poputil::poplibs_error("sequenceSlice: sizes and offsets are vectors of unsigned int");
  if (src.rank() == 0 || src.rank() != dst.rank() || src[0].shape() != dst[0].shape())
    throw poputil::poplibs_error("sequenceSlice of rows of " + src.shapeToString() + " into " +
                                 dst.shapeToString());
  const Tensor rows = graph.addVariable(poplar::UNSIGNED_INT, {dst.dim(0)}, dc);
  poputil::mapTensorLinearly(graph, rows);
  iota(graph, rows, 0u, prog, dc);
  // For each row of dst and sequence, the row of src, counted from 1, if the sequence has that row.
  const Tensor from =
      map(graph, Select(_1 - _4 + _3 + 1u, Const(0u), _1 >= _4 && _1 - _4 < _2),
          {rows.expand({1}), sizes.expand({0}), srcOffsets.expand({0}), dstOffsets.expand({0})},
          prog, dc);
  const Tensor row = reduce(graph, from, {1}, Operation::ADD, prog, dc);
  const Tensor at = map(graph, _1 - 1u, {row}, prog, dc); // beyond all rows where there is none
  const Tensor values =
      multiSlice(graph, src, at.expand({1}), {0}, {1}, prog, SlicePlan(), {}, dc).squeeze({1});
  const Tensor found = map(graph, _1 > 0u, {row}, prog, dc).expand({1});
  mapInPlace(graph, zeroUnused ? Select(_2, Const(0), _3) : Select(_2, _1, _3),
             {dst.flatten(1, dst.rank()), values.flatten(1, dst.rank()), found}, prog, dc);
}

} // namespace popops
