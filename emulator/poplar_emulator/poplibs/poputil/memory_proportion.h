#ifndef IPULSE_POPLIBS_MEMORY_PROPORTION_H
#define IPULSE_POPLIBS_MEMORY_PROPORTION_H

#include <poplar/OptionFlags.hpp>

namespace poputil {

/// The name of the option.
constexpr const char *kMemoryProportion = "availableMemoryProportion";

/// Returns the share of a tile's memory that an operation may use. Raises invalid_option unless the
/// option is a number of at least 0.
double availableMemoryProportion(const poplar::OptionFlags &options);

} // namespace poputil

#endif
