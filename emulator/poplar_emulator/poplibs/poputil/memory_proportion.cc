#include "memory_proportion.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include <poplar/exceptions.hpp>

namespace poputil {

double availableMemoryProportion(const poplar::OptionFlags &options) {
  for (const auto &option : options) {
    if (option.first != kMemoryProportion)
      continue;
    char *end = nullptr;
    const double share = std::strtod(option.second.c_str(), &end);
    if (option.second.empty() || *end != '\0' || !std::isfinite(share) || share < 0)
      throw poplar::invalid_option(std::string(kMemoryProportion) + " is \"" + option.second +
                                   "\" and must be a number of at least 0: a share of the memory " +
                                   "of a tile");
    return share;
  }
  return 0.6; // PopLibs' default
}

} // namespace poputil
