// Variables, constants and copies: the content of a graph, its tiles, and tensors as views.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr std::size_t kLayers = 3, kNeurons = 8;

void print(const char *name, const std::vector<float> &values) {
  std::cout << name << ':';
  for (const float v : values)
    std::cout << ' ' << v;
  std::cout << '\n';
}

} // namespace

int main() {
  IPUModel model("ipu2");
  model.tilesPerIPU = 4;
  const Device device = model.createDevice();
  Graph graph(device.getTarget());

  // A variable has no tile until it is mapped: here each layer's thresholds have a tile of their
  // own.
  const Tensor thresholds = graph.addVariable(FLOAT, {kLayers, kNeurons}, "thresholds");
  for (unsigned layer = 0; layer < kLayers; ++layer)
    graph.setTileMapping(thresholds[layer], layer);

  const Tensor first = graph.addConstant(FLOAT, {kNeurons}, 1.0f, "first");
  const std::vector<float> rising{0.5f, 1.0f, 1.5f, 2.0f};
  const Tensor second = graph.addConstant(FLOAT, {2, 2}, rising.data(), "second");
  for (const Tensor &constant : {first, second})
    graph.setTileMapping(constant, 3);

  // Slices, transpositions and concatenations are views: only Copy moves data.
  const Tensor lastLayer = thresholds[kLayers - 1].reshape({2, 4});
  const Tensor outer = concat(lastLayer.slice(0, 1, 1), lastLayer.slice(3, 4, 1), 1);
  Sequence prog;
  prog.add(Copy(first.broadcast(kLayers, 0).reshape({kLayers, kNeurons}), thresholds));
  prog.add(Copy(second, outer.transpose()));

  // A variable that the host writes, and one with an initial value.
  const Tensor decays = graph.addVariable(FLOAT, {kNeurons}, "decays");
  poputil::mapTensorLinearly(graph, decays);
  graph.setInitialValue(decays, ArrayRef<float>(std::vector<float>(kNeurons, 0.25f)));
  graph.createHostWrite("write decays", decays);
  graph.createHostRead("read decays", decays);
  graph.createHostRead("read thresholds", thresholds);

  Engine engine(graph, prog);
  engine.load(device);
  std::vector<float> values(kNeurons);
  const auto read = [&](const char *handle) {
    engine.readTensor(handle, values.data(), values.data() + values.size());
    return values;
  };
  print("decays at first", read("read decays"));
  std::iota(values.begin(), values.end(), 0.0f);
  engine.writeTensor("write decays", values.data(), values.data() + values.size());
  engine.run();
  print("decays then", read("read decays"));
  values.resize(kLayers * kNeurons);
  print("thresholds", read("read thresholds"));

  const auto &tiles = graph.getTileMapping(thresholds);
  std::cout << "tiles with thresholds: "
            << std::count_if(tiles.begin(), tiles.end(), [](const auto &t) { return !t.empty(); })
            << '\n';
}
