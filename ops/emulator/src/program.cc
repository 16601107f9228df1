#include <poplar/Program.hpp>

#include <poplar/exceptions.hpp>

#include "program_node.h"

namespace poplar::program {

using emulator::ProgramNode;
using Kind = ProgramNode::Kind;

namespace {

std::shared_ptr<ProgramNode> node(Kind kind, const DebugContext &debugContext) {
  auto made = std::make_shared<ProgramNode>();
  made->kind = kind;
  made->name = debugContext.getPathName();
  return made;
}

std::shared_ptr<ProgramNode> body(const Program &p) {
  return p.getNode() ? p.getNode() : node(Kind::Sequence, {});
}

void checkPredicate(const Tensor &t, const char *what) {
  if (t.numElements() != 1 ||
      !(t.elementType() == BOOL || t.elementType() == INT || t.elementType() == UNSIGNED_INT))
    throw control_program_error(std::string(what) +
                                " needs one element of type bool, int or "
                                "unsigned int, not " +
                                t.getDebugStr());
}

void checkStream(const Tensor &t, const DataStream &stream, DataStreamType direction) {
  if (stream.type() != direction)
    throw stream_connection_error("stream '" + stream.handle() + "' runs in the other direction");
  if (t.elementType() != stream.elementType() || t.numElements() != stream.numElements())
    throw stream_connection_error("stream '" + stream.handle() + "' moves " +
                                  std::to_string(stream.numElements()) + " elements of type " +
                                  stream.elementType().toString() + " and was connected to " +
                                  t.getDebugStr());
}

void checkRemote(const Tensor &t, const RemoteBuffer &buffer, std::size_t rows) {
  if (t.elementType() != buffer.elementType() || t.numElements() != rows * buffer.numElements())
    throw stream_connection_error("remote buffer '" + buffer.handle() + "' has rows of " +
                                  std::to_string(buffer.numElements()) + " elements of type " +
                                  buffer.elementType().toString() + " and was connected to " +
                                  t.getDebugStr());
}

void checkWritten(const Tensor &t) {
  if (t.containsConstant())
    throw control_program_error("a program writes to a constant: " + t.getDebugStr());
  if (t.containsAliases())
    throw control_program_error("a program writes to a tensor in which an element occurs twice: " +
                                t.getDebugStr());
}

} // namespace

bool Program::isEmpty() const {
  return !node || (node->kind == Kind::Sequence && node->children.empty());
}

Sequence::Sequence(const DebugContext &debugContext)
    : Program(program::node(Kind::Sequence, debugContext)) {}

Sequence::Sequence(std::initializer_list<Program> programs, const DebugContext &debugContext)
    : Sequence(debugContext) {
  for (const Program &p : programs)
    add(p);
}

void Sequence::add(const Program &p) {
  const auto added = body(p);
  if (node.use_count() > 1) // copies made before stay as they are
    node = std::make_shared<ProgramNode>(*node);
  node->children.push_back(added);
}

void Sequence::add_front(const Program &p) {
  const auto added = body(p);
  if (node.use_count() > 1)
    node = std::make_shared<ProgramNode>(*node);
  node->children.insert(node->children.begin(), added);
}

Execute::Execute(ComputeSet cs, const DebugContext &debugContext)
    : Program(program::node(Kind::Execute, debugContext)) {
  if (!cs.valid())
    throw control_program_error("Execute of a compute set that was default-constructed");
  node->id = cs.getId();
}

Execute::Execute(ComputeSet cs, Tensor outPredicate, const DebugContext &debugContext)
    : Execute(cs, debugContext) {
  checkPredicate(outPredicate, "Execute");
  checkWritten(outPredicate);
  node->destination = std::move(outPredicate);
}

Copy::Copy(Tensor src, Tensor dst, bool, const DebugContext &debugContext)
    : Program(program::node(Kind::Copy, debugContext)) {
  if (src.numElements() != dst.numElements())
    throw control_program_error("Copy of " + src.getDebugStr() + " to " + dst.getDebugStr() +
                                ": the numbers of elements differ");
  if (src.elementType() != dst.elementType())
    throw type_error("Copy of " + src.getDebugStr() + " to " + dst.getDebugStr() +
                     ": the types differ");
  checkWritten(dst);
  node->source = std::move(src);
  node->destination = std::move(dst);
}

Copy::Copy(const DataStream &stream, Tensor dst, bool, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyFromStream, debugContext)) {
  checkStream(dst, stream, DataStreamType::HostToDeviceFIFO);
  checkWritten(dst);
  node->text = stream.handle();
  node->destination = std::move(dst);
}

Copy::Copy(Tensor src, const DataStream &stream, bool, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyToStream, debugContext)) {
  checkStream(src, stream, DataStreamType::DeviceToHostFIFO);
  node->text = stream.handle();
  node->source = std::move(src);
}

Copy::Copy(const RemoteBuffer &buffer, Tensor dst, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyFromRemote, debugContext)) {
  checkRemote(dst, buffer, 1);
  checkWritten(dst);
  node->text = buffer.handle();
  node->destination = std::move(dst);
}

Copy::Copy(const RemoteBuffer &buffer, Tensor dst, Tensor offset, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyFromRemote, debugContext)) {
  checkRemote(dst, buffer, offset.numElements());
  checkWritten(dst);
  node->text = buffer.handle();
  node->destination = std::move(dst);
  node->inputs = {std::move(offset)};
}

Copy::Copy(Tensor src, const RemoteBuffer &buffer, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyToRemote, debugContext)) {
  checkRemote(src, buffer, 1);
  node->text = buffer.handle();
  node->source = std::move(src);
}

Copy::Copy(Tensor src, const RemoteBuffer &buffer, Tensor offset, const DebugContext &debugContext)
    : Program(program::node(Kind::CopyToRemote, debugContext)) {
  checkRemote(src, buffer, offset.numElements());
  node->text = buffer.handle();
  node->source = std::move(src);
  node->inputs = {std::move(offset)};
}

WriteUndef::WriteUndef(Tensor t, const DebugContext &debugContext)
    : Program(program::node(Kind::WriteUndef, debugContext)) {
  checkWritten(t);
  node->destination = std::move(t);
}

Repeat::Repeat(unsigned count, const Program &p, const DebugContext &debugContext)
    : Program(program::node(Kind::Repeat, debugContext)) {
  node->id = count;
  node->children = {body(p)};
}

namespace {

std::shared_ptr<ProgramNode> repeatWhile(bool expected, const Program &cond, Tensor predicate,
                                         const Program &p, const DebugContext &debugContext) {
  checkPredicate(predicate, "RepeatWhile");
  auto made = node(Kind::RepeatWhile, debugContext);
  made->expected = expected;
  made->source = std::move(predicate);
  made->children = {body(cond), body(p)};
  return made;
}

} // namespace

RepeatWhileTrue::RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &p,
                                 const DebugContext &debugContext)
    : Program(repeatWhile(true, cond, std::move(predicate), p, debugContext)) {}
RepeatWhileFalse::RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &p,
                                   const DebugContext &debugContext)
    : Program(repeatWhile(false, cond, std::move(predicate), p, debugContext)) {}

If::If(Tensor predicate, const Program &trueBody, const Program &falseBody,
       const DebugContext &debugContext)
    : Program(program::node(Kind::If, debugContext)) {
  checkPredicate(predicate, "If");
  node->source = std::move(predicate);
  node->children = {body(trueBody), body(falseBody)};
}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const DebugContext &debugContext)
    : Switch(std::move(control), cases, Sequence(), debugContext) {}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const Program &defaultCaseBody, const DebugContext &debugContext)
    : Program(program::node(Kind::Switch, debugContext)) {
  if (control.numElements() != 1 ||
      !(control.elementType() == INT || control.elementType() == UNSIGNED_INT))
    throw control_program_error("Switch needs one element of type int or unsigned int, not " +
                                control.getDebugStr());
  node->source = std::move(control);
  node->children = {body(defaultCaseBody)};
  for (const auto &one : cases)
    add(one.first, one.second);
}

Switch &Switch::add(std::int32_t value, const Program &p) {
  for (const std::int32_t known : node->cases)
    if (known == value)
      throw control_program_error("Switch has two cases " + std::to_string(value));
  const auto added = body(p);
  if (node.use_count() > 1)
    node = std::make_shared<ProgramNode>(*node);
  node->cases.push_back(value);
  node->children.push_back(added);
  return *this;
}

Switch Switch::switchWithBoundsChecking(Tensor control,
                                        const std::vector<std::pair<std::int32_t, Program>> &cases,
                                        const DebugContext &debugContext) {
  return Switch(std::move(control), cases, Abort("Switch: no case has this value", debugContext),
                debugContext);
}

Switch
Switch::switchWithUnreachableDefault(Tensor control,
                                     const std::vector<std::pair<std::int32_t, Program>> &cases,
                                     const DebugContext &debugContext) {
  return switchWithBoundsChecking(std::move(control), cases, debugContext);
}

Call::Call(Function f, const DebugContext &debugContext)
    : Program(program::node(Kind::Call, debugContext)) {
  node->id = f.getId();
}

Call::Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
           const DebugContext &debugContext)
    : Program(program::node(Kind::CallHost, debugContext)) {
  node->text = f.handle();
  node->inputs = inputs.cloneAsVector();
  node->outputs = outputs.cloneAsVector();
  for (const Tensor &t : outputs)
    checkWritten(t);
}

Sync::Sync(SyncType type, const DebugContext &debugContext)
    : Program(program::node(Kind::Sync, debugContext)) {
  node->id = static_cast<unsigned>(type);
}

PrintTensor::PrintTensor(Tensor t, const DebugContext &debugContext)
    : PrintTensor(t.getDebugStr(), t, debugContext) {}
PrintTensor::PrintTensor(StringRef title, Tensor t, const DebugContext &debugContext)
    : Program(program::node(Kind::Print, debugContext)) {
  node->text = title.cloneAsString();
  node->source = std::move(t);
}

AssumeEqualAcrossReplicas::AssumeEqualAcrossReplicas(Tensor t, const DebugContext &debugContext)
    : Program(program::node(Kind::AssumeEqual, debugContext)) {
  node->source = std::move(t);
}

Abort::Abort(StringRef message, const DebugContext &debugContext)
    : Program(program::node(Kind::Abort, debugContext)) {
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
