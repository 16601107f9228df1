#ifndef poplin_ConvUtil_hpp
#define poplin_ConvUtil_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <utility>

#include <poplin/ConvParams.hpp>
#include <poplin/Convolution.hpp>

namespace poplin {

/// The convolution that gives the gradient of the input from that of the output, with weights
/// transposed and flipped.
ConvParams getGradientParams(const ConvParams &params);

/// Returns the size with dilation - 1 zeros between neighbours.
unsigned getDilatedSize(unsigned size, unsigned dilation);

// Which indices of a spatial dimension belong together. An index that has no partner, because it
// meets padding, a dilation's zeros or what is truncated, gives ~0U. Ranges are [begin, end), the
// least that contain all partners; without any they are {0, 0}.

/// Returns the input element that an element of the kernel multiplies for an output.
unsigned getInputIndex(unsigned dim, unsigned outputIndex, unsigned kernelIndex,
                       const ConvParams &params);
/// Returns the kernel element that multiplies an input for an output.
unsigned getKernelIndex(unsigned dim, unsigned outputIndex, unsigned inputIndex,
                        const ConvParams &params);

/// The outputs of `outputRange` to which a kernel's or an input's elements contribute.
using IndexRange = std::pair<unsigned, unsigned>;
IndexRange getOutputRangeForKernelIndex(unsigned dim, IndexRange outputRange, unsigned kernelIndex,
                                        const ConvParams &params);
IndexRange getOutputRangeForInputIndex(unsigned dim, IndexRange outputRange, unsigned inputIndex,
                                       const ConvParams &params);
IndexRange getOutputRangeForKernelRange(unsigned dim, IndexRange outputRange,
                                        IndexRange kernelIndexRange, const ConvParams &params);
IndexRange getOutputRangeForInputRange(unsigned dim, IndexRange outputRange, IndexRange inputRange,
                                       const ConvParams &params);

/// The inputs that the outputs need, of the whole kernel or a part of it.
IndexRange getInputRange(unsigned dim, IndexRange outputRange, IndexRange kernelIndexRange,
                         const ConvParams &params);
IndexRange getInputRange(unsigned dim, IndexRange outputRange, unsigned kernelIndex,
                         const ConvParams &params);
IndexRange getInputRange(unsigned dim, unsigned outputIndex, IndexRange kernelIndexRange,
                         const ConvParams &params);
IndexRange getInputRange(unsigned dim, unsigned outputIndex, const ConvParams &params);
IndexRange getInputRange(unsigned dim, IndexRange outputRange, const ConvParams &params);

/// The kernel's elements that multiply these inputs for these outputs.
IndexRange getKernelRange(unsigned dim, IndexRange outputRange, IndexRange inputRange,
                          const ConvParams &params);
IndexRange getKernelRange(unsigned dim, IndexRange outputRange, unsigned inputIndex,
                          const ConvParams &params);

} // namespace poplin

#endif
