// The gradient of a convolution's slots: products of an input's weights with the currents'
// gradient.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "convolution.h"

using namespace poplar;

// The part of the products that are with the outputs' rows [beginRow, endRow), from the last row to
// the first: lanes [slots, 16] keep the sums between the parts. Order: spike_conv_reference.py.
class ConvSlotProducts : public MultiVertex {
public:
  ConvSlotProducts();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> kernel; // [height, width, channels, filters]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> plane;  // [rows, rows of outputs, width, filters]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> lanes;  // used if this is not all of a row
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> values; // [rows, slots], written with row 0
  const unsigned rows, slots, allSlots, firstSlot, countWidth, beginRow, endRow;

  bool compute(unsigned worker) {
    const Convolution conv(&geometry[0]);
    const bool begins = endRow == conv.size[0], ends = beginRow == 0;
    for (unsigned row = 0; row < rows; ++row) {
      unsigned filled = countOf(counts[(row + 1) * countWidth - 1]);
      filled = filled < allSlots ? filled : allSlots;
      const unsigned mask = conv.groups == 1 && 2 * filled >= conv.sites() ? 0 : kLanes - 1;
      for (unsigned k = worker; k < slots; k += numWorkers()) {
        float *kept = &lanes[ends && begins ? 0 : k * kLanes];
        float sums[kLanes];
        for (unsigned lane = 0; lane < kLanes; ++lane)
          sums[lane] = begins ? 0.0f : kept[lane];
        const float id = ids[row * slots + k];
        if (firstSlot + k < filled && isNeuron(id, conv.sites()))
          add(conv, conv.siteOf(static_cast<unsigned>(static_cast<int>(id))), row, mask, sums);
        for (unsigned lane = 0; lane < kLanes && !ends; ++lane)
          kept[lane] = sums[lane];
        for (unsigned half = kLanes / 2; ends && half != 0; half /= 2)
          for (unsigned lane = 0; lane < half; ++lane)
            sums[lane] += sums[lane + half];
        if (ends)
          values[row * slots + k] = sums[0];
      }
    }
    return true;
  }

private:
  static constexpr unsigned kLanes = 16;

  void add(const Convolution &conv, const ConvSite &site, unsigned row, unsigned laneMask,
           float *sums) {
    const unsigned filters = conv.groupFilters, channels = conv.groupChannels();
    for (unsigned ky = 0; ky < conv.kernel[0]; ++ky) {
      const int y = conv.reached(0, site, ky);
      if (y < static_cast<int>(beginRow) || y >= static_cast<int>(endRow))
        continue;
      const unsigned line = row * (endRow - beginRow) + static_cast<unsigned>(y) - beginRow;
      unsigned lane = 0;
      int before = -1;
      for (unsigned kx = conv.kernel[1]; kx-- != 0;) {
        const int x = conv.reached(1, site, kx);
        if (x < 0)
          continue;
        if (conv.groups != 1 || before < 0 || x != before + 1)
          lane = 0; // a new run of neighbouring outputs
        before = x;
        const unsigned tap = ky * conv.kernel[1] + kx;
        const float *weights =
            &kernel[(tap * channels + site.channel) * conv.filters + site.firstFilter];
        const float *by = &plane[(line * conv.size[1] + static_cast<unsigned>(x)) * conv.filters +
                                 site.firstFilter];
        for (unsigned f = 0; f < filters; ++f, ++lane) {
          const float product = by[f] * weights[f];
          sums[lane & laneMask] += product;
        }
      }
    }
  }
};
