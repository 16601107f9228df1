// The sizes of a convolution, and which outputs an input reaches: for vertices and for the host.
#ifndef IPULSE_LIF_POPLAR_CONVOLUTION_H
#define IPULSE_LIF_POPLAR_CONVOLUTION_H

/// Numbers in the attribute `geometry`.
constexpr unsigned kConvolutionSizes = 18;

/// An input's place, and its channel.
struct ConvSite {
  unsigned place[2]; // y, x
  unsigned channel;
};

/// The sizes in the order of ipulse_ops.conv.geometry_attribute.
struct Convolution {
  explicit Convolution(const unsigned *sizes)
      : input{sizes[0], sizes[1]}, channels(sizes[2]), channelsFirst(sizes[3] != 0),
        kernel{sizes[4], sizes[5]}, strides{sizes[6], sizes[7]}, padding{sizes[8], sizes[9]},
        dilation{sizes[10], sizes[11]}, size{sizes[12], sizes[13]}, groups(sizes[16]),
        filters(sizes[17]) {}

  unsigned input[2], channels; // height, width
  bool channelsFirst;
  unsigned kernel[2], strides[2], padding[2], dilation[2], size[2]; // of rows, of columns
  unsigned groups, filters;

  unsigned sites() const { return input[0] * input[1] * channels; }
  unsigned taps() const { return kernel[0] * kernel[1]; }
  unsigned positions() const { return size[0] * size[1]; }
  unsigned neurons() const { return positions() * filters; }
  unsigned groupChannels() const { return channels / groups; }
  unsigned groupFilters() const { return filters / groups; }

  ConvSite siteOf(unsigned id) const {
    if (channelsFirst) {
      const unsigned line = id / input[1];
      return {{line % input[0], id % input[1]}, line / input[0]};
    }
    const unsigned place = id / channels;
    return {{place / input[1], place % input[1]}, id % channels};
  }

  /// The row (axis 0) or column (axis 1) of outputs that a tap leads to; -1 if there is none.
  int reached(unsigned axis, const ConvSite &site, unsigned tap) const {
    const unsigned from = site.place[axis] + padding[axis], back = dilation[axis] * tap;
    if (back > from)
      return -1;
    const unsigned stride = strides[axis], way = from - back;
    const unsigned output = stride == 1 ? way : way / stride;
    return output * stride == way && output < size[axis] ? static_cast<int>(output) : -1;
  }
};

#endif
