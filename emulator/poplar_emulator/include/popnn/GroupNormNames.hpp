// Part of InstanceNorm.hpp and LayerNorm.hpp; not a header of the SDK. Who includes it undefines
// the macro.

#include <poplar/DebugContext.hpp>
#include <popnn/GroupNorm.hpp>
#include <poputil/DebugInfo.hpp>

/// Group norm by another name, with as many GROUPS, of activations [batch, channels, ...field].
#define POPNN_GROUP_NORM(NAME, TITLE, GROUPS)                                                      \
  inline std::pair<poplar::Tensor, poplar::Tensor> NAME##NormStatistics(                           \
      poplar::Graph &graph, const poplar::Tensor acts, float eps, poplar::program::Sequence &prog, \
      bool unbiasedVarEstimate, bool stableAlgo = false,                                           \
      const poplar::Type &partialsType = poplar::FLOAT,                                            \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormStatistics(graph, acts, eps, prog, GROUPS, unbiasedVarEstimate,            \
                                   stableAlgo, partialsType, debugContext, options);               \
  }                                                                                                \
  inline std::pair<poplar::Tensor, poplar::Tensor> create##TITLE##NormParams(                      \
      poplar::Graph &graph, const poplar::Tensor &acts,                                            \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::createGroupNormParams(graph, acts, debugContext, options);                          \
  }                                                                                                \
  inline poplar::Tensor NAME##NormWhiten(                                                          \
      poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,                \
      const poplar::Tensor &invStdDev, poplar::program::Sequence &prog,                            \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);         \
  }                                                                                                \
  inline std::pair<poplar::Tensor, poplar::Tensor> NAME##Normalise(                                \
      poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gamma,               \
      const poplar::Tensor &beta, const poplar::Tensor &mean, const poplar::Tensor &invStdDev,     \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},              \
      const poplar::OptionFlags &options = {}) {                                                   \
    return gn::groupNormalise(graph, acts, gamma, beta, mean, invStdDev, prog, debugContext,       \
                              options);                                                            \
  }                                                                                                \
  inline std::pair<poplar::Tensor, poplar::Tensor> NAME##NormParamGradients(                       \
      poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,             \
      const poplar::Tensor &mean, const poplar::Tensor &iStdDev, poplar::program::Sequence &prog,  \
      const poplar::Type &partialsType = poplar::FLOAT,                                            \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormParamGradients(graph, acts, gradsIn, mean, iStdDev, prog, partialsType,    \
                                       debugContext, options);                                     \
  }                                                                                                \
  inline std::pair<poplar::Tensor, poplar::Tensor> NAME##NormParamGradients(                       \
      poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,     \
      poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,           \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormParamGradients(graph, actsWhitened, gradsIn, prog, partialsType,           \
                                       debugContext, options);                                     \
  }                                                                                                \
  inline poplar::Tensor NAME##NormGradients(                                                       \
      poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,             \
      const poplar::Tensor &mean, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma,    \
      poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,           \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormGradients(graph, acts, gradsIn, mean, invStdDev, gamma, prog,              \
                                  partialsType, debugContext, options);                            \
  }                                                                                                \
  inline poplar::Tensor NAME##NormGradients(                                                       \
      poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,     \
      const poplar::Tensor &invStdDev, const poplar::Tensor &gamma,                                \
      poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,           \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return gn::groupNormGradients(graph, actsWhitened, gradsIn, invStdDev, gamma, prog,            \
                                  partialsType, debugContext, options);                            \
  }                                                                                                \
  inline void NAME##NormParamUpdate(                                                               \
      poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,     \
      float scale, poplar::Tensor &gamma, poplar::Tensor &beta, poplar::program::Sequence &prog,   \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    gn::groupNormParamUpdate(graph, gammaDelta, betaDelta, scale, gamma, beta, prog, debugContext, \
                             options);                                                             \
  }
