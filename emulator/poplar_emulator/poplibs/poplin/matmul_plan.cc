#include "matmul_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <poplar/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"
#include "poplibs/poputil/memory_proportion.h"
#include "support/log.h"

namespace poplin {

using poplar::emulator::ceilDivide;

namespace {

constexpr std::size_t kFewTerms = 1 << 18;
constexpr std::size_t kMostPartialSums = 64; // of an element
constexpr std::size_t kMostSerialParts = 64; // each has vertices of its own

/// The blocks with the least estimated cycles among those that fit into `room`; if none fits, those
/// that need the least memory.
ProductPlan chooseBlocks(const ProductSizes &sizes, std::size_t elementBytes, std::size_t tiles,
                         double room) {
  ProductPlan best;
  best.bytes = std::numeric_limits<double>::infinity();
  double leastCycles = best.bytes;
  for (std::size_t gk = 1; gk <= std::min({sizes.k, tiles, kMostPartialSums}); gk *= 2)
    for (std::size_t gm = 1; gm <= std::min(sizes.m, tiles / gk); ++gm) {
      const std::size_t gn = std::min(sizes.n, tiles / gk / gm);
      const double a = static_cast<double>(ceilDivide(sizes.m, gm)),
                   b = static_cast<double>(ceilDivide(sizes.n, gn)),
                   c = static_cast<double>(ceilDivide(sizes.k, gk));
      const double partials = gk > 1 ? a * b : 0;
      const double bytes =
          static_cast<double>(elementBytes) * (a * c + c * b + a * b) + 8 * partials;
      const double cycles = a * b * c / 16 + (a * c + c * b + a * b + 2 * partials);
      const bool fits = best.bytes <= room;
      if (bytes <= room ? !fits || cycles < leastCycles : !fits && bytes < best.bytes) {
        best.blocks = {gm, gk, gn};
        best.bytes = bytes;
        leastCycles = cycles;
      }
    }
  return best;
}

} // namespace

bool isWorkedInBlocks(const ProductSizes &sizes) { return sizes.m * sizes.k * sizes.n > kFewTerms; }

ProductPlan planProduct(const ProductSizes &sizes, const poplar::Type &type,
                        const poplar::Target &target, double share) {
  const double room = share * target.getBytesPerTile();
  ProductPlan best;
  best.bytes = std::numeric_limits<double>::infinity();
  ProductSizes serial;
  while (serial.m * serial.n <= kMostSerialParts) {
    const ProductSizes part{ceilDivide(sizes.m, serial.m), sizes.k, ceilDivide(sizes.n, serial.n)};
    ProductPlan plan = chooseBlocks(part, target.getTypeSize(type), target.getNumTiles(), room);
    plan.serial = serial;
    if (plan.bytes < best.bytes)
      best = plan;
    if (best.bytes <= room || part.m * part.n == 1)
      break;
    if (part.m > part.n)
      serial.m = std::min(2 * serial.m, sizes.m);
    else
      serial.n = std::min(2 * serial.n, sizes.n);
  }
  if (best.bytes > room)
    poplar::emulator::log(poplar::emulator::LogModule::Graph, poplar::emulator::LogLevel::Warn,
                          "a product of ", sizes.m, " x ", sizes.k, " x ", sizes.n, " takes about ",
                          best.bytes, " bytes of a tile, more than ", poputil::kMemoryProportion,
                          " allows: ", room);
  return best;
}

void reportProduct(std::ostream &out, const ProductSizes &sizes, const poplar::Type &type,
                   const poplar::Target &target, double share) {
  if (!isWorkedInBlocks(sizes)) {
    out << "dot products by row and column, each on the tile of its result\n";
    return;
  }
  const ProductPlan plan = planProduct(sizes, type, target, share);
  out << plan.serial.m << " x " << plan.serial.n << " serial parts of rows and columns, each in "
      << plan.blocks.m << " x " << plan.blocks.k << " x " << plan.blocks.n
      << " blocks of rows, sums and columns, about " << plan.bytes << " bytes of a tile\n";
}

} // namespace poplin
