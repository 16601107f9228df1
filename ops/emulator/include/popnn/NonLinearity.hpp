#ifndef popnn_NonLinearity_hpp
#define popnn_NonLinearity_hpp

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popnn/NonLinearityDef.hpp>

namespace popnn {

/// The function of each element; a softmax is over the last dimension. SOFTMAX_SCALED is not
/// emulated and raises poplibs_error.
poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType,
                            poplar::Tensor t, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {},
                            const poplar::OptionFlags &options = {});
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                         poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {},
                         const poplar::OptionFlags &options = {});
/// The gradient of the input: from the output of the function, or its input for GELU and SWISH.
poplar::Tensor nonLinearityInputGradient(poplar::Graph &graph, NonLinearityType nonLinearityType,
                                         poplar::Tensor act, poplar::Tensor outGradient,
                                         poplar::program::Sequence &prog,
                                         const poplar::DebugContext &debugContext = {},
                                         const poplar::OptionFlags &options = {});

#define POPNN_NONLINEARITY(NAME, TYPE)                                                             \
  inline poplar::Tensor NAME(                                                                      \
      poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,              \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return nonLinearity(graph, NonLinearityType::TYPE, t, prog, debugContext, options);            \
  }                                                                                                \
  inline void NAME##InPlace(                                                                       \
      poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,              \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    nonLinearityInPlace(graph, NonLinearityType::TYPE, t, prog, debugContext, options);            \
  }
POPNN_NONLINEARITY(sigmoid, SIGMOID)
POPNN_NONLINEARITY(hardSigmoid, HARD_SIGMOID)
POPNN_NONLINEARITY(relu, RELU)
POPNN_NONLINEARITY(tanh, TANH)
POPNN_NONLINEARITY(gelu, GELU)
POPNN_NONLINEARITY(swish, SWISH)
POPNN_NONLINEARITY(softmax, SOFTMAX)
POPNN_NONLINEARITY(softmaxStable, SOFTMAX_STABLE)
#undef POPNN_NONLINEARITY

} // namespace popnn

#endif
