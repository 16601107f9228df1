// Neurons driven by a matrix-vector product in every step: variables and constants, vertices of two
// kinds, a loop on the device, streams, a reduction, and the profile.
#include <iostream>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr unsigned kInputs = 64, kNeurons = 128, kSteps = 10, kNeuronsPerTile = 8;

Device attach() {
  for (Device &device : DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1))
    if (device.attach())
      return std::move(device);
  throw poplar_error("no IPU is free");
}

} // namespace

int main() {
  const Device device = attach();
  Graph graph(device.getTarget());
  graph.addCodelets("leaky_codelets.cpp");
  popops::addCodelets(graph);

  const Tensor input = graph.addVariable(FLOAT, {kInputs}, "input");
  const Tensor weights = graph.addVariable(FLOAT, {kNeurons, kInputs}, "weights");
  const Tensor current = graph.addVariable(FLOAT, {kNeurons}, "current");
  const Tensor membrane = graph.addVariable(FLOAT, {kNeurons}, "membrane");
  const Tensor spikes = graph.addVariable(FLOAT, {kNeurons}, "spikes");
  poputil::mapTensorLinearly(graph, input);

  const ComputeSet multiply = graph.addComputeSet("multiply");
  const ComputeSet integrate = graph.addComputeSet("integrate");
  for (unsigned first = 0; first < kNeurons; first += kNeuronsPerTile) {
    const unsigned tile = first / kNeuronsPerTile, end = first + kNeuronsPerTile;
    for (const Tensor &t : {weights, current, membrane, spikes})
      graph.setTileMapping(t.slice(first, end), tile);
    for (unsigned i = first; i < end; ++i) {
      const VertexRef product =
          graph.addVertex(multiply, poputil::templateVertex("RowProduct", FLOAT),
                          {{"row", weights[i]}, {"x", input}, {"y", current[i]}});
      graph.setTileMapping(product, tile);
    }
    const VertexRef step = graph.addVertex(integrate, "LeakyStep");
    graph.connect(step["current"], current.slice(first, end));
    graph.connect(step["membrane"], membrane.slice(first, end));
    graph.connect(step["spikes"], spikes.slice(first, end));
    graph.setInitialValue(step["neurons"], kNeuronsPerTile);
    graph.setInitialValue(step["decay"], 0.5f);
    graph.setInitialValue(step["threshold"], 1.0f);
    graph.setTileMapping(step, tile);
  }

  const DataStream inputs = graph.addHostToDeviceFIFO("inputs", FLOAT, kInputs);
  const DataStream counts = graph.addDeviceToHostFIFO("counts", FLOAT, 1);
  graph.createHostWrite("weights", weights);

  Sequence step;
  step.add(Copy(inputs, input));
  step.add(Execute(multiply));
  step.add(Execute(integrate));
  const Tensor count = popops::reduce(graph, spikes, {0}, popops::Operation::ADD, step, "count");
  step.add(Copy(count.reshape({1}), counts));
  Sequence main;
  popops::zero(graph, membrane, main, "reset");
  main.add(Repeat(kSteps, step));

  Engine engine(graph, main, {{"debug.retainDebugInformation", "true"}});
  engine.load(device);

  // Neuron n sees n / 64 of an input of ones: it fires once its membrane passes the threshold.
  std::vector<float> w(kNeurons * kInputs), x(kInputs, 1), fired(kSteps);
  for (unsigned n = 0; n < kNeurons; ++n)
    for (unsigned i = 0; i < kInputs; ++i)
      w[n * kInputs + i] = static_cast<float>(n) / (64 * kInputs);
  engine.writeTensor("weights", w.data(), w.data() + w.size());
  engine.connectStream(inputs, x.data(), x.data() + x.size());
  engine.connectStream(counts, fired.data(), fired.data() + fired.size());
  engine.run();

  std::cout << "spikes by step:";
  for (const float n : fired)
    std::cout << ' ' << n;
  std::cout << '\n';
  engine.printProfileSummary(std::cout, {{"showExecutionSteps", "false"}});
}
