#include <algorithm>

#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Interval;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

/// [outputs, elements of each], and the shape of the outputs.
struct Reduction {
  Tensor matrix;
  std::vector<std::size_t> shape;
};

Reduction arrange(const Tensor &in, const std::vector<std::size_t> &dims) {
  std::vector<unsigned> order, last;
  Reduction r;
  std::size_t outputs = 1;
  for (unsigned d = 0; d < in.rank(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    (reduced ? last : order).push_back(d);
    if (!reduced) {
      r.shape.push_back(in.dim(d));
      outputs *= in.dim(d);
    }
  }
  for (const std::size_t d : dims)
    if (d >= in.rank())
      throw poputil::poplibs_error("reduce: dimension " + std::to_string(d) +
                                   " of a tensor of "
                                   "shape " +
                                   in.shapeToString());
  order.insert(order.end(), last.begin(), last.end());
  r.matrix = in.dimShuffle(order).reshape({outputs, outputs ? in.numElements() / outputs : 0});
  return r;
}

void addReduce(Graph &graph, const Tensor &in, const Tensor &out,
               const std::vector<std::size_t> &dims, const ReduceParams &params, ComputeSet cs) {
  const Reduction r = arrange(in, dims);
  if (out.numElements() != r.matrix.dim(0))
    throw poputil::poplibs_error("reduce: the output has shape " + out.shapeToString());
  const Tensor flat = out.flatten();
  Tensor scale = params.scale;
  if (!params.useScale)
    scale = graph.addConstant<float>(poplar::FLOAT, {}, 1.0f);
  const auto mapping = graph.getTileMapping(flat);
  bool scaleMapped = params.useScale;
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    if (!scaleMapped)
      graph.setTileMapping(scale, tile), scaleMapped = true;
    std::vector<Tensor> rows;
    for (const Interval &i : mapping[tile])
      for (std::size_t o = i.begin(); o < i.end(); ++o)
        rows.push_back(r.matrix[o]);
    const VertexRef v = graph.addVertex(cs, params.update ? poplar::emulator::kReduceUpdate
                                                          : poplar::emulator::kReduce);
    graph.connect(v["rows"], rows);
    graph.connect(v["scalar"], scale.reshape({}));
    graph.connect(v[params.update ? "inout" : "out"],
                  poplar::concat(flat.slices(poplar::ArrayRef<Interval>(mapping[tile]))));
    graph.setInitialValue(v["type"], static_cast<unsigned>(in.elementType().identity()));
    graph.setInitialValue(v["outType"], static_cast<unsigned>(out.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(params.op));
    graph.setInitialValue(v["a"], params.useScale ? 1.f : 0.f);
    graph.setTileMapping(v, tile);
  }
}

Tensor outputOf(Graph &graph, const Tensor &in, const poplar::Type &type,
                const std::vector<std::size_t> &dims, const ReduceParams &params,
                const poplar::DebugContext &debugContext) {
  if (params.update)
    throw poputil::poplibs_error("reduce with update needs reduceWithOutput");
  const Tensor out = graph.addVariable(type, arrange(in, dims).shape, debugContext);
  poputil::mapTensorLinearly(graph, out, 1, 1);
  return out;
}

} // namespace

void reduceWithOutput(Graph &graph, const Tensor &in, const Tensor &out,
                      const std::vector<std::size_t> &dims, ReduceParams params,
                      std::vector<ComputeSet> &css, const poplar::DebugContext &debugContext,
                      const OptionFlags &) {
  if (css.empty())
    css.push_back(graph.addComputeSet({debugContext, "Reduce"}));
  addReduce(graph, in, out, dims, params, css[0]);
}
void reduceWithOutput(Graph &graph, const Tensor &in, const Tensor &out,
                      const std::vector<std::size_t> &dims, ReduceParams params, Sequence &prog,
                      const poplar::DebugContext &debugContext, const OptionFlags &options) {
  std::vector<ComputeSet> css;
  reduceWithOutput(graph, in, out, dims, std::move(params), css, debugContext, options);
  for (const ComputeSet cs : css)
    prog.add(Execute(cs, debugContext));
}

Tensor reduce(Graph &graph, const Tensor &in, const poplar::Type &outType,
              const std::vector<std::size_t> &dims, ReduceParams params, Sequence &prog,
              const poplar::DebugContext &debugContext, const OptionFlags &options) {
  const Tensor out = outputOf(graph, in, outType, dims, params, debugContext);
  reduceWithOutput(graph, in, out, dims, std::move(params), prog, debugContext, options);
  return out;
}
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims,
              ReduceParams params, Sequence &prog, const poplar::DebugContext &debugContext,
              const OptionFlags &options) {
  return reduce(graph, in, in.elementType(), dims, std::move(params), prog, debugContext, options);
}
Tensor reduce(Graph &graph, const Tensor &in, const poplar::Type &outType,
              const std::vector<std::size_t> &dims, ReduceParams params,
              std::vector<ComputeSet> &css, const poplar::DebugContext &debugContext,
              const OptionFlags &options) {
  const Tensor out = outputOf(graph, in, outType, dims, params, debugContext);
  reduceWithOutput(graph, in, out, dims, std::move(params), css, debugContext, options);
  return out;
}
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims,
              ReduceParams params, std::vector<ComputeSet> &css,
              const poplar::DebugContext &debugContext, const OptionFlags &options) {
  return reduce(graph, in, in.elementType(), dims, std::move(params), css, debugContext, options);
}

void reduceMany(Graph &graph, const std::vector<SingleReduceOp> &reductions,
                std::vector<Tensor> &outputs, Sequence &prog,
                const poplar::DebugContext &debugContext, const OptionFlags &options) {
  const bool given = !outputs.empty();
  if (given && outputs.size() != reductions.size())
    throw poputil::poplibs_error("reduceMany: outputs must be empty or one for each reduction");
  std::vector<ComputeSet> css{graph.addComputeSet({debugContext, "ReduceMany"})};
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    const SingleReduceOp &r = reductions[i];
    const poplar::Type type = r.useOutType ? r.outType : r.in.elementType();
    if (!given)
      outputs.push_back(outputOf(graph, r.in, type, r.dims, r.params, {debugContext, r.debugName}));
    else if (!outputs[i].valid())
      outputs[i] = outputOf(graph, r.in, type, r.dims, r.params, {debugContext, r.debugName});
    reduceWithOutput(graph, r.in, outputs[i], r.dims, r.params, css, debugContext, options);
  }
  prog.add(Execute(css[0], debugContext));
}

} // namespace popops
