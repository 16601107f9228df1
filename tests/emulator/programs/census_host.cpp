// Host code as public programs write it. The first includes must suffice for what follows them.
#include <poplar/Graph.hpp>

namespace {

// Complete with Graph.hpp alone.
void addEmpty(poplar::program::Sequence &prog) {
  prog.add(poplar::program::Sequence{});
  prog.add(poplar::program::Sync(poplar::SyncType::INTERNAL));
}
int sumOfRamp() {
  std::vector<int> ramp(5);
  std::iota(ramp.begin(), ramp.end(), 1);
  return std::accumulate(ramp.begin(), ramp.end(), 0);
}
// Before main.
const poplar::Type kType = poplar::FLOAT;
std::string nameOf(poplar::Type &type) { return type.toString(); }

// Known from Graph.hpp, too.
int sizeOf(const poplar::Type &type) {
  const poplar::TypeTraits traits = type == poplar::HALF
                                        ? poplar::TypeTraits::make<poplar::IeeeHalf>()
                                        : poplar::TypeTraits::make<float>();
  return traits.isFloat && traits.isSigned && !traits.isIntegral ? int(traits.size) : 0;
}

} // namespace

#include <gcl/Collectives.hpp>
#include <popfloat/experimental/CastToHalf.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/MetadataCreation.hpp>
#include <poplar/PrintTensor.hpp>
#include <poplar/SerializationFormat.hpp>
#include <poputil/DebugInfo.hpp>
#include <poputil/Util.hpp>
#include <poputil/VarStructure.hpp>
#include <pvti/pvti.hpp>
#include <unordered_set>

using namespace poplar;

struct Pair {
  int first;
};
POPLAR_DECLARE_EQUIV_TYPE(Pair, INT)

namespace {

/// Fetches a number that grows.
class Ramp : public LegacyStreamCallback {
public:
  void fetch(void *p) override {
    const float next = value += 1.5f;
    std::memcpy(p, &next, sizeof next);
  }

private:
  float value = 0;
};

template <typename F> std::string raised(F &&f) {
  try {
    f();
  } catch (const poplar_error &error) {
    return error.what();
  }
  return "nothing";
}

} // namespace

int main() {
  std::cout << "standard " << sumOfRamp() << ' ' << nameOf(UNSIGNED_INT) << ' ' << (kType == FLOAT)
            << FLOAT.isFloatingPoint() << INT.isFloatingPoint() << ' '
            << std::unordered_set<Type>{INT, FLOAT, INT}.size() << ' '
            << (equivalent_device_type<Pair>().value == INT) << '\n';

  namespace cast = popfloat::experimental;
  std::cout << "casts " << cast::singleToHalf(1.5f) << ' '
            << cast::halfToSingle(cast::singleToHalf(-1e6f)) << ' '
            << cast::halfToSingle(cast::singleToHalf(1e6f, true)) << '\n';
  Graph graph;
  Executable executable;
  std::cout << "graph " << raised([&] { graph.addComputeSet("cs"); }) << '\n'
            << "executable " << raised([&] { Engine engine(executable); }) << '\n';

  IPUModel model;
  model.tilesPerIPU = 4;
  model.relativeSyncDelay = IPUModel::RelativeSyncDelayType::AUTO;
  Device device = model.createDevice();
  graph = Graph(device.getTarget());
  std::cout << "version " << versionString().empty() << packageHash().empty() << '\n';

  Tensor t = graph.addVariable(FLOAT, {2, 3}, "t");
  graph.setTileMapping(t, 0);
  std::cout << "cloneN " << graph.cloneN(t, 3).shapeToString() << ' '
            << graph.cloneN(HALF, t, 2).elementType() << '\n';
  std::cout << "index";
  for (const std::size_t i : poputil::unflattenIndex<std::size_t>({2, 3}, 4))
    std::cout << ' ' << i;
  std::cout << ' ' << poputil::flattenIndex<std::size_t>({2, 3}, {1, 1}) << '\n';
  // In memory [2, 4, 4, 4], as a matrix of 8 rows and 16 columns with tiles of 4 by 4.
  Tensor blocks = graph.addVariable(FLOAT, {2, 4, 4, 4}, "blocks");
  graph.setTileMapping(blocks, 0);
  const Tensor matrix = blocks.dimShuffle({0, 2, 1, 3}).reshape({8, 16});
  std::cout << "groupings";
  for (const auto &[dimension, size] : poputil::detectDimGroupings(graph, matrix))
    std::cout << ' ' << dimension << ' ' << size;
  std::cout << '\n';
  const poputil::ArgType argument{"t", t};
  std::cout << "argument " << argument.n << ' ' << argument.pv["shape"].asString() << ' '
            << poputil::toProfileValue(std::vector<unsigned>{1, 2}).size() << '\n';
  ProfileValue::Map members;
  members.insert({"a", 1});
  members.insert({"a", 2});
  members["b"] = "text";
  const ProfileValue described(members);
  std::cout << "members " << described.size() << ' ' << described["a"].asUint() << '\n';
  DebugInfo info({"caller"}, "census");
  info.setValue("members", members);
  info.setValue("text", "a value");
  std::cout << "debug " << info.getPathName() << '\n';
  std::cout << "collective " << gcl::CollectiveOperator::ADD << '\n';
  pvti::TraceChannel channel("channel");
  pvti::Tracepoint tracepoint(channel, "abcdef", 3);
  std::vector<Graph::HostFunctionArgument> arguments;
  arguments.emplace_back(FLOAT, 4);
  std::cout << "arguments " << std::get<1>(arguments[0]) << '\n';

  program::Sequence counted;
  using Format = QuarterMetadata::Format;
  const std::pair<const char *, Tensor> metadata[] = {
      {"initial", createVariableMetadataTensor(graph, Format::F143, -2)},
      {"copied", createVariableMetadataTensor(graph, Format::F152, 3, counted)}};
  for (const auto &[name, t] : metadata)
    graph.createHostRead(name, t.reinterpret(UNSIGNED_CHAR));
  std::cout << "scale " << raised([&] { createConstantMetadataTensor(graph, Format::F143, -33); })
            << '\n';
  addEmpty(counted);
  const Tensor cycles = cycleCount(graph, counted, 0, "cycles");
  const std::vector<Tensor> stamps =
      cycleStamp(graph, counted, {1, 2}, SyncType::INTERNAL, "stamps");
  std::cout << "stamps " << cycles.numElements() << ' ' << stamps.size() << '\n';
  Tensor x = graph.addVariable(FLOAT, {}, "x");
  graph.setTileMapping(x, 1);
  const IeeeHalf halves[] = {1.5f, -1e6f, IeeeHalf::fromBits(0x8001), IeeeHalf::fromBits(0x7c01)};
  Tensor h = graph.addVariable(HALF, {4}, "h");
  graph.setTileMapping(h, 1);
  graph.setInitialValue(h, ArrayRef<IeeeHalf>(halves, 4));
  graph.createHostRead("h", h);
  const short shorts[] = {-3, 4};
  const Tensor constants[] = {
      graph.addConstant(INT, {2}, shorts, TypeTraits::make<short>(), false, "shorts"),
      graph.addConstant(HALF, {2}, halves, TypeTraits::make<IeeeHalf>(), true, "one half")};
  for (const Tensor &constant : constants)
    graph.setTileMapping(constant, 0);
  graph.createHostRead("shorts", constants[0]);
  graph.createHostRead("one half", constants[1]);
  const DataStream stream = graph.addHostToDeviceFIFO("in", FLOAT, 1);
  graph.createHostRead("x", x);
  counted.add(program::Block(program::Copy(stream, x), "copy"));
  Engine engine(graph, counted);
  engine.connectStreamToCallback("in", std::make_unique<Ramp>());
  engine.load(device);
  engine.run(0);
  engine.run(0);
  float value = 0;
  engine.readTensor("x", &value, &value + 1);
  std::cout << "fetched " << value << ' ' << StreamCallback::Success << '\n';
  int integers[2];
  IeeeHalf read[4];
  engine.readTensor("shorts", integers, integers + 2);
  engine.readTensor("one half", read, read + 2);
  std::cout << "constants " << integers[0] << ' ' << integers[1] << ' ' << read[0] << ' ' << read[1]
            << '\n';
  engine.readTensor("h", read, read + 4);
  std::cout << "halves " << sizeOf(HALF) << sizeOf(FLOAT);
  for (const IeeeHalf &half : read)
    std::cout << ' ' << half.bit16() << ' ' << half.isNorm() << half.isInf() << half.issNaN();
  std::cout << ' ' << (read[0] += 0.25f) << '\n' << "metadata";
  for (const auto &[name, t] : metadata) {
    unsigned char byte = 0;
    engine.readTensor(name, &byte, &byte + 1);
    std::cout << ' ' << t.elementType() << ' ' << unsigned(byte);
  }
  std::cout << '\n';
}
