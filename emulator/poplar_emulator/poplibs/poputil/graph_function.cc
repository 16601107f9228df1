#include <poputil/GraphFunction.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {
namespace graphfn {

using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

VoidFunction::VoidFunction(poplar::Graph &graph, Signature sig, Body f, bool inlined,
                           const poplar::DebugContext &debugContext)
    : VoidFunction(
          graph, std::move(sig),
          [f = std::move(f)](std::vector<Tensor> &args, Sequence &seq,
                             const poplar::DebugNameAndId &) { f(args, seq); },
          inlined, debugContext) {}

VoidFunction::VoidFunction(poplar::Graph &graph, Signature sig, NamedBody f, bool inlined,
                           const poplar::DebugContext &debugContext)
    : graph(graph), sig(std::move(sig)), body(std::move(f)), inlined(inlined) {
  if (inlined)
    return;
  for (const ArgSig &arg : this->sig)
    params.push_back(arg.type == CreatedArg ? Tensor()
                                            : graph.clone(arg.similarTensor, {arg.debugName}));
  Sequence program;
  body(params, program, {debugContext.getPathName()});
  function = graph.addFunction(program);
}

void VoidFunction::operator()(std::vector<Tensor> &args, Sequence &seq,
                              const poplar::DebugContext &debugContext) {
  if (args.size() != sig.size())
    throw poplibs_error("the function takes " + std::to_string(sig.size()) + " arguments, not " +
                        std::to_string(args.size()));
  if (inlined)
    return body(args, seq, {debugContext.getPathName()});
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (sig[i].type == InputArg || sig[i].type == InOutArg)
      seq.add(Copy(args[i], params[i], false, debugContext));
    else if (sig[i].type == CreatedArg && !args[i].valid())
      args[i] = graph.clone(params[i], debugContext);
  }
  seq.add(poplar::program::Call(function, debugContext));
  for (std::size_t i = 0; i < args.size(); ++i)
    if (sig[i].type != InputArg)
      seq.add(Copy(params[i], args[i], false, debugContext));
}

ProgramFunction::ProgramFunction(poplar::Graph &graph, Signature sig,
                                 std::function<poplar::program::Program(std::vector<Tensor> &)> f,
                                 bool inlined, const poplar::DebugContext &debugContext)
    : function(
          graph, std::move(sig),
          [f = std::move(f)](std::vector<Tensor> &args, Sequence &seq) { seq.add(f(args)); },
          inlined, debugContext) {}

ProgramFunction::ProgramFunction(
    poplar::Graph &graph, Signature sig,
    std::function<poplar::program::Program(std::vector<Tensor> &, const poplar::DebugNameAndId &)>
        f,
    bool inlined, const poplar::DebugContext &debugContext)
    : function(
          graph, std::move(sig),
          [f = std::move(f)](std::vector<Tensor> &args, Sequence &seq,
                             const poplar::DebugNameAndId &name) { seq.add(f(args, name)); },
          inlined, debugContext) {}

poplar::program::Program ProgramFunction::operator()(std::vector<Tensor> &args,
                                                     const poplar::DebugContext &debugContext) {
  Sequence seq;
  function(args, seq, debugContext);
  return seq;
}

namespace {

Signature withResult(Signature sig) {
  sig.push_back(created("result"));
  return sig;
}

} // namespace

TensorFunction::TensorFunction(poplar::Graph &graph, Signature sig,
                               std::function<Tensor(std::vector<Tensor> &, Sequence &)> f,
                               bool inlined, const poplar::DebugContext &debugContext)
    : TensorFunction(
          graph, std::move(sig),
          [f = std::move(f)](std::vector<Tensor> &args, Sequence &seq,
                             const poplar::DebugNameAndId &) { return f(args, seq); },
          inlined, debugContext) {}

TensorFunction::TensorFunction(
    poplar::Graph &graph, Signature sig,
    std::function<Tensor(std::vector<Tensor> &, Sequence &, const poplar::DebugNameAndId &)> f,
    bool inlined, const poplar::DebugContext &debugContext)
    : function(
          graph, withResult(std::move(sig)),
          [f = std::move(f)](std::vector<Tensor> &args, Sequence &seq,
                             const poplar::DebugNameAndId &name) {
            std::vector<Tensor> own(args.begin(), args.end() - 1);
            args.back() = f(own, seq, name);
            std::copy(own.begin(), own.end(), args.begin());
          },
          inlined, debugContext) {}

Tensor TensorFunction::operator()(std::vector<Tensor> &args, Sequence &prog,
                                  const poplar::DebugContext &debugContext) {
  std::vector<Tensor> all = args;
  all.emplace_back();
  function(all, prog, debugContext);
  std::copy(all.begin(), all.end() - 1, args.begin());
  return all.back();
}

} // namespace graphfn
} // namespace poputil
