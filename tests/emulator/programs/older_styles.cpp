// Programs for older SDKs: memory that nothing wrote is zero, a field is the vector in
// it, codelets name a constant M_PI. Argument 1 is the option debug.poisonOutputs.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>

using namespace poplar;

int main(int, char **arguments) {
  Device device = DeviceManager().getDevice(0);
  if (!device.attach())
    return 1;
  const auto attributes = device.getAttributes();
  std::cout << "attributes: " << attributes.at("number of worker contexts") << '\n';
  Graph graph(device.getTarget());
  std::stringstream codelets(R"(
    #include <cmath>
    #include <poplar/Vertex.hpp>
    #include <poplar/VectorListTypes.hpp>
    static const float M_PI = 3;
    float sumOf(float *values, unsigned count) {
      float sum = 0;
      for (unsigned i = 0; i < count; ++i)
        sum += values[i];
      return sum;
    }
    float last(poplar::Vector<float> &v) { return v[v.size() - 1]; }
    template <typename T> T first(poplar::Vector<T> &v) { return v[0]; }
    class Styles : public poplar::Vertex {
    public:
      poplar::Vector<poplar::Input<poplar::Vector<float>>> in;
      poplar::Vector<poplar::Output<poplar::Vector<float>>> out;
      poplar::Input<poplar::Vector<float>> state;
      poplar::InOut<poplar::Vector<float>> more;
      bool compute() {
        for (unsigned i = 0; i < in.size(); ++i)
          out[i] = in[i];
        out[1][1] += 10 * last(state) + 100 * first(more) + M_PI +
                     1000 * sumOf(&state[0], state.size());
        return true;
      }
    };
  )");
  graph.addCodelets(codelets);
  const std::vector<float> values{1, 2, 3, 4};
  Tensor in = graph.addVariable(FLOAT, {2, 2}, "in"), out = graph.addVariable(FLOAT, {2, 2}, "out"),
         state = graph.addVariable(FLOAT, {2}, "state"), more = graph.addVariable(FLOAT, {2}, "m");
  graph.setInitialValue(in, ArrayRef<float>(values));
  graph.setInitialValue(state, ArrayRef<float>{0.f, 2.f});
  Tensor unwritten = graph.addVariable(FLOAT, {2}, "unwritten");
  ComputeSet cs = graph.addComputeSet("cs");
  VertexRef v =
      graph.addVertex(cs, "Styles", {{"in", in}, {"out", out}, {"state", state}, {"more", more}});
  graph.setTileMapping(v, 0);
  for (const Tensor &t : {in, out, state, more, unwritten})
    graph.setTileMapping(t, 0);
  graph.createHostRead("out", out.flatten());
  graph.createHostRead("unwritten", unwritten);
  Engine engine(graph, program::Sequence(program::WriteUndef(unwritten), program::Execute(cs)),
                {{"debug.poisonOutputs", arguments[1]}});
  engine.load(device);
  engine.run(0);
  for (const auto &[name, count] :
       {std::pair<const char *, unsigned>{"out", 4}, {"unwritten", 2}}) {
    std::vector<float> read(count);
    engine.readTensor(name, read.data(), read.data() + count);
    std::cout << name << ':';
    for (const float value : read)
      std::cout << ' ' << value;
    std::cout << '\n';
  }
}
