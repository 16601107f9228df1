#ifndef pva_Program_hpp
#define pva_Program_hpp

// libpva's headers are closed. Names are those of its published Python API, as methods; what each
// returns is [M]: from memory.

#include <memory>
#include <string>
#include <vector>

#include <pva/ReportNode.hpp>

namespace pva {

class ComputeSet;
class ProgramPointer;
class ProgramVisitor;

/// A step of the programs.
class Program : public ReportNode {
public:
  enum class Type {
    OnTileExecute,
    DoExchange,
    GlobalExchange,
    StreamCopyBegin,
    StreamCopyMid,
    StreamCopyEnd,
    Sync,
    SyncAns,
    Call,
    Sequence,
    Repeat,
    RepeatWhile,
    If,
    IfElse,
    Switch,
    Unknown, ///< what libpva has no name for: PrintTensor, Abort, CycleCount, ...
  };
  using ReportNode::ReportNode;
  std::string name() const { return text("name"); }
  Type type() const;
  std::uint64_t _id() const { return number("_id"); }
  std::vector<ProgramPointer> children() const;
  /// Calls the visitor's function of this type.
  void accept(ProgramVisitor &visitor) const;
  void accept(ProgramVisitor &&visitor) const { accept(visitor); }
};

/// A program, accessed by -> or by a dot.
class ProgramPointer : public Program {
public:
  using Program::Program;
  const Program *operator->() const { return this; }
  const Program &operator*() const { return *this; }
  operator std::shared_ptr<Program>() const { return std::make_shared<Program>(*this); }
};

class OnTileExecuteProgram : public Program {
public:
  explicit OnTileExecuteProgram(const Program &program) : Program(program) {}
  ComputeSet computeset() const;
};

#define PVA_PROGRAM(TYPE)                                                                          \
  class TYPE##Program : public Program {                                                           \
  public:                                                                                          \
    explicit TYPE##Program(const Program &program) : Program(program) {}                           \
  };
PVA_PROGRAM(DoExchange)
PVA_PROGRAM(GlobalExchange)
PVA_PROGRAM(StreamCopyBegin)
PVA_PROGRAM(StreamCopyMid)
PVA_PROGRAM(StreamCopyEnd)
PVA_PROGRAM(Sync)
PVA_PROGRAM(SyncAns)
PVA_PROGRAM(Call)
PVA_PROGRAM(Sequence)
PVA_PROGRAM(Repeat)
PVA_PROGRAM(RepeatWhile)
PVA_PROGRAM(If)
PVA_PROGRAM(IfElse)
PVA_PROGRAM(Switch)
#undef PVA_PROGRAM

/// Visits programs by type; by default, each function does nothing.
class ProgramVisitor {
public:
  virtual ~ProgramVisitor() = default;
  virtual void visitOnTileExecute(const OnTileExecuteProgram &) {}
  virtual void visitDoExchange(const DoExchangeProgram &) {}
  virtual void visitGlobalExchange(const GlobalExchangeProgram &) {}
  virtual void visitStreamCopyBegin(const StreamCopyBeginProgram &) {}
  virtual void visitStreamCopyMid(const StreamCopyMidProgram &) {}
  virtual void visitStreamCopyEnd(const StreamCopyEndProgram &) {}
  virtual void visitSync(const SyncProgram &) {}
  virtual void visitSyncAns(const SyncAnsProgram &) {}
  virtual void visitCall(const CallProgram &) {}
  virtual void visitSequence(const SequenceProgram &) {}
  virtual void visitRepeat(const RepeatProgram &) {}
  virtual void visitRepeatWhile(const RepeatWhileProgram &) {}
  virtual void visitIf(const IfProgram &) {}
  virtual void visitIfElse(const IfElseProgram &) {}
  virtual void visitSwitch(const SwitchProgram &) {}
};

} // namespace pva

#endif
