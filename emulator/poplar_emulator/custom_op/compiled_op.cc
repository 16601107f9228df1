#include "compiled_op.h"

#include <sstream>
#include <stdexcept>

#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>
#include <poprand/codelets.hpp>

#include "device/machine.h"
#include "op_graph.h"

namespace custom_op {
namespace {

using namespace poplar;

OptionFlags optionsOf(const char *lines) {
  OptionFlags options;
  std::istringstream in(lines ? lines : "");
  for (std::string line; std::getline(in, line);)
    options.set(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  return options;
}

Target targetOf(const CustomOpCall &call) {
  return Target::createIPUTarget(call.ipus, emulator::archOfThisHost())
      .createVirtualTarget(call.ipus, call.tiles_per_ipu);
}

OpLibrary libraryOf(const CustomOpCall &call) {
  return OpLibrary(call.library, call.op_name, call.api_level, call.inputs,
                   call.gradients ? call.inputs + 2 * call.outputs : 0);
}

} // namespace

std::string handle(const char *kind, std::size_t i) { return kind + std::to_string(i); }

std::unique_ptr<CompiledOp> describe(const CustomOpCall &call,
                                     const OpLibrary::Metadata &promised) {
  const Target target = targetOf(call);
  auto op = std::make_unique<CompiledOp>();
  op->ipus = call.ipus;
  op->tilesPerIpu = call.tiles_per_ipu;
  op->name = call.op_name;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    op->inputs.push_back(Value::of(target, call.input[i]));
    op->readOnly.push_back(!promised.aliasing.count(i));
  }
  op->streamed.resize(call.inputs);
  for (std::uint32_t i = 0; i < call.streamed; ++i) {
    const std::uint32_t input = call.streamed_inputs[i];
    op->streamed.at(input).resize(op->inputs.at(input).bytes);
  }
  for (std::uint32_t i = 0; i < call.outputs; ++i)
    op->outputs.push_back(Value::of(target, call.output[i]));
  op->withGradients.assign(call.inputs_with_gradients, call.inputs_with_gradients + call.gradients);
  op->streamedOutputs.resize(call.outputs);
  for (std::uint32_t i = 0; i < call.streamed_back; ++i) {
    const std::uint32_t output = call.streamed_outputs[i];
    op->streamedOutputs.at(output).resize(op->outputs.at(output).bytes);
  }
  op->streamedGradients.resize(call.gradients);
  for (std::uint32_t i = 0; call.streamed_back && i < call.gradients; ++i) {
    const std::int64_t input = op->withGradients[i];
    op->streamedGradients[i].resize(op->inputs.at(static_cast<std::size_t>(input)).bytes);
  }
  return op;
}

std::unique_ptr<CompiledOp> compile(const CustomOpCall &call, const char *&doing) {
  doing = "Build graph";
  const OpLibrary library = libraryOf(call);
  Graph graph(targetOf(call));
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  popops::addCodelets(graph);
  poprand::addCodelets(graph);
  if (call.codelets && *call.codelets)
    graph.addCodelets(call.codelets);

  const OpLibrary::Metadata &promised = library.metadata();
  std::unique_ptr<CompiledOp> op = describe(call, promised);
  const std::vector<program::Program> programs = buildGraph(graph, library, call, promised, *op);
  doing = "Compile engine";
  const ProgressFunc progress = call.progress ? ProgressFunc(call.progress) : ProgressFunc();
  op->executable = std::make_unique<Executable>(
      compileGraph(graph, programs, optionsOf(call.options), progress));
  return op;
}

bool isHashable(const CustomOpCall &call) {
  const OpLibrary library = libraryOf(call);
  return library.metadata().isHashable &&
         (!call.gradients || library.gradientMetadata().isHashable);
}

std::string serialize(const CompiledOp &op) {
  if (!op.executable)
    throw std::runtime_error("the op is on a device already");
  std::ostringstream out;
  for (const bool restored : op.restored)
    out.put(restored ? 1 : 0);
  op.executable->serialize(out);
  return out.str();
}

std::unique_ptr<CompiledOp> deserialize(const CustomOpCall &call, const std::string &bytes) {
  const OpLibrary library = libraryOf(call);
  std::unique_ptr<CompiledOp> op = describe(call, library.metadata());
  std::istringstream in(bytes);
  for (std::uint32_t i = 0; i < call.outputs; ++i)
    op->restored.push_back(in.get() == 1);
  op->executable = std::make_unique<Executable>(Executable::deserialize(in));
  return op;
}

} // namespace custom_op
