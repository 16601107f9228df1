// The gradients of a convolution's kernel and bias.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "convolution.h"

using namespace poplar;

// Adds the currents' gradient where the spikes of rows lead, in the order of rows and slots, to
// some of the taps and some of the filters. Each worker has weights of its own.
class ConvWeightProducts : public MultiVertex {
public:
  ConvWeightProducts();

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
    if (begin == end)
      return true;
    const unsigned tap = begin / width, line = (firstTap + tap) / conv.kernel[1];
    const Own own{begin, end, tap, line, firstTap + tap - line * conv.kernel[1]};
    for (unsigned at = tap; begins && at * width < end; ++at)
      for (unsigned c = 0; c < channels; ++c)
        for (unsigned f = own.first(at, width); f < own.last(at, width); ++f)
          sums[(at * channels + c) * width + f] = 0.0f;
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned spikes = countOf(counts[row * countWidth]);
      for (unsigned k = 0; k < spikes && k < slots; ++k) {
        const float id = ids[row * slots + k];
        if (isNeuron(id, conv.sites()))
          add(conv, conv.siteOf(static_cast<unsigned>(static_cast<int>(id))), row, own);
      }
    }
    return true;
  }

private:
  // A worker's pairs [begin, end) of a tap and a filter: the first tap, and its row and column.
  struct Own {
    unsigned begin, end, tap, line, column;
    unsigned first(unsigned at, unsigned width) const {
      return begin > at * width ? begin - at * width : 0;
    }
    unsigned last(unsigned at, unsigned width) const {
      return end < (at + 1) * width ? end - at * width : width;
    }
  };

  void add(const Convolution &conv, const ConvSite &site, unsigned row, const Own &own) {
    const unsigned channels = conv.groupChannels();
    // The filters of the input's group that are this tile's.
    const unsigned low = site.firstFilter, high = low + conv.groupFilters;
    const unsigned from = low > firstFilter ? low - firstFilter : 0;
    const unsigned to = high > firstFilter ? high - firstFilter : 0;
    unsigned line = own.line, column = own.column;
    for (unsigned tap = own.tap; tap * width < own.end; ++tap) {
      const int y = conv.reached(0, site, line), x = conv.reached(1, site, column);
      if (++column == conv.kernel[1]) {
        column = 0;
        ++line;
      }
      if (y < 0 || x < 0)
        continue;
      const unsigned first = own.first(tap, width), last = own.last(tap, width);
      const unsigned place =
          (row * conv.size[0] + static_cast<unsigned>(y)) * conv.size[1] + static_cast<unsigned>(x);
      const float *by = &plane[place * width];
      float *added = &sums[(tap * channels + site.channel) * width];
      for (unsigned f = from > first ? from : first; f < to && f < last; ++f)
        added[f] += by[f];
    }
  }
};

// Moves the gradients of parts of the filters together, so that each part is sent in one piece.
class ConvSplitFilters : public MultiVertex {
public:
  ConvSplitFilters();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> gradients; // [positions, filters]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> bounds; // [parts + 1]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> byParts;  // of each part [positions, width]
  const unsigned positions, filters, parts;

  bool compute(unsigned worker) {
    for (unsigned p = worker; p < positions; p += numWorkers())
      for (unsigned part = 0; part < parts; ++part) {
        const unsigned begin = bounds[part], width = bounds[part + 1] - begin;
        float *to = &byParts[begin * positions + p * width];
        for (unsigned f = 0; f < width; ++f)
          to[f] = gradients[p * filters + begin + f];
      }
    return true;
  }
};

// Adds rows, the first one first.
class ConvAddedRows : public MultiVertex {
public:
  ConvAddedRows();

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
