#include <tuple>

#include <poplin/ConvParams.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

using Numbers = std::vector<unsigned>;

ConvParams::InputTransform::InputTransform(Numbers truncationLower, Numbers truncationUpper,
                                           Numbers dilation, Numbers paddingLower,
                                           Numbers paddingUpper, std::vector<bool> flip)
    : truncationLower(std::move(truncationLower)), truncationUpper(std::move(truncationUpper)),
      dilation(std::move(dilation)), paddingLower(std::move(paddingLower)),
      paddingUpper(std::move(paddingUpper)), flip(std::move(flip)) {}

ConvParams::OutputTransform::OutputTransform(Numbers truncationLower, Numbers truncationUpper,
                                             Numbers stride, Numbers paddingLower,
                                             Numbers paddingUpper)
    : truncationLower(std::move(truncationLower)), truncationUpper(std::move(truncationUpper)),
      stride(std::move(stride)), paddingLower(std::move(paddingLower)),
      paddingUpper(std::move(paddingUpper)) {}

ConvParams::ConvParams(poplar::Type dataType, std::size_t batchSize,
                       std::vector<std::size_t> inputFieldShape,
                       std::vector<std::size_t> kernelShape, std::size_t inputChannels,
                       std::size_t outputChannels, std::size_t numConvGroups)
    : ConvParams(dataType, dataType, batchSize, std::move(inputFieldShape), std::move(kernelShape),
                 inputChannels, outputChannels, numConvGroups) {}

ConvParams::ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
                       std::vector<std::size_t> inputFieldShape,
                       std::vector<std::size_t> kernelShape, std::size_t inputChannels,
                       std::size_t outputChannels, std::size_t numConvGroups)
    : ConvParams(inputType, outputType, batchSize, inputFieldShape, kernelShape, inputChannels,
                 outputChannels, numConvGroups, InputTransform(inputFieldShape.size()),
                 InputTransform(inputFieldShape.size()), OutputTransform(inputFieldShape.size())) {}

ConvParams::ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
                       std::vector<std::size_t> inputFieldShape,
                       std::vector<std::size_t> kernelShape, std::size_t inputChannels,
                       std::size_t outputChannels, std::size_t numConvGroups,
                       InputTransform inputTransform, InputTransform kernelTransform,
                       OutputTransform outputTransform)
    : inputType(inputType), outputType(outputType), batchSize(batchSize),
      inputFieldShape(std::move(inputFieldShape)), kernelShape(std::move(kernelShape)),
      inputChannelsPerConvGroup(inputChannels), outputChannelsPerConvGroup(outputChannels),
      numConvGroups(numConvGroups), inputTransform(std::move(inputTransform)),
      kernelTransform(std::move(kernelTransform)), outputTransform(std::move(outputTransform)) {
  validate();
}

namespace {

unsigned dilated(unsigned n, unsigned dilation) { return n ? (n - 1) * dilation + 1 : 0; }
unsigned strided(unsigned n, unsigned stride) { return n ? (n - 1) / stride + 1 : 0; }

unsigned transformed(const ConvParams::InputTransform &t, unsigned truncated, unsigned dim) {
  return dilated(truncated, t.dilation[dim]) + t.paddingLower[dim] + t.paddingUpper[dim];
}

template <typename T>
void need(const std::vector<T> &values, std::size_t dims, const char *what, bool positive = false) {
  if (values.size() != dims)
    throw poputil::poplibs_error(std::string("convolution: ") + what + " has " +
                                 std::to_string(values.size()) + " entries for " +
                                 std::to_string(dims) + " spatial dimensions");
  for (const T value : values)
    if (positive && value == T())
      throw poputil::poplibs_error(std::string("convolution: ") + what + " of 0");
}

void needTransform(const ConvParams::InputTransform &t, const std::vector<std::size_t> &shape) {
  const std::size_t dims = shape.size();
  need(t.truncationLower, dims, "truncationLower");
  need(t.truncationUpper, dims, "truncationUpper");
  need(t.dilation, dims, "dilation", true);
  need(t.paddingLower, dims, "paddingLower");
  need(t.paddingUpper, dims, "paddingUpper");
  need(t.flip, dims, "flip");
  for (std::size_t d = 0; d < dims; ++d)
    if (t.truncationLower[d] + t.truncationUpper[d] > shape[d])
      throw poputil::poplibs_error("convolution: more is truncated than there is");
}

} // namespace

unsigned ConvParams::getTruncatedInputSize(unsigned dim) const {
  return static_cast<unsigned>(inputFieldShape[dim]) - inputTransform.truncationLower[dim] -
         inputTransform.truncationUpper[dim];
}
unsigned ConvParams::getTruncatedKernelSize(unsigned dim) const {
  return static_cast<unsigned>(kernelShape[dim]) - kernelTransform.truncationLower[dim] -
         kernelTransform.truncationUpper[dim];
}
unsigned ConvParams::getTransformedInputSize(unsigned dim) const {
  return transformed(inputTransform, getTruncatedInputSize(dim), dim);
}
unsigned ConvParams::getTransformedKernelSize(unsigned dim) const {
  return transformed(kernelTransform, getTruncatedKernelSize(dim), dim);
}
std::size_t ConvParams::getUntransformedOutputSize(unsigned dim) const {
  return std::size_t{getTransformedInputSize(dim)} + 1 - getTransformedKernelSize(dim);
}
std::size_t ConvParams::getOutputSize(unsigned dim) const {
  const auto kept =
      static_cast<unsigned>(getUntransformedOutputSize(dim) - outputTransform.truncationLower[dim] -
                            outputTransform.truncationUpper[dim]);
  return strided(kept, outputTransform.stride[dim]) + outputTransform.paddingLower[dim] +
         outputTransform.paddingUpper[dim];
}
std::vector<std::size_t> ConvParams::getOutputFieldShape() const {
  std::vector<std::size_t> shape;
  for (unsigned d = 0; d < getNumFieldDims(); ++d)
    shape.push_back(getOutputSize(d));
  return shape;
}

void ConvParams::validate() const {
  const std::size_t dims = inputFieldShape.size();
  need(kernelShape, dims, "the kernel's shape");
  needTransform(inputTransform, inputFieldShape);
  needTransform(kernelTransform, kernelShape);
  need(outputTransform.truncationLower, dims, "the output's truncationLower");
  need(outputTransform.truncationUpper, dims, "the output's truncationUpper");
  need(outputTransform.stride, dims, "stride", true);
  need(outputTransform.paddingLower, dims, "the output's paddingLower");
  need(outputTransform.paddingUpper, dims, "the output's paddingUpper");
  for (unsigned d = 0; d < dims; ++d) {
    if (getTransformedKernelSize(d) > getTransformedInputSize(d))
      throw poputil::poplibs_error("convolution: the kernel is larger than the input");
    if (outputTransform.truncationLower[d] + outputTransform.truncationUpper[d] >
        getUntransformedOutputSize(d))
      throw poputil::poplibs_error("convolution: more of the output is truncated than there is");
  }
}

ConvParams getGradientParams(const ConvParams &f) {
  const std::size_t dims = f.getNumFieldDims();
  ConvParams::InputTransform in(dims), kernel(dims);
  ConvParams::OutputTransform out(dims);
  for (unsigned d = 0; d < dims; ++d) {
    const unsigned around = f.getTransformedKernelSize(d) - 1; // a full correlation
    const unsigned stride = f.outputTransform.stride[d];
    const unsigned conv = f.getUntransformedOutputSize(d) - f.outputTransform.truncationLower[d] -
                          f.outputTransform.truncationUpper[d];
    in.truncationLower[d] = f.outputTransform.paddingLower[d];
    in.truncationUpper[d] = f.outputTransform.paddingUpper[d];
    in.dilation[d] = stride;
    in.paddingLower[d] = f.outputTransform.truncationLower[d] + around;
    in.paddingUpper[d] = f.outputTransform.truncationUpper[d] + around +
                         (conv - dilated(strided(conv, stride), stride));
    // A reversed input has its gradient reversed: so do both operands give it.
    in.flip[d] = f.inputTransform.flip[d];
    kernel.flip[d] = f.kernelTransform.flip[d] != f.inputTransform.flip[d];
    kernel.truncationLower[d] = f.kernelTransform.truncationUpper[d]; // the weights come reversed
    kernel.truncationUpper[d] = f.kernelTransform.truncationLower[d];
    kernel.dilation[d] = f.kernelTransform.dilation[d];
    kernel.paddingLower[d] = f.kernelTransform.paddingUpper[d];
    kernel.paddingUpper[d] = f.kernelTransform.paddingLower[d];
    out.truncationLower[d] = f.inputTransform.paddingLower[d];
    out.truncationUpper[d] = f.inputTransform.paddingUpper[d];
    out.stride[d] = f.inputTransform.dilation[d];
    out.paddingLower[d] = f.inputTransform.truncationLower[d];
    out.paddingUpper[d] = f.inputTransform.truncationUpper[d];
  }
  return ConvParams(f.outputType, f.inputType, f.batchSize, f.getOutputFieldShape(), f.kernelShape,
                    f.outputChannelsPerConvGroup, f.inputChannelsPerConvGroup, f.numConvGroups, in,
                    kernel, out);
}

namespace {

auto membersOf(const ConvParams::InputTransform &t) {
  return std::tie(t.truncationLower, t.truncationUpper, t.dilation, t.paddingLower, t.paddingUpper,
                  t.flip);
}
auto membersOf(const ConvParams::OutputTransform &t) {
  return std::tie(t.truncationLower, t.truncationUpper, t.stride, t.paddingLower, t.paddingUpper);
}
auto membersOf(const ConvParams &p) {
  return std::tuple_cat(
      std::tie(p.inputType, p.outputType, p.batchSize, p.inputFieldShape, p.kernelShape,
               p.inputChannelsPerConvGroup, p.outputChannelsPerConvGroup, p.numConvGroups),
      membersOf(p.inputTransform), membersOf(p.kernelTransform), membersOf(p.outputTransform));
}

template <typename T> void print(std::ostream &os, const char *name, const std::vector<T> &values) {
  os << "\n        " << name << " {";
  for (std::size_t i = 0; i < values.size(); ++i)
    os << (i ? "," : "") << values[i];
  os << '}';
}
void print(std::ostream &os, const char *name, const ConvParams::InputTransform &t) {
  os << "\n        " << name << ':';
  print(os, "  truncationLower", t.truncationLower),
      print(os, "  truncationUpper", t.truncationUpper);
  print(os, "  dilation", t.dilation), print(os, "  paddingLower", t.paddingLower);
  print(os, "  paddingUpper", t.paddingUpper), print(os, "  flip", t.flip);
}

} // namespace

bool operator<(const ConvParams &a, const ConvParams &b) { return membersOf(a) < membersOf(b); }
bool operator==(const ConvParams &a, const ConvParams &b) { return membersOf(a) == membersOf(b); }

std::ostream &operator<<(std::ostream &os, const ConvParams &p) {
  os << "Params: inputType " << p.inputType << "\n        outputType " << p.outputType
     << "\n        batchSize " << p.batchSize << "\n        numConvGroups " << p.numConvGroups
     << "\n        inputChannelsPerConvGroup " << p.inputChannelsPerConvGroup
     << "\n        outputChannelsPerConvGroup " << p.outputChannelsPerConvGroup;
  print(os, "inputFieldShape", p.inputFieldShape), print(os, "kernelShape", p.kernelShape);
  print(os, "inputTransform", p.inputTransform), print(os, "kernelTransform", p.kernelTransform);
  const ConvParams::OutputTransform &out = p.outputTransform;
  os << "\n        outputTransform:";
  print(os, "  truncationLower", out.truncationLower);
  print(os, "  truncationUpper", out.truncationUpper), print(os, "  stride", out.stride);
  print(os, "  paddingLower", out.paddingLower), print(os, "  paddingUpper", out.paddingUpper);
  return os << '\n';
}

std::uint64_t getFwdFlops(const ConvParams &p) {
  std::uint64_t products = p.batchSize * p.getNumOutputChans() * p.inputChannelsPerConvGroup;
  for (unsigned d = 0; d < p.getNumFieldDims(); ++d) {
    // Positions of the input that contain an element.
    std::vector<bool> holds(p.getTransformedInputSize(d));
    for (unsigned i = 0; i < p.getTruncatedInputSize(d); ++i)
      holds[i * p.inputTransform.dilation[d] + p.inputTransform.paddingLower[d]] = true;
    if (p.inputTransform.flip[d])
      holds = std::vector<bool>(holds.rbegin(), holds.rend());
    const std::size_t outputs =
        p.getOutputSize(d) - p.outputTransform.paddingLower[d] - p.outputTransform.paddingUpper[d];
    std::uint64_t met = 0;
    for (std::size_t o = 0; o < outputs; ++o)
      for (unsigned k = 0; k < p.getTruncatedKernelSize(d); ++k) {
        std::size_t place = k * p.kernelTransform.dilation[d] + p.kernelTransform.paddingLower[d];
        if (p.kernelTransform.flip[d])
          place = p.getTransformedKernelSize(d) - 1 - place;
        met +=
            holds[place + p.outputTransform.truncationLower[d] + o * p.outputTransform.stride[d]];
      }
    products *= met;
  }
  return 2 * products;
}

} // namespace poplin
