// A supervisor that runs the workers by instructions of a tile: argument 1 is its name.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>

using namespace poplar;

int main(int, char **arguments) {
  Device device;
  for (Device &each : DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1))
    if (each.attach())
      device = std::move(each);
  Graph graph(device.getTarget());
  std::stringstream codelets(R"(
    #include <poplar/Vertex.hpp>
    #include <TileConstants.hpp>
    using namespace poplar;

    // The fields are those of the supervisors.
    class Square : public MultiVertex {
    public:
      InOut<Vector<float>> data;
      bool compute(unsigned worker) {
        for (unsigned i = worker; i < data.size(); i += CTXT_WORKERS)
          data[i] = data[i] * data[i];
        return true;
      }
    };

    class ByName : public SupervisorVertex {
    public:
      InOut<Vector<float>> data;
      __attribute__((target("supervisor"))) bool compute() {
        asm volatile("setzi $m1, __runCodelet_Square\n"
                     "runall $m1, $m0, 0\n"
                     "sync %[zone]\n" ::[zone] "i"(TEXCH_SYNCZONE_LOCAL)
                     : "memory");
        data[0] += 100;
        return true;
      }
    };

    template <typename T, bool (T::*function)(unsigned)> bool start() {
      T &vertex = *static_cast<T *>(__builtin_ipu_get_vertex_base());
      return (vertex.*function)(__builtin_ipu_get(CSR_W_WSR__INDEX) &
                                CSR_W_WSR__CTXTID_M1__MASK);
    }

    class ByAddress : public SupervisorVertex {
    public:
      InOut<Vector<float>> data;
      bool add(unsigned worker) {
        for (unsigned i = worker; i < data.size(); i += CTXT_WORKERS)
          data[i] += 10 * (worker + 1);
        return true;
      }
      __attribute__((target("supervisor"))) bool compute() {
        float kept = data[0];
        for (int round = 0; round < 2; ++round) {
          void *base = this;
          void *entry = reinterpret_cast<void *>(&start<ByAddress, &ByAddress::add>);
          asm volatile("runall %[entry], %[base], 0" ::[entry] "r"(entry), [base] "r"(base)
                       : "memory");
          asm volatile("sync %[zone]" ::[zone] "i"(TEXCH_SYNCZONE_LOCAL) : "memory");
        }
        data[1] += kept;
        return true;
      }
    };

    class Unknown : public SupervisorVertex {
    public:
      InOut<Vector<float>> data;
      bool compute() {
        asm volatile("setzi $m1, __runCodelet_Nothing\nrunall $m1, $m0, 0");
        return true;
      }
    };
  )");
  std::string text = codelets.str();
  if (arguments[1] != std::string("Unknown"))
    text.resize(text.find("class Unknown"));
  codelets.str(text);
  try {
    graph.addCodelets(codelets);
  } catch (const poplar_error &error) {
    std::cout << "refused: " << error.what() << '\n';
    return 0;
  }
  Tensor data = graph.addVariable(FLOAT, {8}, "data");
  graph.setTileMapping(data, 3);
  graph.setInitialValue(data, ArrayRef<float>({1, 2, 3, 4, 5, 6, 7, 8}));
  ComputeSet cs = graph.addComputeSet("cs");
  graph.setTileMapping(graph.addVertex(cs, arguments[1], {{"data", data}}), 3);
  graph.createHostRead("data", data);
  Engine engine(graph, program::Execute(cs));
  engine.load(device);
  engine.run(0);
  std::vector<float> values(8);
  engine.readTensor("data", values.data(), values.data() + values.size());
  for (const float value : values)
    std::cout << value << ' ';
  std::cout << '\n';
}
