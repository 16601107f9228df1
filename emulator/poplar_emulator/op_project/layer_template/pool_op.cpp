// pool_op on the IPU: a spike where the weighted sum of `width` neighbouring spikes is above a
// threshold. The weights are trained.
//
// TensorFlow calls the functions with C names; docs.graphcore.ai describes them under "Custom
// operations". Change the codelets first, then reference.py, kernel.cpp and op.json.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

namespace {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Sequence;

/// Returns the attribute; the attributes are JSON without spaces.
unsigned widthOf(const std::string &attributes) {
  const std::string key = "\"width\":";
  const std::size_t found = attributes.find(key);
  if (found == std::string::npos)
    throw poputil::poplibs_error("pool_op needs the attribute width");
  return static_cast<unsigned>(std::atoi(attributes.c_str() + found + key.size()));
}

/// Returns the spikes as one row of `width` senders for each group.
Tensor groupsOf(const Tensor &spikes, unsigned width) {
  if (spikes.rank() != 3 || width == 0 || spikes.dim(2) % width != 0)
    throw poputil::poplibs_error("pool_op needs senders that the width divides");
  return spikes.reshape({spikes.numElements() / width, width});
}

/// Returns the weights of each group in `groupsOf`, which are the same at each step and sample.
Tensor gainsOf(const Tensor &gain, const Tensor &spikes, unsigned width) {
  const Tensor row = gain.reshape({1, gain.numElements() / width, width});
  const Tensor rows = row.broadcast(spikes.dim(0) * spikes.dim(1), 0);
  return rows.reshape({spikes.numElements() / width, width});
}

} // namespace

extern "C" {
std::int32_t custom_op_api_level = 5;
}

/// What TensorFlow may assume of the op. A wrong promise gives wrong results: `ipulse op check`
/// and `ipulse op test` verify most of them.
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
  isHashable = true; // programs with the op can be stored in the executable cache
}

extern "C" poplar::program::Program Build(Graph &graph, std::vector<Tensor> &inputs,
                                          std::vector<Tensor> &outputs,
                                          const std::string &attributes,
                                          const std::string &debugPrefix) {
  const unsigned width = widthOf(attributes);
  const Tensor groups = groupsOf(inputs[0], width);
  const Tensor gains = gainsOf(inputs[1], inputs[0], width);
  const Tensor pooled = graph.addVariable(
      poplar::FLOAT, {inputs[0].dim(0), inputs[0].dim(1), inputs[0].dim(2) / width},
      debugPrefix + "/pooled");
  poputil::mapTensorLinearly(graph, pooled);
  const Tensor flat = pooled.flatten();
  const poplar::ComputeSet cs = graph.addComputeSet(debugPrefix + "/pool");
  const auto mapping = graph.getTileMapping(flat);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    for (const poplar::Interval &part : mapping[tile]) {
      const poplar::VertexRef vertex = graph.addVertex(cs, "Pool");
      graph.connect(vertex["spikes"], groups.slice(part.begin(), part.end()).flatten());
      graph.connect(vertex["gain"], gains.slice(part.begin(), part.end()).flatten());
      graph.connect(vertex["pooled"], flat.slice(part));
      graph.setInitialValue(vertex["width"], width);
      graph.setTileMapping(vertex, tile);
    }
  }
  Sequence prog;
  prog.add(Execute(cs));
  outputs = {pooled};
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

/// The gradients of spikes and weights, given that of the output. `inputIndex` is the input if the
/// op is used with separate_gradients.
extern "C" poplar::program::Program
Build_grad(Graph &graph, std::int64_t inputIndex, const std::vector<Tensor> &gradients,
           const std::vector<Tensor> &forwardInputs, const std::vector<Tensor> &forwardOutputs,
           std::vector<Tensor> &outputs, const std::string &attributes,
           const std::string &debugPrefix) {
  (void)inputIndex;
  (void)forwardOutputs;
  const unsigned width = widthOf(attributes);
  const Tensor groups = groupsOf(forwardInputs[0], width);
  const Tensor gradient = gradients[0].flatten();
  const Tensor gains = gainsOf(forwardInputs[1], forwardInputs[0], width);
  const Tensor bySpikes =
      graph.addVariable(poplar::FLOAT, forwardInputs[0].shape(), debugPrefix + "/by_spikes");
  poputil::mapTensorLinearly(graph, bySpikes, width, width); // no group is on two tiles
  const Tensor byGain = graph.clone(bySpikes, debugPrefix + "/by_gain");
  const Tensor spikeRows = bySpikes.reshape(groups.shape());
  const Tensor gainRows = byGain.reshape(groups.shape());
  const poplar::ComputeSet cs = graph.addComputeSet(debugPrefix + "/pool_gradient");
  const auto mapping = graph.getTileMapping(bySpikes.flatten());
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    for (const poplar::Interval &part : mapping[tile]) {
      const std::size_t first = part.begin() / width, end = part.end() / width;
      const poplar::VertexRef vertex = graph.addVertex(cs, "PoolGradient");
      graph.connect(vertex["gradient"], gradient.slice(first, end));
      graph.connect(vertex["spikes"], groups.slice(first, end).flatten());
      graph.connect(vertex["gain"], gains.slice(first, end).flatten());
      graph.connect(vertex["bySpikes"], spikeRows.slice(first, end).flatten());
      graph.connect(vertex["byGain"], gainRows.slice(first, end).flatten());
      graph.setInitialValue(vertex["width"], width);
      graph.setTileMapping(vertex, tile);
    }
  }
  Sequence prog;
  prog.add(Execute(cs));
  // Summed over steps and samples.
  const Tensor sum =
      popops::reduce(graph, byGain, {0, 1}, popops::Operation::ADD, prog, debugPrefix + "/sum");
  outputs = {bySpikes, sum};
  return prog;
}
