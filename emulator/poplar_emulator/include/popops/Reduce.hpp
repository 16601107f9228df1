#ifndef popops_Reduce_hpp
#define popops_Reduce_hpp

#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/Operation.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

/// The operation of a reduction: out = scale * op(in), added to out if `update`.
struct ReduceParams {
  ReduceParams() = default;
  ReduceParams(Operation op, bool update = false) : op(op), update(update) {}
  ReduceParams(Operation op, bool update, poplar::Tensor scale)
      : op(op), update(update), useScale(true), scale(std::move(scale)) {}

  Operation op = Operation::ADD;
  bool update = false;
  bool useScale = false;
  poplar::Tensor scale;
};

/// Into a program, or into compute sets, of which more are added where needed.
#define POPOPS_REDUCE(DESTINATION)                                                                 \
  poplar::Tensor reduce(                                                                           \
      poplar::Graph &graph, const poplar::Tensor &in, const poplar::Type &outType,                 \
      const std::vector<std::size_t> &dims, ReduceParams params, DESTINATION,                      \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {});     \
  poplar::Tensor reduce(poplar::Graph &graph, const poplar::Tensor &in,                            \
                        const std::vector<std::size_t> &dims, ReduceParams params, DESTINATION,    \
                        const poplar::DebugContext &debugContext = {},                             \
                        const poplar::OptionFlags &options = {});                                  \
  void reduceWithOutput(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &out, \
                        const std::vector<std::size_t> &dims, ReduceParams params, DESTINATION,    \
                        const poplar::DebugContext &debugContext = {},                             \
                        const poplar::OptionFlags &options = {});
POPOPS_REDUCE(poplar::program::Sequence &prog)
POPOPS_REDUCE(std::vector<poplar::ComputeSet> &css)
#undef POPOPS_REDUCE

/// One of the reductions of reduceMany.
struct SingleReduceOp {
  poplar::Tensor in;
  std::vector<std::size_t> dims;
  ReduceParams params;
  bool useOutType;
  poplar::Type outType;
  std::string debugName;

  SingleReduceOp(poplar::Tensor in, std::vector<std::size_t> dims, ReduceParams params,
                 poplar::Type outType, std::string debugName = "")
      : in(std::move(in)), dims(std::move(dims)), params(std::move(params)), useOutType(true),
        outType(outType), debugName(std::move(debugName)) {}
  SingleReduceOp(poplar::Tensor in, std::vector<std::size_t> dims, ReduceParams params,
                 std::string debugName = "")
      : in(std::move(in)), dims(std::move(dims)), params(std::move(params)), useOutType(false),
        debugName(std::move(debugName)) {}
};

/// Computes all reductions together. outputs is empty, or has a tensor for each.
void reduceMany(poplar::Graph &graph, const std::vector<SingleReduceOp> &reductions,
                std::vector<poplar::Tensor> &outputs, poplar::program::Sequence &prog,
                const poplar::DebugContext &debugContext = {},
                const poplar::OptionFlags &options = {});

} // namespace popops

#endif
