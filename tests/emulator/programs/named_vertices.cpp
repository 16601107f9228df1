// Vertices of PopLibs that programs add by their names, and slices of the first dimensions.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <popnn/codelets.hpp>
#include <poputil/VertexTemplates.hpp>

using namespace poplar;

int main() {
  Device device = DeviceManager().getDevice(0);
  if (!device.attach())
    return 1;
  Graph graph(device.getTarget());
  popnn::addCodelets(graph);
  const ComputeSet cs = graph.addComputeSet("cs");
  const Tensor scores = graph.addVariable(FLOAT, {4}, "scores"),
               labels = graph.addVariable(UNSIGNED_INT, {4}, "labels");
  graph.setInitialValue(scores, ArrayRef<float>{2.f, 5.f, -3.f, 5.f});
  graph.setInitialValue(labels, ArrayRef<unsigned>{10, 11, 12, 13});
  graph.setTileMapping(scores, 2);
  graph.setTileMapping(labels, 2);
  for (const std::string kind : {"Max", "Min"}) {
    const std::string field = kind == "Max" ? "max" : "min";
    const Tensor value = graph.addVariable(FLOAT, {}, "value"),
                 index = graph.addVariable(UNSIGNED_INT, {}, "index");
    graph.setTileMapping(value, 2);
    graph.setTileMapping(index, 2);
    const VertexRef v = graph.addVertex(
        cs, poputil::templateVertex("popnn::Reduce" + kind + "ClassSparse", FLOAT, UNSIGNED_INT),
        {{"activations", scores},
         {"labels", labels},
         {field + "Value", value},
         {field + "Index", index}});
    graph.setTileMapping(v, 2);
    graph.createHostRead(kind + "Value", value);
    graph.createHostRead(kind + "Index", index);
  }
  const Tensor cube = graph.addVariable(FLOAT, {2, 3, 4}, "cube");
  std::cout << "slice " << cube.slice({0, 1}, {2, 2}).shapeToString() << '\n';
  Engine engine(graph, program::Execute(cs));
  engine.load(device);
  engine.run(0);
  for (const std::string kind : {"Max", "Min"}) {
    float value = 0;
    unsigned index = 0;
    engine.readTensor(kind + "Value", &value, &value + 1);
    engine.readTensor(kind + "Index", &index, &index + 1);
    std::cout << kind << ' ' << value << ' ' << index << '\n';
  }
}
