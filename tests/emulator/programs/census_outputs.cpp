// Elements of an Output that compute() does not write: argument 1 is the engine's option.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

int main(int, char **arguments) {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device.getTarget());
  std::stringstream codelet(R"(
    #include <poplar/Vertex.hpp>
    class One : public poplar::Vertex {
    public:
      poplar::Output<poplar::Vector<float>> out;
      bool compute() { out[1] = 1; return true; }
    };
  )");
  graph.addCodelets(codelet);
  ComputeSet cs = graph.addComputeSet("cs");
  // On the tile of the vertex; the same, in two pieces; on another tile.
  Tensor here = graph.addVariable(FLOAT, {3}, "here"), pieces = graph.addVariable(FLOAT, {6}, "p"),
         far = graph.addVariable(FLOAT, {3}, "far");
  graph.setTileMapping(here, 1);
  graph.setTileMapping(pieces, 1);
  graph.setTileMapping(far, 2);
  for (const Tensor &t : {here, pieces.subSample(2, 0), far}) {
    VertexRef v = graph.addVertex(cs, "One", {{"out", t}});
    graph.setTileMapping(v, 1);
  }
  const std::pair<const char *, Tensor> all[] = {{"here", here}, {"pieces", pieces}, {"far", far}};
  for (const auto &[name, t] : all) {
    graph.setInitialValue(t, 0.f);
    graph.createHostRead(name, t);
  }
  Engine engine(graph, program::Execute(cs), {{"debug.poisonOutputs", arguments[1]}});
  engine.load(device);
  engine.run(0);
  for (const auto &[name, t] : all) {
    std::vector<float> values(t.numElements());
    engine.readTensor(name, values.data(), values.data() + values.size());
    std::cout << name << ':';
    for (const float value : values)
      std::cout << ' ' << value;
    std::cout << '\n';
  }
}
