#ifndef IPULSE_EMULATOR_PROGRAM_NODE_H
#define IPULSE_EMULATOR_PROGRAM_NODE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Tensor.hpp>

namespace poplar::emulator {

/// A program as it was written. Nodes are not changed once another node holds them.
struct ProgramNode {
  enum class Kind {
    Sequence,
    Execute,
    Copy,
    CopyFromStream,
    CopyToStream,
    CopyFromRemote,
    CopyToRemote,
    WriteUndef,
    Repeat,
    RepeatWhile,
    If,
    Switch,
    Call,
    CallHost,
    Sync,
    Print,
    AssumeEqual,
    Abort,
  };

  Kind kind;
  std::string name;
  std::vector<std::shared_ptr<ProgramNode>> children;
  unsigned id = 0;            // compute set, function, count of a Repeat
  bool expected = true;       // of the predicate of a RepeatWhile; whether a Switch has a default
  Tensor source, destination; // a predicate, control or offset is `source`
  std::vector<Tensor> inputs, outputs; // of a host function
  std::string text;                    // handle, title, message
  std::vector<std::int32_t> cases;
};

} // namespace poplar::emulator

#endif
