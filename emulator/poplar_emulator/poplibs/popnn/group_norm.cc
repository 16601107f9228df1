#include <poplin/Norms.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {
namespace gn {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;

namespace {

/// Reshapes [batch, channels, ...field] to [channels / groups, batch * groups, ...field] and back:
/// the norm over all dimensions but the second is that of the groups.
class Groups {
public:
  Groups(const Tensor &acts, std::size_t groups, const OptionFlags &options) : groups(groups) {
    if (acts.rank() < 2 || groups == 0 || acts.dim(1) % groups)
      throw poputil::poplibs_error("group norm: the channels of " + acts.shapeToString() +
                                   " do not make " + std::to_string(groups) + " groups");
    batch = acts.dim(0);
    channels = acts.dim(1);
    for (const auto &option : options)
      if (option.first == "groupNormStridedChannelGrouping")
        strided = option.second == "true";
  }
  Tensor group(const Tensor &t) const {
    return (strided ? t.reshapePartial(1, 2, {channels / groups, groups}).dimRoll(1)
                    : t.reshapePartial(1, 2, {groups, channels / groups}).dimRoll(2))
        .flatten(1, 3);
  }
  Tensor ungroup(const Tensor &t) const {
    return t.reshapePartial(1, 2, {batch, groups}).dimRoll(0, strided ? 1 : 2).flatten(1, 3);
  }

private:
  std::size_t groups, batch = 0, channels = 0;
  bool strided = true;
};

Groups groupsOf(const Tensor &acts, const Tensor &statistics, const OptionFlags &options) {
  if (acts.rank() < 2 || statistics.rank() != 1 || statistics.dim(0) % acts.dim(0))
    throw poputil::poplibs_error("group norm: statistics of shape " + statistics.shapeToString() +
                                 " are not of groups of " + acts.shapeToString());
  return {acts, statistics.dim(0) / acts.dim(0), options};
}

} // namespace

std::pair<Tensor, Tensor> createGroupNormParams(Graph &graph, const Tensor &acts,
                                                const DebugContext &debugContext,
                                                const OptionFlags &) {
  return poplin::createNormParams(graph, acts, debugContext);
}

std::pair<Tensor, Tensor>
groupNormStatistics(Graph &graph, const Tensor acts, float eps, Sequence &prog, unsigned numGroups,
                    bool unbiasedVarEstimate, bool stableAlgo, const Type &partialsType,
                    const DebugContext &debugContext, const OptionFlags &options) {
  return poplin::normStatistics(graph, Groups(acts, numGroups, options).group(acts), eps, prog,
                                unbiasedVarEstimate, stableAlgo, partialsType,
                                {debugContext, "groupNorm"}, options);
}

Tensor groupNormWhiten(Graph &graph, const Tensor &acts, const Tensor &mean,
                       const Tensor &invStdDev, Sequence &prog, const DebugContext &debugContext,
                       const OptionFlags &options) {
  const Groups groups = groupsOf(acts, mean, options);
  return groups.ungroup(poplin::normWhiten(graph, groups.group(acts), mean, invStdDev, prog,
                                           {debugContext, "groupNorm"}, options));
}

std::pair<Tensor, Tensor> groupNormalise(Graph &graph, const Tensor &acts, const Tensor &gamma,
                                         const Tensor &beta, const Tensor &mean,
                                         const Tensor &invStdDev, Sequence &prog,
                                         const DebugContext &debugContext,
                                         const OptionFlags &options) {
  const Tensor whitened =
      groupNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
  return {poplin::normalise(graph, whitened, gamma, beta, prog, debugContext, options), whitened};
}

std::pair<Tensor, Tensor>
groupNormParamGradients(Graph &graph, const Tensor &acts, const Tensor &gradsIn, const Tensor &mean,
                        const Tensor &iStdDev, Sequence &prog, const Type &partialsType,
                        const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor whitened = groupNormWhiten(graph, acts, mean, iStdDev, prog, debugContext, options);
  return groupNormParamGradients(graph, whitened, gradsIn, prog, partialsType, debugContext,
                                 options);
}

std::pair<Tensor, Tensor> groupNormParamGradients(Graph &graph, const Tensor &actsWhitened,
                                                  const Tensor &gradsIn, Sequence &prog,
                                                  const Type &partialsType,
                                                  const DebugContext &debugContext,
                                                  const OptionFlags &options) {
  return poplin::normParamGradients(graph, actsWhitened, gradsIn, prog, partialsType, debugContext,
                                    options);
}

Tensor groupNormGradients(Graph &graph, const Tensor &acts, const Tensor &gradsIn,
                          const Tensor &mean, const Tensor &invStdDev, const Tensor &gamma,
                          Sequence &prog, const Type &partialsType,
                          const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor whitened =
      groupNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
  return groupNormGradients(graph, whitened, gradsIn, invStdDev, gamma, prog, partialsType,
                            debugContext, options);
}

Tensor groupNormGradients(Graph &graph, const Tensor &actsWhitened, const Tensor &gradsIn,
                          const Tensor &invStdDev, const Tensor &gamma, Sequence &prog,
                          const Type &partialsType, const DebugContext &debugContext,
                          const OptionFlags &options) {
  const Groups groups = groupsOf(actsWhitened, invStdDev, options);
  const Tensor grads = poplin::normGradients(graph, gradsIn, gamma, prog, debugContext, options);
  return groups.ungroup(poplin::normStatisticsGradients(
      graph, groups.group(actsWhitened), groups.group(grads), invStdDev, prog, partialsType,
      {debugContext, "groupNorm"}, options));
}

void groupNormParamUpdate(Graph &graph, const Tensor &gammaDelta, const Tensor &betaDelta,
                          float scale, Tensor &gamma, Tensor &beta, Sequence &prog,
                          const DebugContext &debugContext, const OptionFlags &options) {
  bn::batchNormParamUpdate(graph, gammaDelta, betaDelta, scale, gamma, beta, prog, debugContext,
                           options);
}

} // namespace gn
} // namespace popnn
