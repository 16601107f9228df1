#ifndef poplar_Program_hpp
#define poplar_Program_hpp

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/SyncType.hpp>
#include <poplar/Tensor.hpp>

namespace poplar {

namespace emulator {
struct ProgramNode;
}

namespace program {

/// A program that an engine can run. It is a value: adding to a Sequence does not change earlier
/// copies.
class Program {
public:
  Program() = default;
  bool isEmpty() const;

  // For internal use.
  explicit Program(std::shared_ptr<emulator::ProgramNode> node) : node(std::move(node)) {}
  const std::shared_ptr<emulator::ProgramNode> &getNode() const { return node; }

protected:
  std::shared_ptr<emulator::ProgramNode> node;
};

namespace emulator_detail {
template <class... T> struct ArePrograms : std::true_type {};
template <class T, class... More> struct ArePrograms<T, More...> {
  static constexpr bool value = std::is_base_of<Program, T>::value && ArePrograms<More...>::value;
};
} // namespace emulator_detail

class Sequence : public Program {
public:
  Sequence(const DebugContext &debugContext = {});
  Sequence(std::initializer_list<Program> programs, const DebugContext &debugContext = {});
  /// Deprecated since SDK 2.2; use the list in braces.
  template <
      class T, class... More,
      typename = typename std::enable_if<emulator_detail::ArePrograms<T, More...>::value>::type>
  Sequence(const Program &first, const T &second, const More &...rest) : Sequence() {
    for (const Program *each :
         {&first, static_cast<const Program *>(&second), static_cast<const Program *>(&rest)...})
      add(*each);
  }
  /// A sequence of one program. A template, so that braces always mean the list.
  template <class P, typename = typename std::enable_if<std::is_base_of<Program, P>::value &&
                                                        !std::is_base_of<Sequence, P>::value>::type>
  explicit Sequence(const P &only) : Sequence() {
    add(only);
  }
  void add(const Program &p);
  void add_front(const Program &p);
  void add(std::vector<Program> &ps) {
    for (const Program &p : ps)
      add(p);
  }
};

/// A program with a name; pva's ExecutionReport::blocks has the cycles of each of its executions.
class Block : public Sequence {
public:
  Block(const Program &program, const DebugContext &debugContext = {});
};

/// Runs the vertices of a compute set in parallel.
class Execute : public Program {
public:
  explicit Execute(ComputeSet cs, const DebugContext &debugContext = {});
  /// outPredicate becomes the conjunction of the return values of the vertices' compute().
  Execute(ComputeSet cs, Tensor outPredicate, const DebugContext &debugContext = {});
};

class Copy : public Program {
public:
  Copy(Tensor src, Tensor dst, bool dontOutline = false, const DebugContext &debugContext = {});
  Copy(const DataStream &stream, Tensor dst, bool optimiseMemory = false,
       const DebugContext &debugContext = {});
  Copy(Tensor src, const DataStream &stream, bool optimiseMemory = false,
       const DebugContext &debugContext = {});
  Copy(const RemoteBuffer &buffer, Tensor dst, const DebugContext &debugContext = {});
  Copy(const RemoteBuffer &buffer, Tensor dst, Tensor offset,
       const DebugContext &debugContext = {});
  Copy(Tensor src, const RemoteBuffer &buffer, const DebugContext &debugContext = {});
  Copy(Tensor src, const RemoteBuffer &buffer, Tensor offset,
       const DebugContext &debugContext = {});
};

/// The values of t are not needed any more.
class WriteUndef : public Program {
public:
  explicit WriteUndef(Tensor t, const DebugContext &debugContext = {});
};

class Repeat : public Program {
public:
  Repeat(unsigned count, const Program &body, const DebugContext &debugContext = {});
};

/// Runs cond, then body while predicate is true.
class RepeatWhileTrue : public Program {
public:
  RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &body,
                  const DebugContext &debugContext = {});
};
class RepeatWhileFalse : public Program {
public:
  RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &body,
                   const DebugContext &debugContext = {});
};

class If : public Program {
public:
  If(Tensor predicate, const Program &trueBody, const Program &falseBody,
     const DebugContext &debugContext = {});
};

class Switch : public Program {
public:
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
         const DebugContext &debugContext = {});
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
         const Program &defaultCaseBody, const DebugContext &debugContext = {});
  /// Has no cases at first; add() adds them. [M]
  explicit Switch(Tensor control, const DebugContext &debugContext = {});
  Switch(Tensor control, const Program &defaultCaseBody, const DebugContext &debugContext = {});
  static Switch switchWithBoundsChecking(Tensor control,
                                         const std::vector<std::pair<std::int32_t, Program>> &cases,
                                         const DebugContext &debugContext = {});
  static Switch
  switchWithUnreachableDefault(Tensor control,
                               const std::vector<std::pair<std::int32_t, Program>> &cases,
                               const DebugContext &debugContext = {});
  /// The same without cases at first. [M]
  static Switch switchWithBoundsChecking(Tensor control, const DebugContext &debugContext = {});
  static Switch switchWithUnreachableDefault(Tensor control, const DebugContext &debugContext = {});
  Switch &add(std::int32_t value, const Program &body);
};

class Call : public Program {
public:
  explicit Call(Function f, const DebugContext &debugContext = {});
  Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
       const DebugContext &debugContext = {});
};

class Sync : public Program {
public:
  explicit Sync(SyncType type, const DebugContext &debugContext = {});
};

/// The number format of PrintTensor; the emulator has a format of its own.
enum class FloatFormat { Auto, Fixed, Scientific, None };
struct PrintTensorFmt {
  PrintTensorFmt() = default;
  PrintTensorFmt(unsigned summariseThreshold, unsigned edgeItems = 3, unsigned maxLineWidth = 75,
                 unsigned digits = 8, FloatFormat floatFormat = FloatFormat::Auto,
                 char separator = ' ', char openBracket = '[', char closeBracket = ']')
      : summariseThreshold(summariseThreshold), edgeItems(edgeItems), maxLineWidth(maxLineWidth),
        digits(digits), floatFormat(floatFormat), separator(separator), openBracket(openBracket),
        closeBracket(closeBracket) {}
  unsigned summariseThreshold = 1000, edgeItems = 3, maxLineWidth = 75, digits = 8;
  FloatFormat floatFormat = FloatFormat::Auto;
  char separator = ' ', openBracket = '[', closeBracket = ']';
};

/// Prints the tensor to the stream of Engine::setPrintTensorStream, by default std::cerr.
class PrintTensor : public Program {
public:
  PrintTensor(Tensor t, const DebugContext &debugContext = {});
  PrintTensor(StringRef title, Tensor t, const DebugContext &debugContext = {});
  PrintTensor(StringRef title, Tensor t, const PrintTensorFmt &,
              const DebugContext &debugContext = {})
      : PrintTensor(title, std::move(t), debugContext) {}
};

/// Copies between replicas: replica r receives the data of replicaMap.at(r); a replica that is not
/// a key keeps its data [I]. Raises control_program_error for an unknown replica.
class CrossReplicaCopy : public Program {
public:
  CrossReplicaCopy(Tensor src, Tensor dst, const std::map<unsigned, unsigned> &replicaMap,
                   const DebugContext &debugContext = {});
};

/// Raises application_runtime_error if the replicas that reach it have different values; the
/// emulator compares them.
class AssumeEqualAcrossReplicas : public Program {
public:
  AssumeEqualAcrossReplicas(Tensor t, const DebugContext &debugContext = {});
};

/// Raises application_runtime_error when it is reached.
class Abort : public Program {
public:
  explicit Abort(StringRef message = "", const DebugContext &debugContext = {});
};
/// Raises application_runtime_error when the predicate is true.
class AbortOnCondition : public Program {
public:
  AbortOnCondition(Tensor predicate, StringRef message = "", const DebugContext &debugContext = {});
};
/// An error with a message that contains the values of a tensor.
class ErrorProgram : public Program {
public:
  ErrorProgram(StringRef message, Tensor t, const DebugContext &debugContext = {});
};

} // namespace program
} // namespace poplar

#endif
