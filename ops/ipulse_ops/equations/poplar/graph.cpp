// The graph of a layer with equations.
//
// Inputs: current [steps][batch][neurons], parameters [batch][parameters][neurons], and in a
// recurrent layer its weights [neurons][neurons], or a kernel. Outputs: x [steps][batch][neurons],
// states [steps + 1][batch][states][neurons], and in a recurrent layer the total current, as
// current.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

namespace {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Sequence;

constexpr std::size_t kStates = /*STATES*/;
constexpr bool kRecurrent = /*RECURRENT*/;

/// Some neurons of one sample, and their tile.
struct Block {
  std::size_t sample, begin, end;
  unsigned tile;
};

std::vector<Block> blocksOf(const Graph &graph, std::size_t batch, std::size_t neurons) {
  const std::size_t tiles = graph.getTarget().getNumTiles();
  const std::size_t most = kRecurrent ? 1 : neurons; // neurons that send to each other share a tile
  const std::size_t parts = std::max<std::size_t>(1, std::min(most, tiles / batch));
  std::vector<Block> blocks;
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t part = 0; part < parts; ++part)
      blocks.push_back({sample, part * neurons / parts, (part + 1) * neurons / parts,
                        static_cast<unsigned>((sample * parts + part) % tiles)});
  return blocks;
}

/// Returns what a block has of a tensor [steps][batch]...[neurons].
Tensor ofSample(const Tensor &tensor, const Block &block) {
  const Tensor sample = tensor.slice(block.sample, block.sample + 1, 1);
  return sample.slice(block.begin, block.end, static_cast<unsigned>(sample.rank()) - 1);
}

/// Returns what a block has of a tensor [batch][rows][neurons].
Tensor ofRows(const Tensor &tensor, const Block &block) {
  return tensor.slice(block.sample, block.sample + 1, 0).slice(block.begin, block.end, 2);
}

} // namespace

extern "C" {
std::int32_t custom_op_api_level = 5;
}

extern "C" void Build_metadata(std::vector<std::int64_t> &allocatingIndices,
                               std::vector<std::int64_t> &replicaIdenticalOutputIndices,
                               std::map<std::int64_t, std::int64_t> &aliasing, bool &isElementwise,
                               bool &isStateless, bool &isHashable, std::uint32_t numInputs) {
  (void)numInputs;
  allocatingIndices.clear();
  replicaIdenticalOutputIndices.clear();
  aliasing.clear();
  isElementwise = false;
  isStateless = true;
  isHashable = true;
}

extern "C" poplar::program::Program Build(Graph &graph, std::vector<Tensor> &inputs,
                                          std::vector<Tensor> &outputs,
                                          const std::string &attributes,
                                          const std::string &debugPrefix) {
  (void)attributes;
  const Tensor &current = inputs[0], &parameters = inputs[1];
  const std::size_t steps = current.dim(0), batch = current.dim(1), neurons = current.dim(2);
  const Tensor x =
      graph.addVariable(poplar::FLOAT, {steps, batch, neurons}, debugPrefix + "/spike_value");
  const Tensor states = graph.addVariable(poplar::FLOAT, {steps + 1, batch, kStates, neurons},
                                          debugPrefix + "/states");
  const Tensor total =
      kRecurrent ? graph.addVariable(poplar::FLOAT, current.shape(), debugPrefix + "/total_current")
                 : Tensor();
  const poplar::ComputeSet cs = graph.addComputeSet(debugPrefix + "/equations");
  for (const Block &block : blocksOf(graph, batch, neurons)) {
    const poplar::VertexRef vertex = graph.addVertex(cs, "EquationsForward");
    graph.connect(vertex["current"], ofSample(current, block).flatten());
    graph.connect(vertex["parameters"], ofRows(parameters, block).flatten());
    graph.connect(vertex["x"], ofSample(x, block).flatten());
    graph.connect(vertex["states"], ofSample(states, block).flatten());
    graph.setInitialValue(vertex["steps"], static_cast<unsigned>(steps));
    graph.setInitialValue(vertex["neurons"], static_cast<unsigned>(block.end - block.begin));
    graph.setTileMapping(vertex, block.tile);
    graph.setTileMapping(ofSample(x, block), block.tile);
    if (kRecurrent) {
      graph.connect(vertex["recurrent"], inputs[2].flatten());
      graph.connect(vertex["total"], ofSample(total, block).flatten());
      graph.setTileMapping(ofSample(total, block), block.tile);
    }
    graph.setTileMapping(ofSample(states, block), block.tile);
  }
  Sequence prog;
  prog.add(Execute(cs));
  outputs = {x, states};
  if (kRecurrent)
    outputs.push_back(total);
  return prog;
}

extern "C" void Build_grad_metadata(std::vector<std::int64_t> &allocatingIndices,
                                    std::vector<std::int64_t> &replicaIdenticalOutputIndices,
                                    std::map<std::int64_t, std::int64_t> &aliasing,
                                    bool &isElementwise, bool &isStateless, bool &isHashable,
                                    std::uint32_t numInputs) {
  Build_metadata(allocatingIndices, replicaIdenticalOutputIndices, aliasing, isElementwise,
                 isStateless, isHashable, numInputs);
}

/// The gradients of both inputs. gradients[0] is that of the spikes; that of the states is unused.
extern "C" poplar::program::Program
Build_grad(Graph &graph, std::int64_t inputIndex, const std::vector<Tensor> &gradients,
           const std::vector<Tensor> &forwardInputs, const std::vector<Tensor> &forwardOutputs,
           std::vector<Tensor> &outputs, const std::string &attributes,
           const std::string &debugPrefix) {
  (void)inputIndex;
  (void)attributes;
  const Tensor &current = kRecurrent ? forwardOutputs[2] : forwardInputs[0];
  const Tensor &parameters = forwardInputs[1];
  const std::size_t batch = current.dim(1), neurons = current.dim(2);
  const Tensor byCurrent =
      graph.addVariable(poplar::FLOAT, current.shape(), debugPrefix + "/by_current");
  const Tensor byParameters =
      graph.addVariable(poplar::FLOAT, parameters.shape(), debugPrefix + "/by_parameters");
  const Tensor carry =
      graph.addVariable(poplar::FLOAT, {batch, kStates, neurons}, debugPrefix + "/carry");
  const Tensor received =
      kRecurrent ? graph.addVariable(poplar::FLOAT, {1, batch, neurons}, debugPrefix + "/received")
                 : Tensor();
  const poplar::ComputeSet cs = graph.addComputeSet(debugPrefix + "/equations_gradient");
  for (const Block &block : blocksOf(graph, batch, neurons)) {
    const poplar::VertexRef vertex = graph.addVertex(cs, "EquationsBackward");
    graph.connect(vertex["current"], ofSample(current, block).flatten());
    graph.connect(vertex["parameters"], ofRows(parameters, block).flatten());
    graph.connect(vertex["states"], ofSample(forwardOutputs[1], block).flatten());
    graph.connect(vertex["bySpikes"], ofSample(gradients[0], block).flatten());
    graph.connect(vertex["byCurrent"], ofSample(byCurrent, block).flatten());
    graph.connect(vertex["byParameters"], ofRows(byParameters, block).flatten());
    graph.connect(vertex["carry"], ofRows(carry, block).flatten());
    graph.setInitialValue(vertex["steps"], static_cast<unsigned>(current.dim(0)));
    graph.setInitialValue(vertex["neurons"], static_cast<unsigned>(block.end - block.begin));
    graph.setTileMapping(vertex, block.tile);
    graph.setTileMapping(ofSample(byCurrent, block), block.tile);
    graph.setTileMapping(ofRows(byParameters, block), block.tile);
    graph.setTileMapping(ofRows(carry, block), block.tile);
    if (kRecurrent) {
      graph.connect(vertex["recurrent"], forwardInputs[2].flatten());
      graph.connect(vertex["received"], ofSample(received, block).flatten());
      graph.setTileMapping(ofSample(received, block), block.tile);
    }
  }
  Sequence prog;
  prog.add(Execute(cs));
  outputs = {byCurrent, byParameters};
  return prog;
}
