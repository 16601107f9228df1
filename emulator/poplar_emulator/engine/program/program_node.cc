#include "program_node.h"

#include <poplar/Program.hpp>
#include <poplar/exceptions.hpp>

namespace poplar::emulator {

std::shared_ptr<ProgramNode> makeNode(ProgramNode::Kind kind, const DebugContext &debugContext) {
  auto made = std::make_shared<ProgramNode>();
  made->kind = kind;
  made->name = debugContext.getPathName();
  return made;
}

std::shared_ptr<ProgramNode> bodyOf(const program::Program &p) {
  return p.getNode() ? p.getNode() : makeNode(ProgramNode::Kind::Sequence, {});
}

void checkPredicate(const Tensor &t, const char *what) {
  if (t.numElements() != 1 ||
      !(t.elementType() == BOOL || t.elementType() == INT || t.elementType() == UNSIGNED_INT))
    throw control_program_error(std::string(what) +
                                " needs one element of type bool, int or "
                                "unsigned int, not " +
                                t.getDebugStr());
}

void checkWritten(const Tensor &t) {
  if (t.containsConstant())
    throw control_program_error("a program writes to a constant: " + t.getDebugStr());
  if (t.containsAliases())
    throw control_program_error("a program writes to a tensor in which an element occurs twice: " +
                                t.getDebugStr());
}

} // namespace poplar::emulator
