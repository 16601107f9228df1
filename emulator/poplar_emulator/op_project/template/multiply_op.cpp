// multiply_op on the IPU: the product of two tensors of equal shape, element by element.
//
// TensorFlow calls the functions with C names; docs.graphcore.ai describes them under "Custom
// operations". Change `multiply` and the codelet first, then reference.py and op.json.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <poputil/exceptions.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

namespace {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Sequence;

/// Adds a step that stores a * b. The product is on the tiles of a, and so are the vertices.
Tensor multiply(Graph &graph, Sequence &prog, const Tensor &a, const Tensor &b,
                const std::string &name) {
  const Tensor product = graph.clone(a, name + "/product");
  const Tensor flatA = a.flatten(), flatB = b.flatten(), flatProduct = product.flatten();
  const poplar::ComputeSet cs = graph.addComputeSet(name + "/multiply");
  const auto mapping = graph.getTileMapping(flatA);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const poplar::VertexRef vertex = graph.addVertex(cs, "Multiply");
    graph.connect(vertex["a"], poplar::concat(flatA.slices(mapping[tile])));
    graph.connect(vertex["b"], poplar::concat(flatB.slices(mapping[tile])));
    graph.connect(vertex["product"], poplar::concat(flatProduct.slices(mapping[tile])));
    graph.setTileMapping(vertex, tile);
  }
  prog.add(Execute(cs));
  return product;
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
  isElementwise = true;
  isStateless = true;
  isHashable = true; // programs with the op can be stored in the executable cache
}

extern "C" poplar::program::Program Build(Graph &graph, std::vector<Tensor> &inputs,
                                          std::vector<Tensor> &outputs,
                                          const std::string &attributes,
                                          const std::string &debugPrefix) {
  (void)attributes;
  if (inputs.size() != 2 || inputs[0].shape() != inputs[1].shape())
    throw poputil::poplibs_error("multiply_op needs two inputs of equal shape");
  Sequence prog;
  outputs = {multiply(graph, prog, inputs[0], inputs[1], debugPrefix)};
  return prog;
}

extern "C" void Build_grad_metadata(std::vector<std::int64_t> &allocatingIndices,
                                    std::vector<std::int64_t> &replicaIdenticalOutputIndices,
                                    std::map<std::int64_t, std::int64_t> &aliasing,
                                    bool &isElementwise, bool &isStateless, bool &isHashable,
                                    std::uint32_t numInputs) {
  Build_metadata(allocatingIndices, replicaIdenticalOutputIndices, aliasing, isElementwise,
                 isStateless, isHashable, numInputs);
  isElementwise = false;
}

/// The gradients of all inputs, given that of the output. `inputIndex` is the input if the op is
/// used with separate_gradients.
extern "C" poplar::program::Program
Build_grad(Graph &graph, std::int64_t inputIndex, const std::vector<Tensor> &gradients,
           const std::vector<Tensor> &forwardInputs, const std::vector<Tensor> &forwardOutputs,
           std::vector<Tensor> &outputs, const std::string &attributes,
           const std::string &debugPrefix) {
  (void)inputIndex;
  (void)forwardOutputs;
  (void)attributes;
  Sequence prog;
  outputs = {multiply(graph, prog, gradients[0], forwardInputs[1], debugPrefix + "/grad_x"),
             multiply(graph, prog, gradients[0], forwardInputs[0], debugPrefix + "/grad_y")};
  return prog;
}
