// A cumulative sum as a recurrent layer: prints the outputs, the states of all steps and the final
// state; forwards, or in reverse with the argument "reverse"; as many steps as a number says, or a
// number for each sample, or all.
#include <iostream>
#include <string>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <popnn/Rnn.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;
using namespace popnn::rnn;

int main(int argc, char **argv) {
  constexpr std::size_t kSteps = 3, kBatch = 2, kSize = 3;
  bool reverse = false;
  std::vector<unsigned> some;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "reverse")
      reverse = true;
    else
      some.push_back(static_cast<unsigned>(std::stoul(argv[i])));
  }
  IPUModel model;
  model.tilesPerIPU = 5;
  const Device device = model.createDevice();
  Graph graph(device);
  popops::addCodelets(graph);
  Sequence prog;

  RnnParams params(FLOAT, kBatch, kSteps, {kSize, kSize});
  if (!some.empty()) {
    const Tensor count =
        graph.addVariable(UNSIGNED_INT, {some.size()}, VariableMappingMethod::LINEAR);
    graph.setInitialValue(count, ArrayRef<unsigned>(some));
    params = RnnParams(FLOAT, kBatch, kSteps, count, {kSize, kSize});
  }
  const Tensor input = createInputTensor(graph, params, 1, "input");
  const Tensor output = createOutputTensor(graph, params, 1, "output");
  const Tensor states = createOutputTensor(graph, params, 1, "states");
  const Tensor initial = graph.addVariable(FLOAT, {kBatch, kSize}, VariableMappingMethod::LINEAR);
  graph.createHostWrite("input", input);
  graph.createHostWrite("initial", initial);

  const LoopBodyType body = [](Graph &g, const TimeStepState &time, const RnnBatchwiseFlags &flags,
                               std::vector<Tensor> &state, const RnnSlice &slice,
                               std::vector<Tensor> &, Sequence *, const DebugNameAndId &dnai) {
    Sequence step;
    const Tensor sum = state[0].squeeze({0});
    if (flags.valid())
      popops::mulInPlace(g, slice.inputs[0], flags.mask, step, {dnai, "masked"});
    popops::addInPlace(g, sum, slice.inputs[0], step, {dnai, "sum"});
    const Tensor t = popops::map(g, popops::expr::Cast(popops::expr::_1, FLOAT), {time.counter},
                                 step, {dnai, "time"});
    popops::mulWithOutput(g, sum, t, slice.outputs[0].squeeze({0}), step, {dnai, "scaled"});
    return step;
  };
  OptionFlags options;
  const std::vector<Tensor> last =
      Rnn(graph, params, reverse, {initial.expand({0})}, StateSequence{states, 0}, {input}, nullptr,
          nullptr, {output}, {}, prog, body, 1, options, "rnn");
  graph.createHostRead("output", output);
  graph.createHostRead("states", states);
  graph.createHostRead("last", last[0]);

  for (const Tensor &all : {output, states})
    graph.setInitialValue(all, 0.f);
  Engine engine(graph, prog);
  engine.load(device);
  std::vector<float> in(kSteps * kBatch * kSize), start(kBatch * kSize);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i);
  start[0] = 100;
  engine.writeTensor("input", in.data(), in.data() + in.size());
  engine.writeTensor("initial", start.data(), start.data() + start.size());
  engine.run();
  for (const char *name : {"output", "states", "last"}) {
    std::vector<float> values(name[0] == 'l' ? kBatch * kSize : in.size());
    engine.readTensor(name, values.data(), values.data() + values.size());
    for (const float v : values)
      std::cout << v << ' ';
    std::cout << '\n';
  }
}
