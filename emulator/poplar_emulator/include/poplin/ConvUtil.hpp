#ifndef poplin_ConvUtil_hpp
#define poplin_ConvUtil_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplin/ConvParams.hpp>

namespace poplin {

/// The convolution that gives the gradient of the input from that of the output, with weights
/// transposed and flipped.
ConvParams getGradientParams(const ConvParams &params);

} // namespace poplin

#endif
