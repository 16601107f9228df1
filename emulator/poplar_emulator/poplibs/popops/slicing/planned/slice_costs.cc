#include "slice_costs.h"

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::emulator::ceilDivide;

std::uint64_t partSliceCycles(const poplar::Target &target, const poplar::Type &type,
                              std::size_t columns, std::size_t lookups, std::size_t inRange) {
  const std::uint64_t workers = target.getNumWorkerContexts(), size = target.getTypeSize(type);
  const std::uint64_t width = size == 4 ? 2 : size == 2 ? 2 : 4, perVector = size == 1 ? 3 : 2;
  const std::uint64_t found = ceilDivide(inRange, workers);
  const std::uint64_t others = ceilDivide(lookups, workers) - found;
  return workers * (30 + found * (19 + ceilDivide(columns, width) * perVector) + others * 8);
}

std::uint64_t partUpdateCycles(const poplar::Target &target, const poplar::Type &type,
                               std::size_t columns, std::size_t lookups, std::size_t inRange) {
  const std::uint64_t workers = target.getNumWorkerContexts();
  const std::uint64_t vectors = ceilDivide(columns * target.getTypeSize(type), 4);
  const std::uint64_t found = ceilDivide(inRange, workers), others = lookups - found;
  return workers * (38 + found * (11 + (vectors ? vectors - 1 : 0) * 3) + others * 5);
}

} // namespace popops
