// The two passes of codelets, and remedies of popc: prints values by target, argument 1.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

namespace {

const char *const kSource = R"(
#include <poplar/Vertex.hpp>
using namespace poplar;
#ifdef __IPU__
class OnDevice : public Vertex {
public:
  Output<float> o;
  bool compute() { *o = __IPU_ARCH_VERSION__ > 0; return true; }
};
#else
class OnModel : public Vertex {
public:
  Output<float> o;
  bool compute() { *o = 2; return true; }
};
#endif
class Both : public Vertex {
public:
#ifdef __IPU__
  Output<float> onDevice;
#else
  Output<float> onModel;
#endif
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<float> o;
  bool compute() {
    half4 h{};
    h[2] = 5;
    auto p = reinterpret_cast<float *>(&in[0]);
    auto q = reinterpret_cast<const float2 *>(&in[0]);
    *o = p[1] + 10 * (*q)[0] + 100 * float(h[2]);
    return true;
  }
};
)";

} // namespace

int main(int, char **arguments) {
  const bool model = arguments[1] == std::string("model");
  IPUModel ipuModel;
  ipuModel.tilesPerIPU = 4;
  Device device =
      model ? ipuModel.createDevice()
            : std::move(DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1)[0]);
  device.attach();
  Graph graph(device.getTarget());
  std::stringstream source(kSource);
  graph.addCodelets(source);
  std::cout << graph.hasCodelet("OnDevice") << graph.hasCodelet("OnModel");
  Tensor in = graph.addVariable(FLOAT, {2}, "in"), out = graph.addVariable(FLOAT, {2}, "out");
  graph.setInitialValue(in, std::vector<float>{3, 4});
  ComputeSet cs = graph.addComputeSet("cs");
  VertexRef v = graph.addVertex(cs, "Both", {{"in", in}, {"o", out[0]}});
  graph.connect(v[model ? "onModel" : "onDevice"], out[1]);
  graph.setTileMapping(in, 0);
  graph.setTileMapping(out, 0);
  graph.setTileMapping(v, 0);
  graph.createHostRead("out", out);
  Engine engine(graph, program::Execute(cs));
  engine.load(device);
  engine.run(0);
  std::vector<float> values(2);
  engine.readTensor("out", values.data(), values.data() + 2);
  std::cout << ' ' << values[0] << '\n';
}
