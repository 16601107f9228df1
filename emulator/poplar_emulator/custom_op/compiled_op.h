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

/// The op's program and its gradient's, and the handles of what goes in and out.
struct CompiledOp {
  std::unique_ptr<poplar::Executable> executable; // until it is on a device
  std::unique_ptr<poplar::Engine> engine;         // from then on
  std::uint32_t ipus, tilesPerIpu;
  std::vector<Value> inputs, outputs;
  std::vector<std::int64_t> withGradients;
  std::string name;
  std::vector<bool> restored; // by output: it is no constant, which needs no restoring
  std::vector<bool> readOnly; // by input: no promise was made to write to it
  bool hasRun = false;
};

/// The name of the i-th host write or read of a kind: "input", "output", "gradient" or "found",
/// which are the gradients by inputs.
std::string handle(const char *kind, std::size_t i);

/// All that is known of the op without building it.
std::unique_ptr<CompiledOp> describe(const CustomOpCall &call, const OpLibrary::Metadata &promised);
/// Builds the op, and its gradient if one is wanted, into one graph and compiles it. `doing` says
/// what it does meanwhile, in the words of TensorFlow's errors.
std::unique_ptr<CompiledOp> compile(const CustomOpCall &call, const char *&doing);
bool isHashable(const CustomOpCall &call);
/// A byte for each output, then the executable.
std::string serialize(const CompiledOp &op);
std::unique_ptr<CompiledOp> deserialize(const CustomOpCall &call, const std::string &bytes);

} // namespace custom_op

#endif
