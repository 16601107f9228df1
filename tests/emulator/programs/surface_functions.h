// Functions of PopLibs that docs/reference/poplar_api.md lists, each with exactly this signature.
#pragma once

#include <functional>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Rnn.hpp>
#include <popops/AllTrue.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/TopK.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

using namespace poplar;
using namespace poplar::program;
using Body = std::function<Program(const Tensor &)>;
using Sizes = std::vector<std::size_t>;
using Mapping = std::vector<std::vector<Interval>>;

/// An overload of exactly this signature.
template <typename F> void has(F *) {}

inline void popopsAsListed() {
  using popops::ReduceParams;
  using popops::SingleReduceOp;
  using popops::SlicePlan;
  has<Sequence(Graph &, std::size_t, std::size_t, std::size_t, const Body &, const DebugContext &)>(
      &popops::countedLoop);
  has<Sequence(Graph &, std::size_t, const Body &, const DebugContext &)>(&popops::countedLoop);
  has<Tensor(Graph &, const Tensor &, const Tensor &, int, unsigned, Sequence &,
             const DebugContext &)>(&popops::addForLoopCounterVertex);
  has<void(Graph &, Tensor, const std::vector<Interval> &, unsigned, ComputeSet)>(&popops::zero);
  has<void(Graph &, const Tensor &, unsigned, ComputeSet)>(&popops::zero);
  has<void(Graph &, const Tensor &, const Mapping &, ComputeSet)>(&popops::zero);
  has<void(Graph &, const Tensor &, Sequence &, const DebugContext &)>(&popops::zero);
  has<Tensor(Graph &, const Tensor &, const Type &, Sequence &, const DebugContext &)>(
      &popops::cast);
  has<Program(Graph &, Tensor, Tensor, const DebugContext &)>(&popops::cast);
  has<void(Graph &, Tensor, Tensor, ComputeSet)>(&popops::cast);
  has<Tensor(Graph &, Tensor, const Type &, ComputeSet, const DebugContext &)>(&popops::cast);
  has<void(Graph &, const Tensor &, const Tensor &, Sequence &, const DebugContext &)>(
      &popops::castWithOutput);
  has<Tensor(Graph &, const Tensor &, const Type &, const Sizes &, ReduceParams, Sequence &,
             const DebugContext &, const OptionFlags &)>(&popops::reduce);
  has<Tensor(Graph &, const Tensor &, const Sizes &, ReduceParams, std::vector<ComputeSet> &,
             const DebugContext &, const OptionFlags &)>(&popops::reduce);
  has<void(Graph &, const Tensor &, const Tensor &, const Sizes &, ReduceParams, Sequence &,
           const DebugContext &, const OptionFlags &)>(&popops::reduceWithOutput);
  has<void(Graph &, const std::vector<SingleReduceOp> &, std::vector<Tensor> &, Sequence &,
           const DebugContext &, const OptionFlags &)>(&popops::reduceMany);
  has<Tensor(Graph &, const Type &, const Sizes &, const Sizes &, const Sizes &, std::size_t,
             const DebugContext &)>(&popops::createSliceableTensor);
  has<Tensor(Graph &, const Type &, const Sizes &, const Sizes &, const Sizes &, const SlicePlan &,
             const OptionFlags &, const DebugContext &)>(&popops::createSliceableTensor);
  has<Tensor(Graph &, const Tensor &, const Sizes &, const Sizes &, std::size_t,
             const DebugContext &)>(&popops::createSliceTensor);
  has<Tensor(Graph &, const Tensor &, const Tensor &, const Sizes &, const Sizes &, Sequence &,
             const DebugContext &, const OptionFlags &)>(&popops::dynamicSlice);
  has<void(Graph &, const Tensor &, const Tensor &, const Tensor &, const Sizes &, const Sizes &,
           Sequence &, const DebugContext &, const OptionFlags &)>(&popops::dynamicSliceWithOutput);
  has<void(Graph &, const Tensor &, const Tensor &, const Tensor &, const Sizes &, const Sizes &,
           Sequence &, const DebugContext &, const OptionFlags &)>(&popops::dynamicUpdate);
  has<Tensor(Graph &, const Tensor &, const Tensor &, const Sizes &, const Sizes &, Sequence &,
             const SlicePlan &, const OptionFlags &, const DebugContext &)>(&popops::multiSlice);
  has<void(Graph &, const Tensor &, const Tensor &, const Tensor &, const Sizes &, const Sizes &,
           Sequence &, const SlicePlan &, const OptionFlags &, const DebugContext &)>(
      &popops::multiUpdate);
  has<void(Graph &, const Tensor &, const Tensor &, const Tensor &, const Tensor &, const Sizes &,
           const Sizes &, Sequence &, const SlicePlan &, const OptionFlags &,
           const DebugContext &)>(&popops::multiUpdateAdd);
  has<Tensor(Graph &, const Tensor &, const Tensor &, unsigned, Sequence &, popops::GatherParams,
             const DebugContext &, const OptionFlags &)>(&popops::gather);
  has<std::pair<Tensor, Tensor>(Graph &, Sequence &, const Tensor &, const popops::TopKParams &,
                                const DebugContext &)>(&popops::topKWithPermutation);
  has<std::pair<Tensor, Tensor>(Graph &, Sequence &, const Tensor &, const Tensor &,
                                const popops::TopKParams &, const DebugContext &)>(
      &popops::topKKeyValue);
  has<Tensor(Graph &, const popops::expr::Expr &, const std::vector<Tensor> &, Sequence &,
             const DebugContext &, const OptionFlags &)>(&popops::map);
  has<void(Graph &, const popops::expr::Expr &, const std::vector<Tensor> &, const Tensor &,
           Sequence &, const DebugContext &, const OptionFlags &)>(&popops::mapWithOutput);
  has<void(Graph &, Tensor, Tensor, float, Sequence &, const DebugContext &, const OptionFlags &)>(
      &popops::scaledAddTo);
  has<void(Graph &, Tensor, Tensor, Tensor, Sequence &, const DebugContext &, const OptionFlags &)>(
      &popops::scaledSubtractFrom);
  has<Tensor(Graph &, const Tensor &, const Sizes &, const Sizes &, const DebugContext &)>(
      &popops::createDynamicSliceOutput);
  has<void(Graph &)>(&popops::addCodelets);
}

inline void othersAsListed() {
  has<void(Graph &, const Tensor &)>(&poputil::mapTensorLinearly);
  has<void(Graph &, const Tensor &, unsigned, unsigned)>(&poputil::mapTensorLinearly);
  has<void(Graph &, const Tensor &, unsigned, bool)>(&poputil::mapTensorLinearlyWithOffset);
  has<Tensor(Graph &, const Tensor &, Sequence &, const DebugContext &, TensorCloneMethod)>(
      &poputil::duplicate);
  has<Tensor(Graph &, const Tensor &, unsigned, const DebugContext &, TensorCloneMethod)>(
      &poputil::cloneN);
  has<Tensor(Graph &, const Tensor *, std::uint32_t, const Tensor &, const Type &, double, double,
             Sequence &, const DebugContext &)>(&poprand::uniform);
  has<Tensor(Graph &, const Tensor *, std::uint32_t, const Tensor &, const Type &, double,
             Sequence &, const DebugContext &)>(&poprand::bernoulli);
  has<Tensor(Graph &, const Tensor *, std::uint32_t, const Tensor &, const Tensor &, double, double,
             Sequence &, const DebugContext &)>(&poprand::dropout);
  using popnn::rnn::RnnParams;
  has<Tensor(Graph &, const RnnParams &, bool, unsigned, unsigned, const DebugContext &)>(
      &popnn::rnn::createInitialState);
  has<std::vector<Tensor>(Graph &, const RnnParams &, bool, const std::vector<Tensor> &,
                          const popnn::rnn::StateSequence &, const std::vector<Tensor> &,
                          const Tensor *, Tensor *, const std::vector<Tensor> &,
                          const std::vector<Tensor> &, Sequence &, const popnn::rnn::LoopBodyType &,
                          unsigned, OptionFlags &, const DebugContext &)>(&popnn::rnn::Rnn);
}
