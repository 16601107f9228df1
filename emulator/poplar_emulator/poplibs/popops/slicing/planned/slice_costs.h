#ifndef IPULSE_POPLIBS_SLICE_COSTS_H
#define IPULSE_POPLIBS_SLICE_COSTS_H

#include <cstddef>
#include <cstdint>

#include <poplar/Target.hpp>
#include <poplar/Type.hpp>

namespace popops {

/// The cycles of a tile that copies rows of `columns` elements by `lookups` indices, of which
/// `inRange` are of its rows. The workers share the indices. PopLibs 3.3,
/// lib/popops/PerformanceEstimation.cpp: 30 + in range (19 + vectors x cycles) + others x 8.
std::uint64_t partSliceCycles(const poplar::Target &target, const poplar::Type &type,
                              std::size_t columns, std::size_t lookups, std::size_t inRange);

/// The same for rows that are combined: each worker reads all indices and updates its share of the
/// rows. PopLibs 3.3, the same file: 38 + in range (11 + 3 a vector) + others x 5.
std::uint64_t partUpdateCycles(const poplar::Target &target, const poplar::Type &type,
                               std::size_t columns, std::size_t lookups, std::size_t inRange);

} // namespace popops

#endif
