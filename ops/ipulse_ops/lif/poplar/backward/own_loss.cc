#include "loss.h"

#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

#include "layout/new_vertex.h"

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

LossResult addOwnLoss(Graph &graph, const OwnLoss &loss, const Tensor &membrane,
                      const Tensor &right, const Tensor &mask, Sequence &program) {
  const std::string name = "own_loss/";
  const std::size_t steps = membrane.dim(0), batch = membrane.dim(1), classes = membrane.dim(2);
  const Tensor samples =
      popops::reduce(graph, mask, {0}, {popops::Operation::ADD}, program, name + "samples");
  const Tensor share = popops::div(graph, mask, samples, program, name + "share");
  const Tensor bySample = graph.addVariable(FLOAT, {batch}, name + "by_sample");
  const Tensor gradient = graph.addVariable(FLOAT, {batch, steps, classes}, name + "gradient");
  const poplar::ComputeSet set = graph.addComputeSet(name + "equations");
  const std::size_t tiles = graph.getTarget().getNumTiles();
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const auto tile = static_cast<unsigned>(sample * tiles / batch);
    const auto of = [&](const Tensor &t, unsigned dimension) {
      return t.slice(sample, sample + 1, dimension).flatten();
    };
    const auto rows = [&](std::size_t size, const char *what) {
      const Tensor t = graph.addVariable(FLOAT, {size}, name + what);
      graph.setTileMapping(t, tile);
      return t;
    };
    graph.setTileMapping(of(bySample, 0), tile);
    graph.setTileMapping(of(gradient, 0), tile);
    NewVertex(graph, set, "OwnLoss", tile)
        .connect("membrane", of(membrane, 1))
        .connect("right", of(right, 0))
        .connect("share", of(share, 0))
        .connect("bySample", of(bySample, 0))
        .connect("gradient", of(gradient, 0))
        .connect("classRows", rows(loss.classRows * classes, "class_rows"))
        .connect("stepRows", rows(loss.stepRows * steps, "step_rows"))
        .set("steps", static_cast<unsigned>(steps))
        .set("classes", static_cast<unsigned>(classes));
  }
  program.add(poplar::program::Execute(set));
  return {bySample, gradient.dimShuffle({1, 0, 2})};
}

} // namespace lif
