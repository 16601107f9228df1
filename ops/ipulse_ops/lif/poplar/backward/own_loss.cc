#include "loss.h"

#include <string>

#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

#include "layout/new_vertex.h"

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

OwnLossResult addOwnLoss(Graph &graph, const OwnLoss &loss, const std::vector<LayerValues> &read,
                         const Tensor &right, const Tensor &mask, Sequence &program) {
  const std::string name = "own_loss/";
  const std::size_t steps = read.at(0).values.dim(0), batch = read.at(0).values.dim(1);
  const Tensor samples =
      popops::reduce(graph, mask, {0}, {popops::Operation::ADD}, program, name + "samples");
  const Tensor share = popops::div(graph, mask, samples, program, name + "share");
  OwnLossResult found;
  found.bySample = graph.addVariable(FLOAT, {batch}, name + "by_sample");
  found.penalty = graph.addVariable(FLOAT, {batch}, name + "penalty");
  std::vector<Tensor> gradients; // [batch, time, ...]
  for (const LayerValues &each : read) {
    gradients.push_back(
        graph.addVariable(FLOAT, {batch, steps, each.values.dim(2)}, name + "gradient"));
    found.gradients.push_back(gradients.back().dimShuffle({1, 0, 2}));
  }
  const poplar::ComputeSet set = graph.addComputeSet(name + "equations");
  const std::size_t tiles = graph.getTarget().getNumTiles();
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const auto tile = static_cast<unsigned>(sample * tiles / batch);
    const auto of = [&](const Tensor &t, unsigned dimension) {
      return t.slice(sample, sample + 1, dimension).flatten();
    };
    const auto onTile = [&](poplar::Type type, std::size_t size, const char *what) {
      const Tensor t = graph.addVariable(type, {size}, name + what);
      graph.setTileMapping(t, tile);
      return t;
    };
    const auto result = [&](const Tensor &t) {
      graph.setTileMapping(of(t, 0), tile);
      return of(t, 0);
    };
    NewVertex vertex(graph, set, "OwnLoss", tile);
    vertex.connect("right", of(right, 0))
        .connect("share", of(share, 0))
        .connect("bySample", result(found.bySample))
        .connect("penalty", result(found.penalty))
        .connect("classRows", onTile(FLOAT, loss.classRows * loss.classes, "class_rows"))
        .connect("stepRows", onTile(FLOAT, loss.stepRows * steps, "step_rows"))
        .connect("neuronRows", onTile(FLOAT, loss.neuronValues, "neuron_rows"))
        .set("steps", static_cast<unsigned>(steps))
        .set("classes", loss.classes);
    for (std::size_t i = 0; i < read.size(); ++i) {
      const LayerValues &each = read[i];
      const std::string number = std::to_string(i);
      vertex.connect(("gradient" + number).c_str(), result(gradients[i]));
      if (!each.counts.valid()) {
        vertex.connect(("membranes" + number).c_str(), of(each.values, 1));
        continue;
      }
      vertex.connect(("ids" + number).c_str(), of(each.values, 1))
          .connect(("counts" + number).c_str(), of(each.counts, 1))
          .connect(("trains" + number).c_str(),
                   onTile(poplar::UNSIGNED_CHAR, steps * each.neurons, "trains"));
    }
  }
  program.add(poplar::program::Execute(set));
  return found;
}

} // namespace lif
