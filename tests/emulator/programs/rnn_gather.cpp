// A backward loop that leaves its gradient of each step, and a gradient of weights for several
// steps at once: prints it, the final state and the lengths that were asked for.
#include <iostream>
#include <string>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popnn/Rnn.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;
using namespace popnn::rnn;

int main(int, char **argv) {
  constexpr std::size_t kSteps = 5, kBatch = 2, kIn = 3, kOut = 4;
  const unsigned stepsPerGather = static_cast<unsigned>(std::stoul(argv[1]));
  IPUModel model;
  model.tilesPerIPU = 5;
  const Device device = model.createDevice();
  Graph graph(device);
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  Sequence prog;
  const RnnParams params(FLOAT, kBatch, kSteps, {kIn, kOut});
  const Tensor activity = createInputTensor(graph, params, 1, "activity");
  const Tensor gradient = createOutputTensor(graph, params, 1, "gradient");
  const Tensor kept = createOutputTensor(graph, params, 1, "kept");
  const Tensor weights = graph.addVariable(FLOAT, {kIn, kOut}, VariableMappingMethod::LINEAR);
  const Tensor initial = graph.addVariable(FLOAT, {1, kBatch, kOut}, VariableMappingMethod::LINEAR);
  const Tensor sum = graph.addVariable(FLOAT, {kBatch, kOut}, VariableMappingMethod::LINEAR);
  for (const Tensor &zeros : {weights, initial, sum})
    popops::zero(graph, zeros, prog);

  const LoopBodyType body = [](Graph &g, const TimeStepState &, const RnnBatchwiseFlags &,
                               std::vector<Tensor> &state, const RnnSlice &slice,
                               std::vector<Tensor> &temps, Sequence *, const DebugNameAndId &dnai) {
    Sequence step;
    const Tensor carried = state[0].squeeze({0});
    popops::addInPlace(g, carried, slice.inputs[0], step, {dnai, "carried"});
    temps.at(0) = popops::mul(g, carried, slice.interimIn.squeeze({0}), step, {dnai, "gradient"});
    return step;
  };
  std::vector<unsigned> asked;
  const GatherBodyType gather = [&](Graph &g, const RnnSlice &slice, unsigned steps, Sequence *,
                                    const DebugNameAndId &dnai) {
    Sequence several;
    asked.push_back(steps);
    poplin::matMulAcc(g, weights, 1.f, slice.inputs[0].transpose(), slice.outputs[0].flatten(0, 2),
                      several, {dnai, "weights"});
    for (unsigned t = 0; t < steps; ++t)
      popops::addInPlace(g, sum, slice.interimIn[t], several, {dnai, "sum"});
    return several;
  };
  OptionFlags options;
  const std::vector<Tensor> last =
      Rnn(graph, params, {initial}, StateSequence(), {gradient}, kept, 1, prog, body, {activity},
          gather, 1, stepsPerGather, options, "backward");

  for (const auto &[name, t] :
       {std::pair("activity", activity), {"gradient", gradient}, {"kept", kept}})
    graph.createHostWrite(name, t);
  for (const auto &[name, t] : {std::pair("weights", weights), {"last", last[0]}, {"sum", sum}})
    graph.createHostRead(name, t);
  Engine engine(graph, prog);
  engine.load(device);
  const auto write = [&](const char *name, std::size_t size, int begin) {
    std::vector<float> values(kSteps * kBatch * size);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(begin + static_cast<int>(i));
    engine.writeTensor(name, values.data(), values.data() + values.size());
  };
  write("activity", kIn, 1);
  write("gradient", kOut, -10);
  write("kept", kOut, 2);
  engine.run();
  for (const auto &[name, size] :
       {std::pair("weights", kIn * kOut), {"last", kBatch * kOut}, {"sum", kBatch * kOut}}) {
    std::vector<float> values(size);
    engine.readTensor(name, values.data(), values.data() + values.size());
    for (const float v : values)
      std::cout << v << ' ';
    std::cout << '\n';
  }
  for (const unsigned steps : asked)
    std::cout << steps << ' ';
  std::cout << '\n';
}
