// Codelets that go wrong: argument 1 is the name of a vertex, 2 the tiles that run it, 3 the engine
// option debug.checkBounds.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

int main(int, char **arguments) {
  IPUModel model;
  model.tilesPerIPU = 32;
  Device device = model.createDevice();
  Graph graph(device.getTarget());
  std::stringstream codelets(R"(
    #include <poplar/Vertex.hpp>
    using namespace poplar;
    class Endless : public Vertex {
    public:
      Output<Vector<float>> out;
      bool compute() {
        for (volatile unsigned i = 0; i < 2; i = i ? 1 : i)
          ;
        return true;
      }
    };
    class Behind : public Vertex {
    public:
      Output<Vector<float>> out;
      bool compute() { float *at = &out[0]; at[out.size()] = 1; return true; }
    };
    class Once : public Vertex {
    public:
      Output<Vector<float>> out;
      bool compute() {
        static unsigned calls;
        float *at = &out[0];
        for (unsigned i = 0; i < out.size() + (calls == 0); ++i)
          at[i] = 1;
        ++calls;
        return true;
      }
    };
    class Before : public Vertex {
    public:
      Output<Vector<float>> out;
      bool compute() { float *at = &out[0]; at[-2] = 1; return true; }
    };
    class Copies : public Vertex {
    public:
      Output<Vector<float>> out;
      Input<Vector<float>> in;
      bool compute() {
        for (unsigned i = 0; i <= out.size(); ++i)
          (&out[0])[i] = (&in[0])[i];
        return true;
      }
    };
    class Within : public Vertex {
    public:
      Output<Vector<float>> out;
      bool compute() {
        for (unsigned i = 0; i < out.size(); ++i)
          out[i] = 1;
        return true;
      }
    };
    class Around : public MultiVertex {
    public:
      Vector<InOut<Vector<int>>> rows;
      bool compute(unsigned worker) {
        if (worker == 5)
          (&rows[1][0])[3] = 7;
        return true;
      }
    };
  )");
  graph.addCodelets(codelets);
  const std::string name = arguments[1];
  ComputeSet cs = graph.addComputeSet("layer/step");
  const unsigned tiles = static_cast<unsigned>(std::stoul(arguments[2]));
  Tensor all = graph.addVariable(name == "Around" ? INT : FLOAT, {tiles, 6}, "all");
  for (unsigned tile = 0; tile < tiles; ++tile) {
    graph.setTileMapping(all[tile], tile);
    VertexRef vertex = graph.addVertex(cs, name);
    if (name == "Around")
      graph.connect(vertex["rows"], all[tile].reshape({2, 3}));
    else
      graph.connect(vertex["out"], all[tile]);
    if (name == "Copies") {
      const Tensor in = graph.addVariable(FLOAT, {6}, "in");
      graph.setTileMapping(in, tile);
      graph.connect(vertex["in"], in);
    }
    graph.setTileMapping(vertex, tile);
  }
  graph.createHostRead("all", all);
  Engine engine(graph, program::Execute(cs), {{"debug.checkBounds", arguments[3]}});
  engine.load(device);
  try {
    engine.run(0);
  } catch (const application_runtime_error &error) {
    std::cout << "caught " << error.what() << '\n';
    if (name != "Once")
      return 0;
    engine.run(0);
  }
  std::vector<float> values(tiles * 6);
  engine.readTensor("all", values.data(), values.data() + values.size());
  std::cout << "sum " << std::accumulate(values.begin(), values.end(), 0.f) << '\n';
}
