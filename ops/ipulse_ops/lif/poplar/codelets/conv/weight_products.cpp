// The gradients of a convolution's kernel and bias.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "convolution.h"

using namespace poplar;

// Adds the currents' gradient where the spikes of rows lead, in the order of rows and slots, to
// some of the taps and some of the filters. Each worker has weights of its own.
class ConvWeightProducts : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> plane; // [rows, positions, width]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> sums; // [taps, channels of a group, width]
  const unsigned rows, slots, countWidth, firstTap, taps, firstFilter, width;
  const bool begins; // the sums begin at 0

  bool compute(unsigned worker) {
    const Convolution conv(&geometry[0]);
    const unsigned all = taps * width, channels = conv.groupChannels();
    const unsigned begin = all * worker / numWorkers(), end = all * (worker + 1) / numWorkers();
    for (unsigned i = begin; begins && i < end; ++i)
      for (unsigned c = 0; c < channels; ++c)
        sums[(i / width * channels + c) * width + i % width] = 0.0f;
    for (unsigned row = 0; row < rows && begin < end; ++row) {
      const unsigned spikes = countOf(counts[row * countWidth]);
      for (unsigned k = 0; k < spikes && k < slots; ++k) {
        const float id = ids[row * slots + k];
        if (isNeuron(id, conv.sites()))
          add(conv, conv.siteOf(static_cast<unsigned>(static_cast<int>(id))), row, begin, end);
      }
    }
    return true;
  }

private:
  // To the pairs [begin, end) of a tap and a filter.
  void add(const Convolution &conv, const ConvSite &site, unsigned row, unsigned begin,
           unsigned end) {
    const unsigned filters = conv.groupFilters(), channels = conv.groupChannels();
    const unsigned group = site.channel / channels, channel = site.channel - group * channels;
    // The filters of the input's group that are this tile's.
    const unsigned low = group * filters, high = low + filters;
    const unsigned from = low > firstFilter ? low - firstFilter : 0;
    const unsigned to = high <= firstFilter          ? 0
                        : high - firstFilter < width ? high - firstFilter
                                                     : width;
    for (unsigned tap = begin / width; tap * width < end; ++tap) {
      const unsigned whole = firstTap + tap, line = whole / conv.kernel[1];
      const int y = conv.reached(0, site, line);
      const int x = conv.reached(1, site, whole - line * conv.kernel[1]);
      if (y < 0 || x < 0)
        continue;
      const unsigned first = begin > tap * width ? begin - tap * width : 0;
      const unsigned last = end < (tap + 1) * width ? end - tap * width : width;
      const unsigned place =
          (row * conv.size[0] + static_cast<unsigned>(y)) * conv.size[1] + static_cast<unsigned>(x);
      const float *by = &plane[place * width];
      float *own = &sums[(tap * channels + channel) * width];
      for (unsigned f = from > first ? from : first; f < to && f < last; ++f)
        own[f] += by[f];
    }
  }
};

// Adds rows, the first one first.
class ConvAddedRows : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> plane; // [rows, width]
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> sums;  // [width]
  const unsigned rows, width;
  const bool begins; // the sums begin at 0

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < width; i += numWorkers()) {
      float sum = begins ? 0.0f : sums[i];
      for (unsigned row = 0; row < rows; ++row)
        sum += plane[row * width + i];
      sums[i] = sum;
    }
    return true;
  }
};
