#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "reduce_stages.h"

namespace popops {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

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
  addReduce(graph, in, out, dims, params, css, debugContext);
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
  for (const ComputeSet cs : css)
    prog.add(Execute(cs, debugContext));
}

} // namespace popops
