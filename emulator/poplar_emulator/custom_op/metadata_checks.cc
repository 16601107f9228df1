#include "metadata_checks.h"

#include <iostream>
#include <stdexcept>
#include <vector>

namespace custom_op {
namespace {

using poplar::Graph;
using poplar::Tensor;

/// The tile of every element, in the order of the flattened tensor.
std::vector<unsigned> tilesOf(const Graph &graph, const Tensor &t) {
  std::vector<unsigned> tiles(t.numElements());
  const auto mapping = graph.getTileMapping(t);
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &interval : mapping[tile])
      for (std::size_t i = interval.begin(); i < interval.end(); ++i)
        tiles[i] = tile;
  return tiles;
}

void checkIndex(const std::string &op, const char *field, std::int64_t index, std::size_t size,
                const char *of) {
  if (index < 0 || static_cast<std::size_t>(index) >= size)
    throw std::runtime_error(op + "_metadata: " + field + " has " + std::to_string(index) +
                             ", and the op has " + std::to_string(size) + " " + of);
}

/// Returns why is_elementwise does not hold, or "".
std::string notElementwise(const Graph &graph, const std::vector<Tensor> &inputs,
                           const std::vector<Tensor> &outputs) {
  if (inputs.empty() || outputs.empty())
    return std::string("the op has no ") + (inputs.empty() ? "input" : "output");
  const Tensor &in = inputs[0], &out = outputs[0];
  if (in.shape() != out.shape())
    return "it is " + out.shapeToString() + " where that is " + in.shapeToString();
  const std::vector<unsigned> expected = tilesOf(graph, in), found = tilesOf(graph, out);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != expected[i])
      return "element " + std::to_string(i) + " is on tile " + std::to_string(found[i]) +
             " where that is on tile " + std::to_string(expected[i]);
  return "";
}

} // namespace

void checkMetadata(const Graph &graph, const std::string &op, const OpLibrary::Metadata &promised,
                   const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs) {
  for (const std::int64_t index : promised.identicalOutputs)
    checkIndex(op, "replica_identical_output_indices", index, outputs.size(), "outputs");
  for (const auto &[input, output] : promised.aliasing) {
    checkIndex(op, "input_to_output_tensor_aliasing", input, inputs.size(), "inputs");
    checkIndex(op, "input_to_output_tensor_aliasing", output, outputs.size(), "outputs");
    if (outputs[static_cast<std::size_t>(output)] != inputs[static_cast<std::size_t>(input)])
      throw std::runtime_error(op +
                               "_metadata: input_to_output_tensor_aliasing promises that "
                               "output " +
                               std::to_string(output) + " is input " + std::to_string(input) +
                               " changed in place, and it is another tensor");
  }
  const std::string why = promised.isElementwise ? notElementwise(graph, inputs, outputs) : "";
  if (!why.empty())
    std::cerr << "warning: " << op
              << "_metadata: is_elementwise promises that output 0 has the shape and the tiles of "
                 "the first input, and "
              << why << "; TensorFlow may choose worse layouts\n";
}

} // namespace custom_op
