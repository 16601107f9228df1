// A TensorFlow op with an allocator and a gradient: rotates points by angles, and adds.
#include <iostream>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's contract
#endif
extern "C" {
int32_t custom_op_api_level = 5;
}
extern "C" void
Build_metadata(std::vector<std::int64_t> &allocating_indices,
               std::vector<std::int64_t> &replica_identical_output_indices,
               std::map<std::int64_t, std::int64_t> &input_to_output_tensor_aliasing,
               bool &is_elementwise, bool &is_stateless, bool &is_hashable,
               std::uint32_t num_inputs) {
  allocating_indices.clear();
  is_elementwise = true;
  is_hashable = true;
  (void)is_stateless;
  (void)num_inputs;
  (void)replica_identical_output_indices;
  (void)input_to_output_tensor_aliasing;
}
extern "C" poplar::Tensor Build_allocator(poplar::Graph &graph, std::uint32_t operand,
                                          const std::vector<size_t> &shape, poplar::Type type,
                                          const std::string &attributes,
                                          const std::string &debug_prefix) {
  (void)operand;
  (void)attributes;
  auto t = graph.addVariable(type, shape, debug_prefix);
  poputil::mapTensorLinearly(graph, t);
  return t;
}
extern "C" poplar::program::Program Build(poplar::Graph &graph, std::vector<poplar::Tensor> &inputs,
                                          std::vector<poplar::Tensor> &outputs,
                                          const std::string &attributes,
                                          const std::string &debugPrefix) {
  (void)attributes;
  if (inputs.size() != 4)
    throw poputil::poplibs_error("Rotate requires 4 inputs");
  if (inputs[0].rank() != 1 || inputs[0].shape() != inputs[1].shape())
    throw poputil::poplibs_error("vectors");
  auto dType = inputs[0].elementType();
  outputs.resize(2);
  outputs[0] = graph.clone(inputs[0]);
  outputs[1] = graph.clone(inputs[1]);
  auto target = graph.getTarget();
  const auto numTiles = target.getNumTiles();
  auto cs = graph.addComputeSet(debugPrefix + "/rotate");
  auto tileMapping = graph.getTileMapping(inputs[0]);
  auto xOut = outputs[0].flatten(), yOut = outputs[1].flatten();
  auto xIn = inputs[0].flatten(), yIn = inputs[1].flatten(), angle = inputs[2].flatten();
  const auto vectorWidth = target.getVectorWidth(dType);
  for (unsigned tile = 0; tile != numTiles; ++tile) {
    const auto tileContiguousRegions = graph.getSortedContiguousRegions(xOut, tileMapping[tile]);
    for (const auto &contiguous : tileContiguousRegions) {
      auto vertexRegions =
          poputil::splitRegionsBetweenWorkers(target, contiguous, vectorWidth, 2 * vectorWidth);
      for (const auto &regions : vertexRegions) {
        auto v = graph.addVertex(cs, poputil::templateVertex("Rotate", dType),
                                 {{"x_out", concat(xOut.slices(regions))},
                                  {"y_out", poplar::concat(yOut.slices(regions))},
                                  {"x_in", poplar::concat(xIn.slices(regions))},
                                  {"y_in", poplar::concat(yIn.slices(regions))},
                                  {"angle", poplar::concat(angle.slices(regions))}});
        graph.setTileMapping(v, tile);
        graph.setPerfEstimate(v, 1);
      }
    }
  }
  poplar::program::Sequence seq;
  seq.add(poplar::program::Execute(cs));
  popops::scaledAddTo(graph, outputs[0], inputs[3], 1.0f, seq, debugPrefix + "/add");
  return seq;
}
extern "C" poplar::program::Program
Build_grad(poplar::Graph &graph, int input_grad_index, const std::vector<poplar::Tensor> &gradients,
           const std::vector<poplar::Tensor> &fwd_inputs,
           const std::vector<poplar::Tensor> &fwd_outputs, std::vector<poplar::Tensor> &outputs,
           const std::string &attributes, const std::string &debugPrefix) {
  poplar::program::Sequence seq({}, debugPrefix);
  (void)input_grad_index;
  (void)fwd_outputs;
  (void)attributes;
  (void)fwd_inputs;
  outputs.push_back(popops::neg(graph, gradients[0], seq, debugPrefix));
  return seq;
}
