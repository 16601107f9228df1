#include <poprand/RandomGen.hpp>
#include <poputil/exceptions.hpp>

#include "array_vertices.h"

namespace poprand {

using poplar::Graph;
using poplar::Tensor;

namespace {

Tensor random(Graph &graph, const Tensor *seed, std::uint32_t seedModifier, const Tensor &reference,
              const poplar::Type &outType, poplar::emulator::Distribution distribution, double a,
              double b, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext) {
  const Tensor out =
      graph.clone(outType, reference, debugContext, poplar::TensorCloneMethod::CREATE_NEW_ORDER);
  const auto mapping = graph.getTileMapping(out);
  Tensor from;
  if (seed) {
    if (seed->elementType() != poplar::UNSIGNED_INT || seed->numElements() != 2)
      throw poputil::poplibs_error("a seed is two elements of type unsigned int, not " +
                                   seed->getDebugStr());
    from = seed->flatten();
  } else {
    from = graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {2}, {0x9e3779b9u, 0x7f4a7c15u});
    graph.setTileMapping(from, 0);
  }
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "random"});
  const Tensor flat = out.flatten();
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kRandom);
    graph.connect(v["rows"], std::vector<Tensor>{from});
    graph.connect(v["out"],
                  poplar::concat(flat.slices(poplar::ArrayRef<poplar::Interval>(mapping[tile]))));
    graph.setInitialValue(v["type"], seedModifier * 65536u + tile); // the vertex's own number
    graph.setInitialValue(v["outType"], static_cast<unsigned>(outType.identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(distribution));
    graph.setInitialValue(v["a"], static_cast<float>(a));
    graph.setInitialValue(v["b"], static_cast<float>(b));
    graph.setTileMapping(v, tile);
  }
  prog.add(poplar::program::Execute(cs, debugContext));
  return out;
}

} // namespace

Tensor uniform(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
               const Tensor &reference, const poplar::Type &outType, double minVal, double maxVal,
               poplar::program::Sequence &prog, const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType,
                poplar::emulator::Distribution::Uniform, minVal, maxVal, prog, debugContext);
}
Tensor normal(Graph &graph, const Tensor *seed, std::uint32_t seedModifier, const Tensor &reference,
              const poplar::Type &outType, double mean, double stdDev,
              poplar::program::Sequence &prog, const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType,
                poplar::emulator::Distribution::Normal, mean, stdDev, prog, debugContext);
}
Tensor bernoulli(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
                 const Tensor &reference, const poplar::Type &outType, double prob,
                 poplar::program::Sequence &prog, const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType,
                poplar::emulator::Distribution::Bernoulli, prob, 0, prog, debugContext);
}

} // namespace poprand
