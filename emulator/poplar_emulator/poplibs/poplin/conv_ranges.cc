#include <algorithm>

#include <poplin/ConvUtil.hpp>

namespace poplin {

namespace {

constexpr unsigned none = ~0U;

/// Returns the place after truncation, dilation, padding and reversal, or none.
unsigned forward(const ConvParams::InputTransform &t, unsigned dim, unsigned truncated,
                 unsigned index) {
  if (index < t.truncationLower[dim] || index - t.truncationLower[dim] >= truncated)
    return none;
  const unsigned place = (index - t.truncationLower[dim]) * t.dilation[dim] + t.paddingLower[dim];
  if (!t.flip[dim])
    return place;
  const unsigned size =
      getDilatedSize(truncated, t.dilation[dim]) + t.paddingLower[dim] + t.paddingUpper[dim];
  return size - 1 - place;
}

/// Returns the index that `forward` sends to a place, or none.
unsigned backward(const ConvParams::InputTransform &t, unsigned dim, unsigned truncated,
                  unsigned place) {
  const unsigned dilated = getDilatedSize(truncated, t.dilation[dim]);
  const unsigned size = dilated + t.paddingLower[dim] + t.paddingUpper[dim];
  if (place >= size)
    return none;
  if (t.flip[dim])
    place = size - 1 - place;
  if (place < t.paddingLower[dim] || place - t.paddingLower[dim] >= dilated)
    return none;
  place -= t.paddingLower[dim];
  return place % t.dilation[dim] ? none : place / t.dilation[dim] + t.truncationLower[dim];
}

/// Returns where the kernel begins in the transformed input for an output, or none in padding.
unsigned kernelBegin(const ConvParams &p, unsigned dim, unsigned outputIndex) {
  const ConvParams::OutputTransform &t = p.outputTransform;
  if (outputIndex < t.paddingLower[dim] ||
      outputIndex + t.paddingUpper[dim] >= p.getOutputSize(dim))
    return none;
  return (outputIndex - t.paddingLower[dim]) * t.stride[dim] + t.truncationLower[dim];
}

bool contains(IndexRange range, unsigned index) {
  return index != none && index >= range.first && index < range.second;
}

/// Returns the least range of all `index(i, j)` with i and j in their ranges.
template <typename Index> IndexRange cover(IndexRange first, IndexRange second, Index index) {
  IndexRange result{none, 0};
  for (unsigned i = first.first; i < first.second; ++i)
    for (unsigned j = second.first; j < second.second; ++j)
      if (const unsigned found = index(i, j); found != none)
        result = {std::min(result.first, found), std::max(result.second, found + 1)};
  return result.second ? result : IndexRange{0, 0};
}

} // namespace

unsigned getDilatedSize(unsigned size, unsigned dilation) {
  return size ? (size - 1) * dilation + 1 : 0;
}

unsigned getInputIndex(unsigned dim, unsigned outputIndex, unsigned kernelIndex,
                       const ConvParams &p) {
  const unsigned begin = kernelBegin(p, dim, outputIndex);
  const unsigned inKernel =
      forward(p.kernelTransform, dim, p.getTruncatedKernelSize(dim), kernelIndex);
  if (begin == none || inKernel == none)
    return none;
  return backward(p.inputTransform, dim, p.getTruncatedInputSize(dim), begin + inKernel);
}

unsigned getKernelIndex(unsigned dim, unsigned outputIndex, unsigned inputIndex,
                        const ConvParams &p) {
  const unsigned begin = kernelBegin(p, dim, outputIndex);
  const unsigned inInput = forward(p.inputTransform, dim, p.getTruncatedInputSize(dim), inputIndex);
  if (begin == none || inInput == none || inInput < begin)
    return none;
  return backward(p.kernelTransform, dim, p.getTruncatedKernelSize(dim), inInput - begin);
}

IndexRange getOutputRangeForKernelRange(unsigned dim, IndexRange outputRange,
                                        IndexRange kernelIndexRange, const ConvParams &params) {
  return cover(outputRange, kernelIndexRange, [&](unsigned output, unsigned kernel) {
    return getInputIndex(dim, output, kernel, params) == none ? none : output;
  });
}
IndexRange getOutputRangeForKernelIndex(unsigned dim, IndexRange outputRange, unsigned kernelIndex,
                                        const ConvParams &params) {
  return getOutputRangeForKernelRange(dim, outputRange, {kernelIndex, kernelIndex + 1}, params);
}
IndexRange getOutputRangeForInputRange(unsigned dim, IndexRange outputRange, IndexRange inputRange,
                                       const ConvParams &params) {
  const IndexRange kernel{0, static_cast<unsigned>(params.kernelShape[dim])};
  return cover(outputRange, kernel, [&](unsigned output, unsigned k) {
    return contains(inputRange, getInputIndex(dim, output, k, params)) ? output : none;
  });
}
IndexRange getOutputRangeForInputIndex(unsigned dim, IndexRange outputRange, unsigned inputIndex,
                                       const ConvParams &params) {
  return getOutputRangeForInputRange(dim, outputRange, {inputIndex, inputIndex + 1}, params);
}

IndexRange getInputRange(unsigned dim, IndexRange outputRange, IndexRange kernelIndexRange,
                         const ConvParams &params) {
  return cover(outputRange, kernelIndexRange, [&](unsigned output, unsigned kernel) {
    return getInputIndex(dim, output, kernel, params);
  });
}
IndexRange getInputRange(unsigned dim, IndexRange outputRange, unsigned kernelIndex,
                         const ConvParams &params) {
  return getInputRange(dim, outputRange, IndexRange{kernelIndex, kernelIndex + 1}, params);
}
IndexRange getInputRange(unsigned dim, unsigned outputIndex, IndexRange kernelIndexRange,
                         const ConvParams &params) {
  return getInputRange(dim, IndexRange{outputIndex, outputIndex + 1}, kernelIndexRange, params);
}
IndexRange getInputRange(unsigned dim, IndexRange outputRange, const ConvParams &params) {
  const IndexRange kernel{0, static_cast<unsigned>(params.kernelShape[dim])};
  return getInputRange(dim, outputRange, kernel, params);
}
IndexRange getInputRange(unsigned dim, unsigned outputIndex, const ConvParams &params) {
  return getInputRange(dim, IndexRange{outputIndex, outputIndex + 1}, params);
}

IndexRange getKernelRange(unsigned dim, IndexRange outputRange, IndexRange inputRange,
                          const ConvParams &params) {
  const IndexRange kernel{0, static_cast<unsigned>(params.kernelShape[dim])};
  return cover(outputRange, kernel, [&](unsigned output, unsigned k) {
    return contains(inputRange, getInputIndex(dim, output, k, params)) ? k : none;
  });
}
IndexRange getKernelRange(unsigned dim, IndexRange outputRange, unsigned inputIndex,
                          const ConvParams &params) {
  return getKernelRange(dim, outputRange, IndexRange{inputIndex, inputIndex + 1}, params);
}

} // namespace poplin
