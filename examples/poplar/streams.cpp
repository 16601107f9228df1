// Streams to and from the host: a buffer that is read repeatedly, a callback that makes each batch
// on demand, one that receives the results, and several programs of one engine.
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/StreamCallback.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr std::size_t kElements = 6;
constexpr unsigned kBatches = 4;

/// Batch n contains n in every element; the device may request it before its use.
class Batches : public StreamCallback {
public:
  Result prefetch(void *) override { return Result::NotAvailable; }
  void fetch(void *to) override { std::fill_n(static_cast<float *>(to), kElements, float(next_)); }
  void complete() override { ++next_; }

private:
  unsigned next_ = 0;
};

enum { kForget, kAccumulate, kShow };

} // namespace

int main() {
  IPUModel model("ipu2");
  model.tilesPerIPU = 4;
  const Device device = model.createDevice();
  Graph graph(device.getTarget());
  popops::addCodelets(graph);

  const Tensor batch = graph.addVariable(FLOAT, {kElements}, "batch");
  const Tensor scale = graph.addVariable(FLOAT, {kElements}, "scale");
  const Tensor total = graph.addVariable(FLOAT, {kElements}, "total");
  for (const Tensor &t : {batch, scale, total})
    poputil::mapTensorLinearly(graph, t);
  const Tensor zero = graph.addConstant(FLOAT, {kElements}, 0.0f);
  graph.setTileMapping(zero, 0);

  const DataStream batches = graph.addHostToDeviceFIFO("batches", FLOAT, kElements);
  const DataStream scales = graph.addHostToDeviceFIFO("scales", FLOAT, kElements);
  const DataStream totals = graph.addDeviceToHostFIFO("totals", FLOAT, kElements);

  Sequence turn;
  turn.add(Copy(batches, batch));
  popops::mulInPlace(graph, batch, scale, turn, "scale");
  popops::addInPlace(graph, total, batch, turn, "accumulate");
  const Sequence forget({Copy(zero, total)});
  const Sequence accumulate({Copy(scales, scale), Repeat(kBatches, turn)});
  const Sequence show({Copy(total, totals)});

  Engine engine(graph, {forget, accumulate, show});
  engine.load(device);
  const std::vector<float> doubled(kElements, 2);
  engine.connectStream(scales, const_cast<float *>(doubled.data()));
  engine.connectStreamToCallback(batches, std::make_unique<Batches>());
  engine.connectStreamToCallback(totals, [](void *from) {
    std::cout << "total: " << static_cast<const float *>(from)[kElements - 1] << '\n';
  });
  engine.run(kForget);
  engine.run(kAccumulate); // 2 (0 + 1 + 2 + 3)
  engine.run(kShow);
  engine.run(kAccumulate); // and 2 (4 + 5 + 6 + 7) more: the stream continues
  engine.run(kShow);
}
