// What one spike adds to the outputs of a convolution.
#ifndef IPULSE_LIF_POPLAR_ADD_SPIKE_H
#define IPULSE_LIF_POPLAR_ADD_SPIKE_H

#include "../pair.h"
#include "convolution.h"

/// Adds the weights of input `id` to the positions [first, first + own), whose sums begin at `to`.
/// kernel: [height, width, channels of a group, filters].
inline void addSpike(const Convolution &conv, unsigned id, const float *kernel, unsigned first,
                     unsigned own, float *to) {
  const ConvSite site = conv.siteOf(id);
  const unsigned filters = conv.groupFilters, channels = conv.groupChannels();
  for (unsigned ky = 0; ky < conv.kernel[0]; ++ky) {
    const int y = conv.reached(0, site, ky);
    const unsigned line = static_cast<unsigned>(y) * conv.size[1];
    if (y < 0 || line + conv.size[1] <= first || line >= first + own)
      continue;
    for (unsigned kx = 0; kx < conv.kernel[1]; ++kx) {
      const int x = conv.reached(1, site, kx);
      const unsigned place = line + static_cast<unsigned>(x);
      if (x < 0 || place - first >= own)
        continue;
      const unsigned tap = ky * conv.kernel[1] + kx;
      const float *from =
          kernel + (tap * channels + site.channel) * conv.filters + site.firstFilter;
      float *sums = to + (place - first) * conv.filters + site.firstFilter;
      if (filters % 2 == 0) // then every position begins with a pair
        for (unsigned pair = 0; pair < filters / 2; ++pair)
          pairs(sums)[pair] += pairs(from)[pair];
      else
        for (unsigned f = 0; f < filters; ++f)
          sums[f] += from[f];
    }
  }
}

#endif
