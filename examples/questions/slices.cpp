// Is a slice a view or a copy, and what does a dynamic slice move?
#include <popops/DynamicSlice.hpp>
#include <poputil/TileMapping.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

/// Adds a vertex on every tile of `row` that reads its part.
void read(Graph &graph, Sequence &program, const Tensor &row) {
  const ComputeSet set = graph.addComputeSet("read");
  const auto mapping = graph.getTileMapping(row);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const Tensor part = concat(row.slices(ArrayRef<Interval>(mapping[tile])));
    const VertexRef vertex = graph.addVertex(
        set, "Sum", {{"in", part}, {"sum", question::onTile(graph, FLOAT, {}, tile, "sum")}});
    graph.setTileMapping(vertex, tile);
  }
  program.add(Execute(set));
}

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"steps", 100}, {"neurons", 1024}});
  const std::size_t steps = sizes["steps"], neurons = sizes["neurons"], at = steps / 2;
  // The layout of popops for slicing: every tile has its neurons' elements of all steps.
  const auto sliceable = [&](Graph &graph) {
    return popops::createSliceableTensor(graph, FLOAT, {steps, neurons}, {0}, {1});
  };
  // The layout of TensorFlow for tensors without an allocator: a step is on a few tiles.
  const auto linear = [&](Graph &graph) {
    const Tensor t = graph.addVariable(FLOAT, {steps, neurons}, "sequence");
    poputil::mapTensorLinearly(graph, t);
    return t;
  };
  const auto offset = [&](Graph &graph) {
    return question::valuesOnTile<unsigned>(graph, UNSIGNED_INT, {1}, 0, "step",
                                            {static_cast<unsigned>(at)});
  };
  question::Table table(sizes);
  table.measure("slice", 0, [&](Graph &graph, Sequence &program) {
    read(graph, program, sliceable(graph)[at]);
  });
  table.measure("slice, copied", 0, [&](Graph &graph, Sequence &program) {
    const Tensor row = sliceable(graph)[at], own = graph.clone(row);
    program.add(Copy(row, own));
    read(graph, program, own);
  });
  for (const auto &[name, sequence] :
       {std::pair<const char *, std::function<Tensor(Graph &)>>{"dynamicSlice", sliceable},
        {"dynamicSlice, linear layout", linear}})
    table.measure(name, 0, [&, sequence = sequence](Graph &graph, Sequence &program) {
      const Tensor row =
          popops::dynamicSlice(graph, sequence(graph), offset(graph), {0}, {1}, program);
      read(graph, program, row.flatten());
    });
}
