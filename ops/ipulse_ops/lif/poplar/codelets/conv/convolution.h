// The sizes of a convolution, and which outputs an input reaches: for vertices and for the host.
#ifndef IPULSE_LIF_POPLAR_CONVOLUTION_H
#define IPULSE_LIF_POPLAR_CONVOLUTION_H

/// Numbers in the attribute `geometry`.
constexpr unsigned kConvolutionSizes = 18;

/// Quotients of numbers below 2^24 by a product: a tile divides integers in hundreds of cycles.
struct ConvDivisor {
  explicit ConvDivisor(unsigned by) : by(by), inverse(1.0f / static_cast<float>(signedOf(by))) {}
  unsigned by;
  float inverse;
  unsigned quotient(unsigned n) const {
    const float near = static_cast<float>(signedOf(n)) * inverse; // wrong by less than 1
    const int found = static_cast<int>(near), rest = signedOf(n) - found * signedOf(by);
    return static_cast<unsigned>(rest < 0 ? found - 1 : rest >= signedOf(by) ? found + 1 : found);
  }

private:
  static int signedOf(unsigned n) { return static_cast<int>(n); }
};

/// The sum pool behind a convolution's neurons.
struct ConvPool {
  /// sizes: as of Convolution.
  explicit ConvPool(const unsigned *sizes)
      : neurons(sizes[12] * sizes[13] * sizes[17]), rows(sizes[12] / sizes[14]),
        columns(sizes[13] / sizes[15]), byFilters(sizes[17]), byWidth(sizes[13]),
        byWindow{ConvDivisor(sizes[14]), ConvDivisor(sizes[15])} {}

  unsigned neurons, rows, columns; // the last two of pooled sites
  ConvDivisor byFilters, byWidth, byWindow[2];

  unsigned sites() const { return rows * columns * byFilters.by; }

  /// A neuron's pooled site; -1 if it is cropped.
  int siteOf(unsigned neuron) const {
    const unsigned place = byFilters.quotient(neuron), y = byWidth.quotient(place);
    const unsigned row = byWindow[0].quotient(y);
    const unsigned column = byWindow[1].quotient(place - y * byWidth.by);
    const unsigned filter = neuron - place * byFilters.by;
    return row < rows && column < columns
               ? static_cast<int>((row * columns + column) * byFilters.by + filter)
               : -1;
  }
};

/// An input's place, its channel in its group, and the group's first filter.
struct ConvSite {
  unsigned place[2]; // y, x
  unsigned channel, firstFilter;
};

/// The sizes in the order of ipulse_ops.lif.conv_geometry.
struct Convolution {
  explicit Convolution(const unsigned *sizes)
      : input{sizes[0], sizes[1]}, channels(sizes[2]), channelsFirst(sizes[3] != 0),
        kernel{sizes[4], sizes[5]}, strides{sizes[6], sizes[7]}, padding{sizes[8], sizes[9]},
        dilation{sizes[10], sizes[11]}, size{sizes[12], sizes[13]}, groups(sizes[16]),
        filters(sizes[17]), byChannels(channels), byGroup(groups == 1 ? 1 : channels / groups),
        byHeight(input[0]), byWidth(input[1]),
        byStrides{ConvDivisor(strides[0]), ConvDivisor(strides[1])},
        groupFilters(groups == 1 ? filters : filters / groups) {}

  unsigned input[2], channels; // height, width
  bool channelsFirst;
  unsigned kernel[2], strides[2], padding[2], dilation[2], size[2]; // of rows, of columns
  unsigned groups, filters;
  ConvDivisor byChannels, byGroup, byHeight, byWidth, byStrides[2];
  unsigned groupFilters;

  unsigned sites() const { return input[0] * input[1] * channels; }
  unsigned taps() const { return kernel[0] * kernel[1]; }
  unsigned positions() const { return size[0] * size[1]; }
  unsigned neurons() const { return positions() * filters; }
  unsigned groupChannels() const { return groups == 1 ? channels : byGroup.by; }

  ConvSite siteOf(unsigned id) const {
    const unsigned line = channelsFirst ? byWidth.quotient(id) : byChannels.quotient(id);
    const unsigned rest = id - line * (channelsFirst ? input[1] : channels);
    const unsigned next = channelsFirst ? byHeight.quotient(line) : byWidth.quotient(line);
    const unsigned last = line - next * (channelsFirst ? input[0] : input[1]);
    const unsigned channel = channelsFirst ? next : rest;
    const unsigned group = groups == 1 ? 0 : byGroup.quotient(channel);
    return {{channelsFirst ? last : next, channelsFirst ? rest : last},
            channel - group * byGroup.by * (groups != 1),
            group * groupFilters};
  }

  /// The row (axis 0) or column (axis 1) of outputs that a tap leads to; -1 if there is none.
  int reached(unsigned axis, const ConvSite &site, unsigned tap) const {
    const unsigned from = site.place[axis] + padding[axis], back = dilation[axis] * tap;
    if (back > from)
      return -1;
    const unsigned stride = strides[axis], way = from - back;
    const unsigned output = stride == 1 ? way : byStrides[axis].quotient(way);
    return output * stride == way && output < size[axis] ? static_cast<int>(output) : -1;
  }
};

#endif
