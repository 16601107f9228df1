#ifndef poplin_ConvParams_hpp
#define poplin_ConvParams_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <ostream>
#include <vector>

#include <poplar/Type.hpp>

namespace poplin {

/// A grouped convolution over any number of spatial dimensions: the transforms of the input and the
/// kernel before their valid cross-correlation, and those of its output.
struct ConvParams {
  /// In this order: truncation, dilation, padding, reversal. One entry per spatial dimension.
  struct InputTransform {
    std::vector<unsigned> truncationLower, truncationUpper, dilation, paddingLower, paddingUpper;
    std::vector<bool> flip;
    InputTransform() = default;
    explicit InputTransform(std::size_t dims)
        : truncationLower(dims), truncationUpper(dims), dilation(dims, 1), paddingLower(dims),
          paddingUpper(dims), flip(dims) {}
    InputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                   std::vector<unsigned> dilation, std::vector<unsigned> paddingLower,
                   std::vector<unsigned> paddingUpper, std::vector<bool> flip);
  };
  /// In this order: truncation, stride, padding.
  struct OutputTransform {
    std::vector<unsigned> truncationLower, truncationUpper, stride, paddingLower, paddingUpper;
    OutputTransform() = default;
    explicit OutputTransform(std::size_t dims)
        : truncationLower(dims), truncationUpper(dims), stride(dims, 1), paddingLower(dims),
          paddingUpper(dims) {}
    OutputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                    std::vector<unsigned> stride, std::vector<unsigned> paddingLower,
                    std::vector<unsigned> paddingUpper);
  };

  ConvParams() = default;
  ConvParams(poplar::Type dataType, std::size_t batchSize, std::vector<std::size_t> inputFieldShape,
             std::vector<std::size_t> kernelShape, std::size_t inputChannelsPerConvGroup,
             std::size_t outputChannelsPerConvGroup, std::size_t numConvGroups);
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::size_t inputChannelsPerConvGroup, std::size_t outputChannelsPerConvGroup,
             std::size_t numConvGroups);
  /// Raises poplibs_error as validate() does.
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::size_t inputChannelsPerConvGroup, std::size_t outputChannelsPerConvGroup,
             std::size_t numConvGroups, InputTransform inputTransform,
             InputTransform kernelTransform, OutputTransform outputTransform);

  poplar::Type inputType, outputType;
  std::size_t batchSize = 0;
  std::vector<std::size_t> inputFieldShape, kernelShape;
  std::size_t inputChannelsPerConvGroup = 0, outputChannelsPerConvGroup = 0, numConvGroups = 0;
  InputTransform inputTransform, kernelTransform;
  OutputTransform outputTransform;

  std::size_t getNumFieldDims() const { return inputFieldShape.size(); }
  std::size_t getBatchSize() const { return batchSize; }
  std::size_t getNumConvGroups() const { return numConvGroups; }
  std::size_t getNumInputChansPerConvGroup() const { return inputChannelsPerConvGroup; }
  std::size_t getNumOutputChansPerConvGroup() const { return outputChannelsPerConvGroup; }
  std::size_t getNumInputChans() const { return inputChannelsPerConvGroup * numConvGroups; }
  std::size_t getNumOutputChans() const { return outputChannelsPerConvGroup * numConvGroups; }
  std::size_t getInputSize(unsigned dim) const { return inputFieldShape[dim]; }
  const std::vector<std::size_t> &getInputFieldShape() const { return inputFieldShape; }
  const std::vector<std::size_t> &getKernelShape() const { return kernelShape; }
  unsigned getTruncatedInputSize(unsigned dim) const;
  unsigned getTruncatedKernelSize(unsigned dim) const;
  unsigned getTransformedInputSize(unsigned dim) const;
  unsigned getTransformedKernelSize(unsigned dim) const;
  std::size_t getUntransformedOutputSize(unsigned dim) const;
  std::size_t getOutputSize(unsigned dim) const;
  std::vector<std::size_t> getOutputFieldShape() const;
  /// Raises poplibs_error for an invalid shape or transform and for a kernel larger than its input.
  void validate() const;
};

bool operator<(const ConvParams &a, const ConvParams &b);
bool operator==(const ConvParams &a, const ConvParams &b);
inline bool operator!=(const ConvParams &a, const ConvParams &b) { return !(a == b); }
std::ostream &operator<<(std::ostream &os, const ConvParams &p);

} // namespace poplin

#endif
