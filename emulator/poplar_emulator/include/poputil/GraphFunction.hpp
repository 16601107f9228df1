#ifndef poputil_GraphFunction_hpp
#define poputil_GraphFunction_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <functional>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poputil {
namespace graphfn {

enum ArgType { InputArg, OutputArg, InOutArg, CreatedArg };

/// An argument of a function: a tensor like `similarTensor`, or one that the function creates.
struct ArgSig {
  ArgType type;
  poplar::Tensor similarTensor;
  std::string debugName;
};
inline ArgSig input(poplar::Tensor similar, std::string debugName = "") {
  return {InputArg, std::move(similar), std::move(debugName)};
}
inline ArgSig output(poplar::Tensor similar, std::string debugName = "") {
  return {OutputArg, std::move(similar), std::move(debugName)};
}
inline ArgSig inout(poplar::Tensor similar, std::string debugName = "") {
  return {InOutArg, std::move(similar), std::move(debugName)};
}
inline ArgSig created(std::string debugName = "") { return {CreatedArg, {}, std::move(debugName)}; }
using Signature = std::vector<ArgSig>;

/// A program with tensors of its own that several calls share: arguments are copied in and results
/// out.
class VoidFunction {
public:
  using Body = std::function<void(std::vector<poplar::Tensor> &, poplar::program::Sequence &)>;
  using NamedBody = std::function<void(std::vector<poplar::Tensor> &, poplar::program::Sequence &,
                                       const poplar::DebugNameAndId &)>;
  VoidFunction(poplar::Graph &graph, Signature sig, Body f, bool inlined = false,
               const poplar::DebugContext &debugContext = {});
  /// The body gets the name of `debugContext`, or with `inlined` that of the call.
  VoidFunction(poplar::Graph &graph, Signature sig, NamedBody f, bool inlined = false,
               const poplar::DebugContext &debugContext = {});
  /// An invalid tensor for a created argument is replaced by a new one. Raises poplibs_error if
  /// their number differs from the signature's.
  void operator()(std::vector<poplar::Tensor> &args, poplar::program::Sequence &seq,
                  const poplar::DebugContext &debugContext = {});

private:
  poplar::Graph &graph;
  Signature sig;
  NamedBody body;
  bool inlined;
  std::vector<poplar::Tensor> params;
  poplar::Function function;
};

class ProgramFunction {
public:
  ProgramFunction(poplar::Graph &graph, Signature sig,
                  std::function<poplar::program::Program(std::vector<poplar::Tensor> &)> f,
                  bool inlined = false, const poplar::DebugContext &debugContext = {});
  ProgramFunction(poplar::Graph &graph, Signature sig,
                  std::function<poplar::program::Program(std::vector<poplar::Tensor> &,
                                                         const poplar::DebugNameAndId &)>
                      f,
                  bool inlined = false, const poplar::DebugContext &debugContext = {});
  poplar::program::Program operator()(std::vector<poplar::Tensor> &args,
                                      const poplar::DebugContext &debugContext = {});

private:
  VoidFunction function;
};

/// The result is one more created tensor.
class TensorFunction {
public:
  TensorFunction(
      poplar::Graph &graph, Signature sig,
      std::function<poplar::Tensor(std::vector<poplar::Tensor> &, poplar::program::Sequence &)> f,
      bool inlined = false, const poplar::DebugContext &debugContext = {});
  TensorFunction(
      poplar::Graph &graph, Signature sig,
      std::function<poplar::Tensor(std::vector<poplar::Tensor> &, poplar::program::Sequence &,
                                   const poplar::DebugNameAndId &)>
          f,
      bool inlined = false, const poplar::DebugContext &debugContext = {});
  poplar::Tensor operator()(std::vector<poplar::Tensor> &args, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {});

private:
  VoidFunction function;
};

} // namespace graphfn
} // namespace poputil

#endif
