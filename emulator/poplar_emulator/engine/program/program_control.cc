#include <poplar/Program.hpp>

#include <poplar/exceptions.hpp>

#include "program_node.h"

namespace poplar::program {

using emulator::bodyOf;
using emulator::makeNode;
using emulator::ProgramNode;
using Kind = ProgramNode::Kind;

Repeat::Repeat(unsigned count, const Program &p, const DebugContext &debugContext)
    : Program(makeNode(Kind::Repeat, debugContext)) {
  node->id = count;
  node->children = {bodyOf(p)};
}

namespace {

std::shared_ptr<ProgramNode> repeatWhile(bool expected, const Program &cond, Tensor predicate,
                                         const Program &p, const DebugContext &debugContext) {
  emulator::checkPredicate(predicate, "RepeatWhile");
  auto made = makeNode(Kind::RepeatWhile, debugContext);
  made->expected = expected;
  made->source = std::move(predicate);
  made->children = {bodyOf(cond), bodyOf(p)};
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
    : Program(makeNode(Kind::If, debugContext)) {
  emulator::checkPredicate(predicate, "If");
  node->source = std::move(predicate);
  node->children = {bodyOf(trueBody), bodyOf(falseBody)};
}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const DebugContext &debugContext)
    : Switch(std::move(control), cases, Sequence(), debugContext) {}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const Program &defaultCaseBody, const DebugContext &debugContext)
    : Program(makeNode(Kind::Switch, debugContext)) {
  if (control.numElements() != 1 ||
      !(control.elementType() == INT || control.elementType() == UNSIGNED_INT))
    throw control_program_error("Switch needs one element of type int or unsigned int, not " +
                                control.getDebugStr());
  node->source = std::move(control);
  node->children = {bodyOf(defaultCaseBody)};
  for (const auto &one : cases)
    add(one.first, one.second);
}

Switch::Switch(Tensor control, const DebugContext &debugContext)
    : Switch(std::move(control), Sequence(), debugContext) {}

Switch::Switch(Tensor control, const Program &defaultCaseBody, const DebugContext &debugContext)
    : Switch(std::move(control), std::vector<std::pair<std::int32_t, Program>>(), defaultCaseBody,
             debugContext) {}

Switch &Switch::add(std::int32_t value, const Program &p) {
  for (const std::int32_t known : node->cases)
    if (known == value)
      throw control_program_error("Switch has two cases " + std::to_string(value));
  const auto added = bodyOf(p);
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

Switch Switch::switchWithBoundsChecking(Tensor control, const DebugContext &debugContext) {
  return switchWithBoundsChecking(std::move(control),
                                  std::vector<std::pair<std::int32_t, Program>>(), debugContext);
}
Switch Switch::switchWithUnreachableDefault(Tensor control, const DebugContext &debugContext) {
  return switchWithBoundsChecking(std::move(control), debugContext);
}

Call::Call(Function f, const DebugContext &debugContext)
    : Program(makeNode(Kind::Call, debugContext)) {
  node->id = f.getId();
}

Call::Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
           const DebugContext &debugContext)
    : Program(makeNode(Kind::CallHost, debugContext)) {
  node->text = f.handle();
  node->inputs = inputs.cloneAsVector();
  node->outputs = outputs.cloneAsVector();
  for (const Tensor &t : outputs)
    emulator::checkWritten(t);
}

} // namespace poplar::program
