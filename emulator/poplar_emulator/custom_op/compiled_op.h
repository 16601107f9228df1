#ifndef IPULSE_EMULATOR_COMPILED_OP_H
#define IPULSE_EMULATOR_COMPILED_OP_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>

#include "custom_op.h"
#include "op_library.h"
#include "op_value.h"

namespace custom_op {

/// The compiled programs of an op and its gradient, with the handles of inputs and outputs.
struct CompiledOp {
  std::unique_ptr<poplar::Executable> executable; // until it is on a device
  std::unique_ptr<poplar::Engine> engine;         // from then on
  std::uint32_t ipus, tilesPerIpu;
  std::vector<Value> inputs, outputs;
  std::vector<std::int64_t> withGradients;
  std::string name;
  std::vector<bool> restored; // by output: whether a restore must write it; constants need none
  std::vector<bool> readOnly; // by input: whether no alias was declared
  // The stream of each input; empty if the input stays on the device.
  std::vector<std::vector<char>> streamed;
  // The same of each output, and of each gradient.
  std::vector<std::vector<char>> streamedOutputs, streamedGradients;
  bool hasRun = false;
};

/// Returns the name of the i-th host write or read of a kind: "input", "output", "gradient" (of an
/// output) or "found" (the gradient of an input); or of a stream: "stream" (of an input),
/// "stream_output" or "stream_gradient".
std::string handle(const char *kind, std::size_t i);

/// Describes the op without building it.
std::unique_ptr<CompiledOp> describe(const CustomOpCall &call, const OpLibrary::Metadata &promised);
/// Builds the op, and its gradient if one is wanted, into one graph and compiles it. `doing` is set
/// to the current stage, as TensorFlow's errors name it.
std::unique_ptr<CompiledOp> compile(const CustomOpCall &call, const char *&doing);
bool isHashable(const CustomOpCall &call);
/// Serializes the op: a byte for each output, then the executable.
std::string serialize(const CompiledOp &op);
std::unique_ptr<CompiledOp> deserialize(const CustomOpCall &call, const std::string &bytes);

} // namespace custom_op

#endif
