#ifndef popnn_NonLinearity_hpp
#define popnn_NonLinearity_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popnn/NonLinearityDef.hpp>

namespace popnn {

/// [M] A scaled softmax is a multiple of the probabilities that half can represent.
constexpr float SOFTMAX_SCALING = 16376.0f;

/// The function of each element; a softmax is over the last dimension.
poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType,
                            poplar::Tensor t, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {},
                            const poplar::OptionFlags &options = {});
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                         poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {},
                         const poplar::OptionFlags &options = {});
/// The same; nonLinearityScaling becomes SOFTMAX_SCALING for SOFTMAX_SCALED, else 1.
poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType,
                            poplar::Tensor t, float &nonLinearityScaling,
                            poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {},
                            const poplar::OptionFlags &options = {});
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                         float &nonLinearityScaling, poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {},
                         const poplar::OptionFlags &options = {});
/// The gradient of the input: from the output of the function, or its input for GELU, GELU_ERF and
/// SWISH. Raises poplibs_error for SOFTMAX_SCALED.
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
POPNN_NONLINEARITY(geluErf, GELU_ERF)
POPNN_NONLINEARITY(swish, SWISH)
POPNN_NONLINEARITY(softmax, SOFTMAX)
POPNN_NONLINEARITY(softmaxStable, SOFTMAX_STABLE)
#undef POPNN_NONLINEARITY

} // namespace popnn

#endif
