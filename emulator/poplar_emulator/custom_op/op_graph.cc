#include "op_graph.h"

#include <algorithm>
#include <stdexcept>

#include <poputil/TileMapping.hpp>

#include "metadata_checks.h"

namespace custom_op {
namespace {

using namespace poplar;

void checkNumber(const std::string &name, std::size_t expected, std::size_t found) {
  if (found != expected)
    throw std::runtime_error("Instruction " + name + " has mismatched outputs number, expected: " +
                             std::to_string(expected) + ", returned: " + std::to_string(found));
}

/// Adds copies to the host of those results of a pass that have a buffer for their stream.
void addCopiesToHost(Graph &graph, program::Sequence &pass, const char *kind,
                     const std::string &name, const std::vector<Tensor> &results,
                     const std::vector<std::vector<char>> &streamed) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (streamed[i].empty())
      continue;
    const DataStream stream = graph.addDeviceToHostFIFO(handle(kind, i), results[i].elementType(),
                                                        results[i].numElements());
    pass.add(program::Copy(results[i], stream, false, name + std::to_string(i)));
  }
}

/// Builds the program of the gradient op, or of all gradient ops if each input has its own.
program::Program buildGradient(Graph &graph, const OpLibrary &library, const CustomOpCall &call,
                               CompiledOp &op, const std::vector<Tensor> &inputs,
                               const std::vector<Tensor> &outputs) {
  const std::string name = op.name + "_grad";
  if (outputs.empty())
    throw std::runtime_error(name + " has wrong gradient size: the op has no outputs");
  std::vector<Tensor> gradients, found;
  for (std::uint32_t i = 0; i < call.outputs; ++i) {
    const Value &value = op.outputs[i];
    gradients.push_back(graph.addVariable(value.type, value.shape, handle("gradient", i)));
    poputil::mapTensorLinearly(graph, gradients.back());
    graph.createHostWrite(handle("gradient", i), gradients.back());
  }
  // Orders the gradient op's inputs as TensorFlow does; the metadata counts them in that order.
  std::vector<Tensor> packed = gradients;
  packed.insert(packed.end(), outputs.begin(), outputs.end());
  packed.insert(packed.end(), inputs.begin(), inputs.end());
  const OpLibrary::Metadata &promised = library.gradientMetadata();
  program::Sequence all;
  const std::size_t calls = call.separate_gradients ? op.withGradients.size() : 1;
  for (std::size_t i = 0; i < calls; ++i) {
    std::vector<Tensor> made;
    const std::int64_t index = call.separate_gradients ? op.withGradients[i] : 0;
    all.add(library.gradient(graph, index, gradients, inputs, outputs, made,
                             call.gradient_attributes, name));
    checkNumber(name, call.separate_gradients ? 1 : op.withGradients.size(), made.size());
    checkMetadata(graph, name, promised, packed, made);
    found.insert(found.end(), made.begin(), made.end());
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    op.inputs.at(static_cast<std::size_t>(op.withGradients[i]))
        .check(found[i], "gradient " + std::to_string(i));
    graph.createHostRead(handle("found", i), found[i]);
  }
  addCopiesToHost(graph, all, "stream_gradient", "backward/to_host/", found, op.streamedGradients);
  return all;
}

} // namespace

std::vector<program::Program> buildGraph(Graph &graph, const OpLibrary &library,
                                         const CustomOpCall &call,
                                         const OpLibrary::Metadata &promised, CompiledOp &op) {
  std::vector<Tensor> inputs, outputs;
  const std::vector<std::int64_t> &allocating = promised.allocatingIndices;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    const Value &value = op.inputs[i];
    const std::string name = std::string(call.op_name) + ":" + std::to_string(i);
    if (std::count(allocating.begin(), allocating.end(), i)) {
      inputs.push_back(library.allocate(graph, i, value.shape, value.type, call.attributes, name));
      value.check(inputs.back(), "the allocator's input " + std::to_string(i));
    } else {
      inputs.push_back(graph.addVariable(value.type, value.shape, name));
      poputil::mapTensorLinearly(graph, inputs.back());
    }
    graph.createHostWrite(handle("input", i), inputs.back());
    graph.createHostRead(handle("input", i), inputs.back());
  }
  program::Sequence forward;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    if (op.streamed[i].empty())
      continue;
    const DataStream stream =
        graph.addHostToDeviceFIFO(handle("stream", i), op.inputs[i].type, inputs[i].numElements());
    forward.add(program::Copy(stream, inputs[i], false, "from_host/" + std::to_string(i)));
  }
  const program::Program own = library.build(graph, inputs, outputs, call.attributes, call.op_name);
  forward.add(own);
  checkNumber(op.name, call.outputs, outputs.size());
  for (std::uint32_t i = 0; i < call.outputs; ++i) {
    op.outputs[i].check(outputs[i], "output " + std::to_string(i));
    graph.createHostRead(handle("output", i), outputs[i]);
    if (!outputs[i].containsConstant())
      graph.createHostWrite(handle("output", i), outputs[i]);
    op.restored.push_back(!outputs[i].containsConstant());
  }
  checkMetadata(graph, op.name, promised, inputs, outputs);
  addCopiesToHost(graph, forward, "stream_output", "to_host/", outputs, op.streamedOutputs);
  std::vector<program::Program> programs;
  if (call.streamed || call.streamed_back)
    programs.push_back(forward);
  else
    programs.push_back(own);
  if (call.gradients)
    programs.push_back(buildGradient(graph, library, call, op, inputs, outputs));
  return programs;
}

} // namespace custom_op
