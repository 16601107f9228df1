// Runs the vertices of census_codelets.cpp.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

int main() {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device.getTarget());
  graph.addCodelets({"census_codelets.cpp"}, "-O3");
  program::Sequence prog;
  ComputeSet cs = graph.addComputeSet("cs");
  const auto variable = [&](const Type &type, std::vector<std::size_t> shape) {
    Tensor t = graph.addVariable(type, shape, "t");
    graph.setTileMapping(t, 1);
    return t;
  };
  const auto run = [&](const std::string &name, std::size_t size) {
    VertexRef v = graph.addVertex(cs, name);
    graph.setTileMapping(v, 1);
    Tensor out = variable(FLOAT, {size});
    graph.connect(v["out"], out);
    graph.createHostRead(name, out);
    return v;
  };
  run("Intrinsics", 16);
  run("Limits", 6);
  run("ExtVectors", 7);
  run("Swap", 2);
  VertexRef fields = run("Fields", 6);
  Tensor in = variable(FLOAT, {2, 3});
  graph.setInitialValue(in, std::vector<float>{5, 6, 7, 8, 9, 10});
  Tensor n = variable(UNSIGNED_INT, {}), m = variable(UNSIGNED_INT, {}), o = variable(FLOAT, {});
  graph.setInitialValue(n, 4u);
  graph.setInitialValue(m, 0u);
  graph.connect(fields["in"], in[0]);
  graph.connect(fields["rows"], in);
  graph.connect(fields["bare"], in[1]);
  graph.connect(fields["n"], n);
  graph.connect(fields["m"], m);
  graph.connect(fields["o"], o);
  for (const auto &[name, t] : {std::pair{"n", n}, {"m", m}, {"o", o}})
    graph.createHostRead(name, t);
  prog.add(program::Execute(cs));
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  const auto show = [&](const char *name, std::size_t size) {
    std::vector<float> values(size);
    engine.readTensor(name, values.data(), values.data() + size);
    std::cout << name << ":";
    for (const float value : values)
      std::cout << ' ' << value;
    std::cout << '\n';
  };
  show("Intrinsics", 16);
  show("Limits", 6);
  show("ExtVectors", 7);
  show("Swap", 2);
  show("Fields", 6);
  show("o", 1);
  for (const char *name : {"n", "m"}) {
    unsigned value = 0;
    engine.readTensor(name, &value, &value + 1);
    std::cout << name << ": " << value << '\n';
  }
}
