#include <poplar/Program.hpp>

#include <poplar/exceptions.hpp>

#include "graph/graph_state.h"
#include "program_node.h"
#include "session/replica_exchange.h"

namespace poplar::program {

using emulator::bodyOf;
using emulator::makeNode;
using emulator::ProgramNode;
using Kind = ProgramNode::Kind;

bool Program::isEmpty() const {
  return !node || (node->kind == Kind::Sequence && node->children.empty());
}

Sequence::Sequence(const DebugContext &debugContext)
    : Program(makeNode(Kind::Sequence, debugContext)) {}

Sequence::Sequence(std::initializer_list<Program> programs, const DebugContext &debugContext)
    : Sequence(debugContext) {
  for (const Program &p : programs)
    add(p);
}

void Sequence::add(const Program &p) {
  const auto added = bodyOf(p);
  if (node.use_count() > 1) // copies made before stay as they are
    node = std::make_shared<ProgramNode>(*node);
  node->children.push_back(added);
}

void Sequence::add_front(const Program &p) {
  const auto added = bodyOf(p);
  if (node.use_count() > 1)
    node = std::make_shared<ProgramNode>(*node);
  node->children.insert(node->children.begin(), added);
}

Block::Block(const Program &program, const DebugContext &debugContext) : Sequence(debugContext) {
  add(program);
  node->block = true;
}

Execute::Execute(ComputeSet cs, const DebugContext &debugContext)
    : Program(makeNode(Kind::Execute, debugContext)) {
  if (!cs.valid())
    throw control_program_error("Execute of a compute set that was default-constructed");
  node->id = cs.getId();
}

Execute::Execute(ComputeSet cs, Tensor outPredicate, const DebugContext &debugContext)
    : Execute(cs, debugContext) {
  emulator::checkPredicate(outPredicate, "Execute");
  emulator::checkWritten(outPredicate);
  node->destination = std::move(outPredicate);
}

WriteUndef::WriteUndef(Tensor t, const DebugContext &debugContext)
    : Program(makeNode(Kind::WriteUndef, debugContext)) {
  emulator::checkWritten(t);
  node->destination = std::move(t);
}

Sync::Sync(SyncType type, const DebugContext &debugContext)
    : Program(makeNode(Kind::Sync, debugContext)) {
  node->id = static_cast<unsigned>(type);
}

PrintTensor::PrintTensor(Tensor t, const DebugContext &debugContext)
    : PrintTensor(t.getDebugStr(), t, debugContext) {}
PrintTensor::PrintTensor(StringRef title, Tensor t, const DebugContext &debugContext)
    : Program(makeNode(Kind::Print, debugContext)) {
  node->text = title.cloneAsString();
  node->source = std::move(t);
}

CrossReplicaCopy::CrossReplicaCopy(Tensor src, Tensor dst,
                                   const std::map<unsigned, unsigned> &replicaMap,
                                   const DebugContext &debugContext)
    : Program(Copy(src, dst, false, debugContext)) {
  if (src.graph()->replicas == 1 && replicaMap == std::map<unsigned, unsigned>{{0, 0}})
    return; // a copy
  std::vector<emulator::ReplicaRoute> routes;
  for (const auto &[receiver, sender] : replicaMap)
    routes.push_back({sender, 0, receiver, 0});
  node = emulator::replicaExchange(src, dst, src.numElements(), std::move(routes), debugContext)
             .getNode();
}

AssumeEqualAcrossReplicas::AssumeEqualAcrossReplicas(Tensor t, const DebugContext &debugContext)
    : Program(makeNode(Kind::AssumeEqual, debugContext)) {
  node->source = std::move(t);
}

Abort::Abort(StringRef message, const DebugContext &debugContext)
    : Program(makeNode(Kind::Abort, debugContext)) {
  node->text = message.cloneAsString();
}

AbortOnCondition::AbortOnCondition(Tensor predicate, StringRef message,
                                   const DebugContext &debugContext)
    : Program(If(std::move(predicate), Abort(message, debugContext), Sequence(), debugContext)) {}

ErrorProgram::ErrorProgram(StringRef message, Tensor t, const DebugContext &debugContext)
    : Program(
          Sequence({PrintTensor(message, std::move(t), debugContext), Abort(message, debugContext)},
                   debugContext)) {}

} // namespace poplar::program
