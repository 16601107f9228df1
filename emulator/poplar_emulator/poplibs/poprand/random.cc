#include <poplar/RandomSeed.hpp>
#include <popops/ElementWise.hpp>
#include <poprand/RandomGen.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace poprand {

using poplar::Graph;
using poplar::Tensor;

using poplar::emulator::Distribution;
using poplar::program::Sequence;

namespace {

/// The generators of the tiles: [tiles, 4], one to a tile. Made when first asked for.
Tensor generators(Graph &graph) {
  Tensor &seeds = graph.getState()->randomGenerators;
  if (!seeds.valid()) {
    Graph whole = graph.getTopLevelGraph();
    const unsigned tiles = whole.getTarget().getNumTiles();
    seeds = whole.addVariable(poplar::UNSIGNED_INT, {tiles, 4}, "hwSeeds");
    std::vector<unsigned> start;
    for (unsigned tile = 0; tile < tiles; ++tile) {
      whole.setTileMapping(seeds[tile], tile);
      start.insert(start.end(), {tile + 1, 0x9e3779b9u, 0x7f4a7c15u, tile});
    }
    whole.setInitialValue(seeds, start);
  }
  return seeds;
}

Tensor random(Graph &graph, const Tensor *seed, std::uint32_t seedModifier, const Tensor &reference,
              const poplar::Type &outType, Distribution distribution, double a, double b,
              Sequence &prog, const poplar::DebugContext &debugContext) {
  const bool isContinuous = distribution == Distribution::Normal ||
                            distribution == Distribution::TruncatedNormal ||
                            distribution == Distribution::LogUniform;
  if (isContinuous && outType != poplar::FLOAT && outType != poplar::HALF)
    throw poputil::poplibs_error("this distribution has no values of type " + outType.toString());
  // In the order of the reference: a product reads its operand in long pieces.
  const Tensor out = graph.clone(outType, reference, debugContext);
  const auto mapping = graph.getTileMapping(out);
  Tensor from;
  if (seed) {
    if (seed->elementType() != poplar::UNSIGNED_INT || seed->numElements() != 2)
      throw poputil::poplibs_error("a seed is two elements of type unsigned int, not " +
                                   seed->getDebugStr());
    from = seed->flatten();
  }
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "random"});
  const Tensor flat = out.flatten();
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const poplar::VertexRef v =
        graph.addVertex(cs, seed ? poplar::emulator::kRandom : poplar::emulator::kRandomOfTile);
    if (seed)
      graph.connect(v["rows"], std::vector<Tensor>{from});
    else
      graph.connect(v["inout"], generators(graph)[graph.physicalTile(tile)]);
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
               Sequence &prog, const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType, Distribution::Uniform, minVal,
                maxVal, prog, debugContext);
}
Tensor normal(Graph &graph, const Tensor *seed, std::uint32_t seedModifier, const Tensor &reference,
              const poplar::Type &outType, double mean, double stdDev, Sequence &prog,
              const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType, Distribution::Normal, mean, stdDev,
                prog, debugContext);
}
Tensor bernoulli(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
                 const Tensor &reference, const poplar::Type &outType, double prob, Sequence &prog,
                 const poplar::DebugContext &debugContext) {
  return random(graph, seed, seedModifier, reference, outType, Distribution::Bernoulli, prob, 0,
                prog, debugContext);
}

Tensor truncatedNormal(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
                       const Tensor &reference, const poplar::Type &outType, double mean,
                       double stdDev, double alpha, Sequence &prog,
                       const poplar::DebugContext &debugContext) {
  if (alpha < 1)
    throw poputil::poplibs_error("truncatedNormal needs an alpha of 1 or more");
  using namespace popops::expr;
  const Tensor t = random(graph, seed, seedModifier, reference, outType,
                          Distribution::TruncatedNormal, alpha, 0, prog, debugContext);
  popops::mapInPlace(graph, _1 * stdDev + mean, {t}, prog, debugContext);
  return t;
}

Tensor logUniform(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
                  const Tensor &reference, const poplar::Type &outType, double minVal,
                  double maxVal, Sequence &prog, const poplar::DebugContext &debugContext) {
  if (minVal <= 0 || maxVal < minVal)
    throw poputil::poplibs_error("logUniform needs positive bounds, the smaller first");
  return random(graph, seed, seedModifier, reference, outType, Distribution::LogUniform, minVal,
                maxVal, prog, debugContext);
}

Tensor dropout(Graph &graph, const Tensor *seed, std::uint32_t seedModifier, const Tensor &input,
               const Tensor &reference, double keepProbability, double scale, Sequence &prog,
               const poplar::DebugContext &debugContext) {
  if (reference.shape() != input.shape())
    throw poputil::poplibs_error("dropout: the reference has another shape than the input");
  return shapedDropout(graph, seed, seedModifier, input, reference, keepProbability, scale, prog,
                       debugContext);
}

Tensor shapedDropout(Graph &graph, const Tensor *seed, std::uint32_t seedModifier,
                     const Tensor &input, const Tensor &reference, double keepProbability,
                     double scale, Sequence &prog, const poplar::DebugContext &debugContext) {
  using namespace popops::expr;
  const Tensor kept = bernoulli(graph, seed, seedModifier, reference, input.elementType(),
                                keepProbability, prog, debugContext);
  return popops::map(graph, _1 * _2 * scale, {input, kept}, prog, debugContext);
}

void setSeed(Graph &graph, const Tensor &masterSeed, std::uint32_t seedModifier, Sequence &prog,
             const poplar::DebugContext &debugContext) {
  const Tensor seeds = generators(graph);
  const Tensor drawn = random(graph, &masterSeed, seedModifier, seeds, poplar::UNSIGNED_INT,
                              Distribution::Bits, 0, 0, prog, {debugContext, "setSeed"});
  prog.add(poplar::program::Copy(drawn, seeds, false, debugContext));
}

Tensor getHwSeeds(Graph &graph, Sequence &prog, const poplar::DebugContext &debugContext) {
  return poputil::duplicate(graph, generators(graph), prog, debugContext);
}

void setHwSeeds(Graph &graph, const Tensor &seeds, Sequence &prog,
                const poplar::DebugContext &debugContext) {
  prog.add(poplar::program::Copy(seeds, generators(graph), false, debugContext));
}

} // namespace poprand

namespace poplar {

Tensor getHwSeeds(Graph &graph, program::Sequence &prog, const DebugContext &debugContext) {
  return poprand::getHwSeeds(graph, prog, debugContext);
}
void setHwSeeds(Graph &graph, const Tensor &hwSeeds, program::Sequence &prog,
                const DebugContext &debugContext) {
  poprand::setHwSeeds(graph, hwSeeds, prog, debugContext);
}

} // namespace poplar
