// Codelets that a tile's linker refuses: argument 1 chooses one, argument 2 is ipu or model.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

namespace {

const std::map<std::string, std::string> kBodies{
    {"heap", "int *p = new int[n]; for (int i = 0; i < n; ++i) p[i] = i; keep = p; *o = p[n - 1];"},
    {"stream", "std::cout << n; *o = 1;"},
    {"recursion", "*o = ackermann(2, n);"},
    {"declared", "*o = declared(2, n);"},
    {"virtual", "*o = shape->area();"},
    {"plain", "*o = n;"},
};
const char *const kStart = R"(
#include <iostream>
#include <poplar/StackSizeDefs.hpp>
#include <poplar/Vertex.hpp>
int *keep;
struct Shape { virtual int area() const = 0; };
Shape *volatile shape;
#define ACKERMANN(NAME) extern "C" __attribute__((noinline)) int NAME(int m, int n) { \
  return m == 0 ? n + 1 : n == 0 ? NAME(m - 1, 1) : NAME(m - 1, NAME(m, n - 1)); }
ACKERMANN(ackermann)
ACKERMANN(declared)
DEF_STACK_USAGE(256, declared)
class V : public poplar::Vertex {
public:
  poplar::Input<int> in;
  poplar::Output<int> o;
  bool compute() { const int n = *in; )";

} // namespace

int main(int, char **arguments) {
  const bool model = arguments[2] == std::string("model");
  IPUModel ipuModel;
  ipuModel.tilesPerIPU = 4;
  Device device =
      model ? ipuModel.createDevice()
            : std::move(DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1)[0]);
  device.attach();
  Graph graph(device.getTarget());
  std::stringstream source(kStart + kBodies.at(arguments[1]) + " return true; } };");
  graph.addCodelets(source);
  Tensor in = graph.addVariable(INT, {}, "in"), out = graph.addVariable(INT, {}, "out");
  graph.setInitialValue(in, 3);
  ComputeSet cs = graph.addComputeSet("cs");
  VertexRef v = graph.addVertex(cs, "V", {{"in", in}, {"o", out}});
  graph.setTileMapping(in, 0);
  graph.setTileMapping(out, 0);
  graph.setTileMapping(v, 0);
  graph.createHostRead("out", out);
  try {
    Engine engine(graph, program::Execute(cs));
    engine.load(device);
    engine.run(0);
    int value = 0;
    engine.readTensor("out", &value, &value + 1);
    std::cout << value << '\n';
  } catch (const link_error &error) {
    std::cout << error.what() << '\n';
  }
}
