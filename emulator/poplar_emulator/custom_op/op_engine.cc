#include "op_engine.h"

#include <cstring>
#include <stdexcept>

#include <poplar/DeviceManager.hpp>

namespace custom_op {

using namespace poplar;

namespace {

void write(Engine &engine, const std::string &name, const void *data, const Value &value) {
  engine.writeTensor(name, data, static_cast<const char *>(data) + value.bytes);
}

void read(Engine &engine, const std::string &name, void *data, const Value &value) {
  engine.readTensor(name, data, static_cast<char *>(data) + value.bytes);
}

void connect(Engine &engine, const char *kind, std::vector<std::vector<char>> &streamed) {
  for (std::size_t i = 0; i < streamed.size(); ++i)
    if (!streamed[i].empty())
      engine.connectStream(handle(kind, i), streamed[i].data());
}

/// Gives the i-th result of a pass, from its stream if it has one.
void give(Engine &engine, const char *kind, std::size_t i, const std::vector<char> &streamed,
          void *data, const Value &value) {
  if (streamed.empty())
    read(engine, handle(kind, i), data, value);
  else
    std::memcpy(data, streamed.data(), streamed.size());
}

/// An undeclared write to an input would change the input of another op, too.
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

} // namespace

Engine &onDevice(CompiledOp &op) {
  if (!op.engine) {
    auto devices = DeviceManager::createDeviceManager().getDevices(TargetType::IPU, op.ipus);
    if (devices.empty())
      throw std::runtime_error("there is no device of " + std::to_string(op.ipus) + " IPUs");
    auto engine = std::make_unique<Engine>(std::move(*op.executable));
    op.executable.reset();
    connect(*engine, "stream", op.streamed);
    connect(*engine, "stream_output", op.streamedOutputs);
    connect(*engine, "stream_gradient", op.streamedGradients);
    engine->load(devices[0].createVirtualDevice(op.tilesPerIpu));
    op.engine = std::move(engine);
  }
  return *op.engine;
}

void forward(CompiledOp &op, const void *const *in, void *const *out) {
  Engine &engine = onDevice(op);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.streamed[i].empty())
      write(engine, handle("input", i), in[i], op.inputs[i]);
    else
      std::memcpy(op.streamed[i].data(), in[i], op.streamed[i].size());
  }
  onDevice(op).run(0, "forward");
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    give(engine, "output", i, op.streamedOutputs[i], out[i], op.outputs[i]);
  if (!op.hasRun)
    checkInputsAreKept(op, in);
  op.hasRun = true;
}

void restore(CompiledOp &op, const void *const *inputs, const void *const *outputs) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    write(onDevice(op), handle("input", i), inputs[i], op.inputs[i]);
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    if (op.restored[i])
      write(onDevice(op), handle("output", i), outputs[i], op.outputs[i]);
}

void backward(CompiledOp &op, const void *const *in, void *const *out) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    write(onDevice(op), handle("gradient", i), in[i], op.outputs[i]);
  onDevice(op).run(1, "backward");
  for (std::size_t i = 0; i < op.withGradients.size(); ++i)
    give(onDevice(op), "found", i, op.streamedGradients[i], out[i],
         op.inputs.at(static_cast<std::size_t>(op.withGradients[i])));
}

} // namespace custom_op
