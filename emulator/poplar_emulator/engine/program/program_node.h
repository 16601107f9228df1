#ifndef IPULSE_EMULATOR_PROGRAM_NODE_H
#define IPULSE_EMULATOR_PROGRAM_NODE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/DebugContext.hpp>
#include <poplar/Tensor.hpp>

namespace poplar::program {
class Program;
}

namespace poplar::emulator {

/// A row of a tensor of one replica that is copied to a row of another replica.
struct ReplicaRoute {
  unsigned fromReplica, fromRow, toReplica, toRow;
};

/// A node of a program as written. A node is not changed once another node refers to it.
struct ProgramNode {
  enum class Kind {
    Sequence,
    Execute,
    Copy,
    CrossReplica,
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
    ReadClock,
  };

  Kind kind;
  std::string name;
  std::vector<std::shared_ptr<ProgramNode>> children;
  unsigned id = 0;            // compute set, function, count of a Repeat, elements of a row
  bool block = false;         // of a Sequence: it is a Block
  bool expected = true;       // of the predicate of a RepeatWhile; whether a Switch has a default
  Tensor source, destination; // a predicate, control or offset is `source`
  std::vector<Tensor> inputs, outputs; // of a host function
  std::string text;                    // handle, title, message
  std::vector<std::int32_t> cases;
  std::vector<ReplicaRoute> routes; // of a copy between replicas
};

std::shared_ptr<ProgramNode> makeNode(ProgramNode::Kind kind, const DebugContext &debugContext);
/// Returns the node of a program; for a default-constructed program, an empty sequence.
std::shared_ptr<ProgramNode> bodyOf(const program::Program &p);
/// Raises control_program_error unless `t` is one element that can be true or false.
void checkPredicate(const Tensor &t, const char *what);
/// Raises control_program_error for what no program may write: constants, elements twice.
void checkWritten(const Tensor &t);

} // namespace poplar::emulator

#endif
