#ifndef popnn_NonLinearityDef_hpp
#define popnn_NonLinearityDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

namespace popnn {

enum class NonLinearityType {
  SIGMOID,
  HARD_SIGMOID,
  RELU,
  TANH,
  GELU,
  SWISH,
  SOFTMAX,
  SOFTMAX_STABLE,
  SOFTMAX_SCALED,
  GELU_ERF, ///< [M] of SDK 3
};

} // namespace popnn

#endif
