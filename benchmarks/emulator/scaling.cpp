// Graphs of many small parts, in doubling numbers. Prints for each kind and number of parts the
// processor seconds that its graph, its checks and its compilation take.
#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

/// A graph with a variable of `parts` elements, spread over all tiles.
struct Parts {
  Graph graph;
  Sequence prog;
  std::size_t parts;
  Tensor all;

  Parts(const Target &target, std::size_t parts)
      : graph(target), parts(parts), all(variable({parts})) {
    popops::addCodelets(graph);
  }
  Tensor variable(const std::vector<std::size_t> &shape) {
    const Tensor t = graph.addVariable(FLOAT, shape, "parts");
    poputil::mapTensorLinearly(graph, t);
    return t;
  }
  unsigned tile(std::size_t i) const {
    return static_cast<unsigned>(i) % graph.getTarget().getNumTiles();
  }
  Tensor shuffled() const {
    std::vector<unsigned> order(parts);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    return concat(all.slices(ArrayRef<unsigned>(order)));
  }
  void addVertex(ComputeSet cs, const std::vector<Tensor> &rows, unsigned tile) {
    const VertexRef v = graph.addVertex(cs, "popops::Fill");
    graph.connect(v["out"], rows);
    for (const char *field : {"type", "outType", "choice"})
      graph.setInitialValue(v[field], static_cast<unsigned>(FLOAT.identity()));
    for (const char *field : {"a", "b"})
      graph.setInitialValue(v[field], 1.f);
    graph.setTileMapping(v, tile);
  }
};

struct Kind {
  const char *name;
  std::size_t most;
  std::function<void(Parts &)> build;
};

const std::vector<Kind> kKinds{
    {"copied pieces", 1280000,
     [](Parts &p) { p.prog.add(Copy(p.shuffled(), p.variable({p.parts}))); }},
    {"pieces of operands", 1280000,
     [](Parts &p) { popops::mul(p.graph, p.all, p.shuffled(), p.prog); }},
    {"pieces of the mapping", 640000,
     [](Parts &p) {
       for (std::size_t i = 0; i < p.parts; ++i)
         p.graph.setTileMapping(p.all[i], p.tile(i * 7));
       popops::fill(p.graph, p.all, p.prog, 1.f);
     }},
    {"vertices", 1280000,
     [](Parts &p) {
       const ComputeSet cs = p.graph.addComputeSet("cs");
       for (std::size_t i = 0; i < p.parts; ++i)
         p.addVertex(cs, {p.all.slice(i, i + 1)}, p.tile(i));
       p.prog.add(Execute(cs));
     }},
    {"rows of a vertex", 640000,
     [](Parts &p) {
       const ComputeSet cs = p.graph.addComputeSet("cs");
       p.graph.setTileMapping(p.all, 0);
       std::vector<Tensor> rows;
       const Tensor shuffled = p.shuffled();
       for (std::size_t i = 0; i < p.parts; ++i)
         rows.push_back(shuffled.slice(i, i + 1));
       p.addVertex(cs, rows, 0);
       p.prog.add(Execute(cs));
     }},
    {"compute sets", 80000,
     [](Parts &p) {
       for (std::size_t i = 0; i < p.parts; ++i) {
         const ComputeSet cs = p.graph.addComputeSet("cs");
         p.addVertex(cs, {p.all.slice(i, i + 1)}, p.tile(i));
         p.prog.add(Execute(cs));
       }
     }},
    {"variables that come and go", 80000, [](Parts &p) {
       Tensor last = p.all.slice(0, 1);
       for (std::size_t i = 0; i < p.parts; ++i) {
         const Tensor next = p.graph.addVariable(FLOAT, {1}, "next");
         p.graph.setTileMapping(next, p.tile(i));
         p.prog.add(Copy(last, next));
         last = next;
       }
       p.prog.add(Copy(last, p.all.slice(0, 1)));
     }}};

} // namespace

int main() {
  IPUModel model;
  Device device = model.createDevice();
  device.attach();
  for (const Kind &kind : kKinds)
    for (std::size_t parts = 10000; parts <= kind.most; parts *= 2) {
      const std::clock_t begin = std::clock();
      Parts p(device.getTarget(), parts);
      kind.build(p);
      Engine engine(p.graph, p.prog, {{"debug.allowOutOfMemory", "true"}});
      engine.load(device);
      const std::clock_t end = std::clock();
      std::cout << kind.name << ": " << parts << ' '
                << static_cast<double>(end - begin) / CLOCKS_PER_SEC << std::endl;
    }
}
