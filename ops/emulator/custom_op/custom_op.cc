#include "custom_op.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

#include "op_library.h"

namespace {

using namespace poplar;
using custom_op::OpLibrary;

struct Value {
  Type type;
  std::vector<std::size_t> shape;
  std::size_t bytes;
};

/// An engine with the op's program and its gradient's, and the handles of what goes in and out.
struct CompiledOp {
  std::unique_ptr<Engine> engine;
  std::vector<Value> inputs, outputs;
  std::vector<std::int64_t> withGradients;
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

std::unique_ptr<CompiledOp> compile(const CustomOpCall &call) {
  const OpLibrary library(call.library, call.op_name, call.api_level);
  auto devices = DeviceManager::createDeviceManager().getDevices(TargetType::IPU, call.ipus);
  if (devices.empty())
    throw std::runtime_error("there is no device of " + std::to_string(call.ipus) + " IPUs");
  const Device device = devices[0].createVirtualDevice(call.tiles_per_ipu);
  const Target &target = device.getTarget();
  Graph graph(target);
  popops::addCodelets(graph);
  popnn::addCodelets(graph);
  if (call.codelets && *call.codelets)
    graph.addCodelets(call.codelets);

  auto op = std::make_unique<CompiledOp>();
  std::vector<Tensor> inputs, outputs;
  const std::vector<std::int64_t> allocating = library.metadata(call.inputs).allocatingIndices;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    op->inputs.push_back(valueOf(target, call.input[i]));
    const Value &value = op->inputs.back();
    const std::string name = std::string(call.op_name) + ":" + std::to_string(i);
    if (std::count(allocating.begin(), allocating.end(), i)) {
      inputs.push_back(library.allocate(graph, i, value.shape, value.type, call.attributes, name));
      check(value, inputs.back(), "the allocator's input " + std::to_string(i));
    } else {
      inputs.push_back(graph.addVariable(value.type, value.shape, name));
      poputil::mapTensorLinearly(graph, inputs.back());
    }
    graph.createHostWrite(handle("input", i), inputs.back());
  }
  std::vector<program::Program> programs{
      library.build(graph, inputs, outputs, call.attributes, call.op_name)};
  if (outputs.size() != call.outputs)
    throw std::runtime_error(
        "Instruction " + std::string(call.op_name) + " has mismatched outputs number, expected: " +
        std::to_string(call.outputs) + ", returned: " + std::to_string(outputs.size()));
  for (std::uint32_t i = 0; i < call.outputs; ++i) {
    op->outputs.push_back(valueOf(target, call.output[i]));
    check(op->outputs.back(), outputs[i], "output " + std::to_string(i));
    graph.createHostRead(handle("output", i), outputs[i]);
  }
  if (call.gradients) {
    op->withGradients.assign(call.inputs_with_gradients,
                             call.inputs_with_gradients + call.gradients);
    std::vector<Tensor> gradients, found;
    for (std::uint32_t i = 0; i < call.outputs; ++i) {
      const Value &value = op->outputs[i];
      gradients.push_back(graph.addVariable(value.type, value.shape, handle("gradient", i)));
      poputil::mapTensorLinearly(graph, gradients.back());
      graph.createHostWrite(handle("gradient", i), gradients.back());
    }
    programs.push_back(library.gradient(graph, gradients, inputs, outputs, found,
                                        call.gradient_attributes,
                                        std::string(call.op_name) + "_grad"));
    if (found.size() != op->withGradients.size())
      throw std::runtime_error("Instruction " + std::string(call.op_name) +
                               "_grad has mismatched outputs number, expected: " +
                               std::to_string(op->withGradients.size()) +
                               ", returned: " + std::to_string(found.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      check(op->inputs.at(static_cast<std::size_t>(op->withGradients[i])), found[i],
            "gradient " + std::to_string(i));
      graph.createHostRead(handle("found", i), found[i]);
    }
  }
  op->engine = std::make_unique<Engine>(graph, programs, optionsOf(call.options));
  op->engine->load(device);
  return op;
}

void write(Engine &engine, const std::string &name, const void *data, const Value &value) {
  engine.writeTensor(name, data, static_cast<const char *>(data) + value.bytes);
}

void read(Engine &engine, const std::string &name, void *data, const Value &value) {
  engine.readTensor(name, data, static_cast<char *>(data) + value.bytes);
}

/// Words of an error as TensorFlow passes them on: the class, if Poplar has one, and what it says.
std::string wordsOf(const std::exception &error) {
  if (const auto *known = dynamic_cast<const poplar_error *>(&error))
    return known->type + ": " + known->what();
  return error.what();
}

template <typename Body> bool reported(const Body &body, char *message, std::size_t size) {
  try {
    body();
    return true;
  } catch (const std::exception &error) {
    std::strncpy(message, wordsOf(error).c_str(), size - 1);
    message[size - 1] = 0;
    return false;
  }
}

} // namespace

extern "C" {

void *ipulse_custom_op_compile(const CustomOpCall *call, char *message, size_t size) {
  std::unique_ptr<CompiledOp> op;
  reported([&] { op = compile(*call); }, message, size);
  return op.release();
}

int ipulse_custom_op_forward(void *compiled, const void *const *in, void *const *out, char *message,
                             size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      write(*op.engine, handle("input", i), in[i], op.inputs[i]);
    op.engine->run(0, "forward");
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      read(*op.engine, handle("output", i), out[i], op.outputs[i]);
  };
  return reported(body, message, size) ? 0 : 1;
}

int ipulse_custom_op_backward(void *compiled, const void *const *in, void *const *out,
                              char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] {
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      write(*op.engine, handle("gradient", i), in[i], op.outputs[i]);
    op.engine->run(1, "backward");
    for (std::size_t i = 0; i < op.withGradients.size(); ++i)
      read(*op.engine, handle("found", i), out[i],
           op.inputs.at(static_cast<std::size_t>(op.withGradients[i])));
  };
  return reported(body, message, size) ? 0 : 1;
}

char *ipulse_custom_op_profile(void *compiled) {
  std::ostringstream out;
  serializeToJSON(out, static_cast<CompiledOp *>(compiled)->engine->getProfile());
  return strdup(out.str().c_str());
}

void ipulse_custom_op_free_text(char *text) { std::free(text); }

void ipulse_custom_op_free(void *compiled) { delete static_cast<CompiledOp *>(compiled); }

} // extern "C"
