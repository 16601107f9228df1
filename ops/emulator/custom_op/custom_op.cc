#include "custom_op.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>

#include "../src/machine.h"
#include "op_library.h"
#include "promises.h"

namespace {

using namespace poplar;
using custom_op::OpLibrary;

struct Value {
  Type type;
  std::vector<std::size_t> shape;
  std::size_t bytes;
};

/// The op's program and its gradient's, and the handles of what goes in and out.
struct CompiledOp {
  std::unique_ptr<Executable> executable; // until it is on a device
  std::unique_ptr<Engine> engine;         // from then on
  std::uint32_t ipus, tilesPerIpu;
  std::vector<Value> inputs, outputs;
  std::vector<std::int64_t> withGradients;
  std::string name;
  std::vector<bool> restored; // by output: it is no constant, which needs no restoring
  std::vector<bool> readOnly; // by input: no promise was made to write to it
  bool hasRun = false;
};

Type typeOf(const std::string &name) {
  for (const Type type :
       {FLOAT, HALF, INT, UNSIGNED_INT, SHORT, UNSIGNED_SHORT, BOOL, SIGNED_CHAR, UNSIGNED_CHAR})
    if (type.toString() == name)
      return type;
  throw std::invalid_argument("'" + name + "' is no type that TensorFlow hands to a custom op");
}

Value valueOf(const Target &target, const CustomOpTensor &given) {
  Value value{typeOf(given.type), {given.shape, given.shape + given.rank}, 0};
  value.bytes = target.getTypeSize(value.type);
  for (const std::size_t size : value.shape)
    value.bytes *= size;
  return value;
}

void check(const Value &expected, const Tensor &t, const std::string &what) {
  if (t.elementType() != expected.type || t.shape() != expected.shape) {
    std::string words;
    for (const std::size_t size : expected.shape)
      words += (words.empty() ? "" : ",") + std::to_string(size);
    throw std::runtime_error(what + " is " + t.elementType().toString() + " " + t.shapeToString() +
                             ", expected: " + expected.type.toString() + " {" + words + "}");
  }
}

std::string handle(const char *kind, std::size_t i) { return kind + std::to_string(i); }

OptionFlags optionsOf(const char *lines) {
  OptionFlags options;
  std::istringstream in(lines ? lines : "");
  for (std::string line; std::getline(in, line);)
    options.set(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  return options;
}

void checkNumber(const std::string &name, std::size_t expected, std::size_t found) {
  if (found != expected)
    throw std::runtime_error("Instruction " + name + " has mismatched outputs number, expected: " +
                             std::to_string(expected) + ", returned: " + std::to_string(found));
}

/// The gradient op's program, or those of all of them where each input has one of its own.
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
  // As TensorFlow packs the gradient op's inputs, which its metadata count.
  std::vector<Tensor> packed = gradients;
  packed.insert(packed.end(), outputs.begin(), outputs.end());
  packed.insert(packed.end(), inputs.begin(), inputs.end());
  const auto promised = library.gradientMetadata(static_cast<std::uint32_t>(packed.size()));
  program::Sequence all;
  const std::size_t calls = call.separate_gradients ? op.withGradients.size() : 1;
  for (std::size_t i = 0; i < calls; ++i) {
    std::vector<Tensor> made;
    const std::int64_t index = call.separate_gradients ? op.withGradients[i] : 0;
    all.add(library.gradient(graph, index, gradients, inputs, outputs, made,
                             call.gradient_attributes, name));
    checkNumber(name, call.separate_gradients ? 1 : op.withGradients.size(), made.size());
    checkPromises(graph, name, promised, packed, made);
    found.insert(found.end(), made.begin(), made.end());
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    check(op.inputs.at(static_cast<std::size_t>(op.withGradients[i])), found[i],
          "gradient " + std::to_string(i));
    graph.createHostRead(handle("found", i), found[i]);
  }
  return all;
}

/// All that is known of the op without building it.
std::unique_ptr<CompiledOp> describe(const CustomOpCall &call, const Target &target,
                                     const OpLibrary::Metadata &promised) {
  auto op = std::make_unique<CompiledOp>();
  op->ipus = call.ipus;
  op->tilesPerIpu = call.tiles_per_ipu;
  op->name = call.op_name;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    op->inputs.push_back(valueOf(target, call.input[i]));
    op->readOnly.push_back(!promised.aliasing.count(i));
  }
  for (std::uint32_t i = 0; i < call.outputs; ++i)
    op->outputs.push_back(valueOf(target, call.output[i]));
  op->withGradients.assign(call.inputs_with_gradients, call.inputs_with_gradients + call.gradients);
  return op;
}

Target targetOf(const CustomOpCall &call) {
  return Target::createIPUTarget(call.ipus, emulator::archOfThisHost())
      .createVirtualTarget(call.ipus, call.tiles_per_ipu);
}

std::unique_ptr<CompiledOp> compile(const CustomOpCall &call) {
  const OpLibrary library(call.library, call.op_name, call.api_level);
  const Target target = targetOf(call);
  Graph graph(target);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  popops::addCodelets(graph);
  poprand::addCodelets(graph);
  if (call.codelets && *call.codelets)
    graph.addCodelets(call.codelets);

  const OpLibrary::Metadata promised = library.metadata(call.inputs);
  std::unique_ptr<CompiledOp> op = describe(call, target, promised);
  std::vector<Tensor> inputs, outputs;
  const std::vector<std::int64_t> &allocating = promised.allocatingIndices;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    const Value &value = op->inputs[i];
    const std::string name = std::string(call.op_name) + ":" + std::to_string(i);
    if (std::count(allocating.begin(), allocating.end(), i)) {
      inputs.push_back(library.allocate(graph, i, value.shape, value.type, call.attributes, name));
      check(value, inputs.back(), "the allocator's input " + std::to_string(i));
    } else {
      inputs.push_back(graph.addVariable(value.type, value.shape, name));
      poputil::mapTensorLinearly(graph, inputs.back());
    }
    graph.createHostWrite(handle("input", i), inputs.back());
    graph.createHostRead(handle("input", i), inputs.back());
  }
  std::vector<program::Program> programs{
      library.build(graph, inputs, outputs, call.attributes, call.op_name)};
  checkNumber(op->name, call.outputs, outputs.size());
  for (std::uint32_t i = 0; i < call.outputs; ++i) {
    check(op->outputs[i], outputs[i], "output " + std::to_string(i));
    graph.createHostRead(handle("output", i), outputs[i]);
    if (!outputs[i].containsConstant())
      graph.createHostWrite(handle("output", i), outputs[i]);
    op->restored.push_back(!outputs[i].containsConstant());
  }
  checkPromises(graph, op->name, promised, inputs, outputs);
  if (call.gradients)
    programs.push_back(buildGradient(graph, library, call, *op, inputs, outputs));
  const ProgressFunc progress = call.progress ? ProgressFunc(call.progress) : ProgressFunc();
  op->executable = std::make_unique<Executable>(
      compileGraph(graph, programs, optionsOf(call.options), progress));
  return op;
}

bool isHashable(const CustomOpCall &call) {
  const OpLibrary library(call.library, call.op_name, call.api_level);
  return library.metadata(call.inputs).isHashable &&
         (!call.gradients || library.gradientMetadata(call.inputs + 2 * call.outputs).isHashable);
}

/// A byte for each output, then the executable.
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
  const OpLibrary library(call.library, call.op_name, call.api_level);
  std::unique_ptr<CompiledOp> op = describe(call, targetOf(call), library.metadata(call.inputs));
  std::istringstream in(bytes);
  for (std::uint32_t i = 0; i < call.outputs; ++i)
    op->restored.push_back(in.get() == 1);
  op->executable = std::make_unique<Executable>(Executable::deserialize(in));
  return op;
}

Engine &onDevice(CompiledOp &op) {
  if (!op.engine) {
    auto devices = DeviceManager::createDeviceManager().getDevices(TargetType::IPU, op.ipus);
    if (devices.empty())
      throw std::runtime_error("there is no device of " + std::to_string(op.ipus) + " IPUs");
    auto engine = std::make_unique<Engine>(std::move(*op.executable));
    op.executable.reset();
    engine->load(devices[0].createVirtualDevice(op.tilesPerIpu));
    op.engine = std::move(engine);
  }
  return *op.engine;
}

void write(Engine &engine, const std::string &name, const void *data, const Value &value) {
  engine.writeTensor(name, data, static_cast<const char *>(data) + value.bytes);
}

void read(Engine &engine, const std::string &name, void *data, const Value &value) {
  engine.readTensor(name, data, static_cast<char *>(data) + value.bytes);
}

/// An input that the op writes to, unannounced, would be another op's, too.
void checkInputsAreKept(CompiledOp &op, const void *const *in) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.readOnly[i])
      continue;
    std::vector<char> now(op.inputs[i].bytes);
    read(*op.engine, handle("input", i), now.data(), op.inputs[i]);
    if (std::memcmp(now.data(), in[i], now.size()))
      throw std::runtime_error(op.name + " writes to its input " + std::to_string(i) + ", which " +
                               op.name +
                               "_metadata does not say: set "
                               "input_to_output_tensor_aliasing and return it as an output");
  }
}

/// Words of an error as TensorFlow passes them on: for those of Poplar what it was doing, the class
/// and, of errors that a reset cures, which one.
std::string wordsOf(const std::exception &error, const char *doing) {
  const auto *known = dynamic_cast<const poplar_error *>(&error);
  if (!known)
    return error.what();
  std::string words = "[Poplar][" + std::string(doing) + "] " + known->type + ": ";
  if (const auto *curable = dynamic_cast<const recoverable_runtime_error *>(&error))
    words += "[Recovery action: " + toString(curable->getRecoveryAction()) + "] ";
  if (dynamic_cast<const application_runtime_error *>(&error))
    words += "[Recovery action: IPU_RESET] ";
  return words + known->what();
}

template <typename Body>
bool reported(const Body &body, const char *doing, char *message, std::size_t size) {
  try {
    body();
    return true;
  } catch (const std::exception &error) {
    std::strncpy(message, wordsOf(error, doing).c_str(), size - 1);
    message[size - 1] = 0;
    return false;
  }
}

} // namespace

extern "C" {

void *ipulse_custom_op_compile(const CustomOpCall *call, char *message, size_t size) {
  std::unique_ptr<CompiledOp> op;
  reported([&] { op = compile(*call); }, "Compile engine", message, size);
  return op.release();
}

int ipulse_custom_op_hashable(const CustomOpCall *call, char *message, size_t size) {
  bool hashable = false;
  const auto body = [&] { hashable = isHashable(*call); };
  return reported(body, "Compile engine", message, size) ? hashable : -1;
}

char *ipulse_custom_op_serialize(void *compiled, size_t *bytes, char *message, size_t size) {
  char *copy = nullptr;
  const auto body = [&] {
    const std::string text = serialize(*static_cast<CompiledOp *>(compiled));
    copy = static_cast<char *>(std::malloc(text.size()));
    if (!copy)
      throw std::bad_alloc();
    std::memcpy(copy, text.data(), text.size());
    *bytes = text.size();
  };
  reported(body, "Serialize", message, size);
  return copy;
}

void *ipulse_custom_op_deserialize(const CustomOpCall *call, const char *executable, size_t bytes,
                                   char *message, size_t size) {
  std::unique_ptr<CompiledOp> op;
  const auto body = [&] { op = deserialize(*call, std::string(executable, bytes)); };
  reported(body, "Load engine", message, size);
  return op.release();
}

int ipulse_custom_op_load(void *compiled, char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  return reported([&] { onDevice(op); }, "Load engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_forward(void *compiled, const void *const *in, void *const *out, char *message,
                             size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      write(onDevice(op), handle("input", i), in[i], op.inputs[i]);
    onDevice(op).run(0, "forward");
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      read(onDevice(op), handle("output", i), out[i], op.outputs[i]);
    if (!op.hasRun)
      checkInputsAreKept(op, in);
    op.hasRun = true;
  };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_restore(void *compiled, const void *const *inputs, const void *const *outputs,
                             char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      write(onDevice(op), handle("input", i), inputs[i], op.inputs[i]);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      if (op.restored[i])
        write(onDevice(op), handle("output", i), outputs[i], op.outputs[i]);
  };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_backward(void *compiled, const void *const *in, void *const *out,
                              char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] {
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      write(onDevice(op), handle("gradient", i), in[i], op.outputs[i]);
    onDevice(op).run(1, "backward");
    for (std::size_t i = 0; i < op.withGradients.size(); ++i)
      read(onDevice(op), handle("found", i), out[i],
           op.inputs.at(static_cast<std::size_t>(op.withGradients[i])));
  };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

char *ipulse_custom_op_profile(void *compiled) {
  const auto &op = *static_cast<CompiledOp *>(compiled);
  if (!op.engine)
    return nullptr;
  std::ostringstream out;
  serializeToJSON(out, op.engine->getProfile());
  return strdup(out.str().c_str());
}

void ipulse_custom_op_free_text(char *text) { std::free(text); }

void ipulse_custom_op_free(void *compiled) { delete static_cast<CompiledOp *>(compiled); }

} // extern "C"
