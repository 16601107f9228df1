#include "slice_partition.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "poplibs/popops/elementwise/array_vertices.h"
#include "slice_costs.h"
#include "support/log.h"

namespace popops {

using poplar::Interval;
using poplar::emulator::ceilDivide;

namespace {

constexpr std::size_t kBytesOfATile = 1 << 17;    // that need no partition
constexpr std::size_t kBytesOfARow = 16;          // of the vertex and of the exchange
constexpr std::size_t kPieces = 200000;           // of all tiles that need no partition
constexpr std::size_t kMostSerialSlices = 1 << 8; // each has vertices of its own
constexpr std::size_t kMostRuns = 1 << 21;        // of a tensor of slices: columns apart
constexpr std::size_t kGrainBytes = 8;

/// The cycles of a tile in all serial parts, and its memory.
struct Estimate {
  double cycles, bytes;
};

Estimate estimate(const poplar::Target &target, const poplar::Type &type, const SlicePartition &p,
                  SliceUse use) {
  if (use == SliceUse::ReadAndCombine) {
    const Estimate read = estimate(target, type, p, SliceUse::Read),
                   combine = estimate(target, type, p, SliceUse::Combine);
    return {read.cycles + combine.cycles, std::max(read.bytes, combine.bytes)};
  }
  const auto size = static_cast<double>(target.getTypeSize(type));
  const auto number = [](std::size_t n) { return static_cast<double>(n); };
  const std::size_t columns = ceilDivide(p.sizes.columns, p.columns);
  const std::size_t atOnce = ceilDivide(p.sizes.lookups, p.serial);
  const std::size_t lookups = ceilDivide(atOnce, p.lookups);
  const double table = size * number(p.rowsOfPart() * columns);
  const double slices = size * number(lookups * columns), indices = 4 * number(lookups);
  const double spread = size * number(p.sizes.columns * (p.sizes.rows + p.sizes.lookups)) /
                        number(target.getNumTiles());
  const double perByte = 1. / target.getExchangeBytesPerCycle();
  Estimate e{0, spread + indices};
  const std::size_t inRange = ceilDivide(lookups, p.rows);
  if (use == SliceUse::Read) {
    const bool twice = p.rows > 1;
    e.bytes += table + (twice ? 2 * slices : slices);
    e.cycles = number(partSliceCycles(target, type, columns, lookups, inRange)) +
               (table * (p.lookups > 1) + indices + slices * twice) * perByte;
    if (twice)
      e.cycles += number(partSliceCycles(target, type, columns, inRange, inRange));
  } else {
    const bool twice = p.lookups > 1;
    e.bytes += slices + (twice ? 2 * table : 0);
    e.cycles = number(partUpdateCycles(target, type, columns, lookups, inRange)) +
               (slices + indices + table * twice) * perByte;
    if (twice)
      e.cycles += number(partUpdateCycles(target, type, columns, p.rowsOfPart(), p.rowsOfPart()));
  }
  e.cycles *= number(p.serial);
  return e;
}

/// The next number of parts to try: all small ones, and some of the larger.
std::size_t next(std::size_t parts) { return parts + 1 + parts / 8; }

} // namespace

Interval partOf(const Interval &whole, std::size_t part, std::size_t parts) {
  return {whole.begin() + whole.size() * part / parts,
          whole.begin() + whole.size() * (part + 1) / parts};
}

Interval SlicePartition::rowsOf(std::size_t part) const {
  return {std::min(sizes.rows, part * rowsOfPart()),
          std::min(sizes.rows, (part + 1) * rowsOfPart())};
}
Interval SlicePartition::columnsOf(std::size_t part) const {
  return partOf({0, sizes.columns}, part, columns);
}
Interval SlicePartition::lookupsOf(std::size_t serialPart) const {
  return partOf({0, sizes.lookups}, serialPart, serial);
}
Interval SlicePartition::lookupsOf(std::size_t serialPart, std::size_t lookup) const {
  return partOf(lookupsOf(serialPart), lookup, lookups);
}

SlicePartition planSlices(const poplar::Target &target, const poplar::Type &type,
                          const SliceSizes &sizes, SliceUse use, double share,
                          const SlicePartition *like) {
  const double room = share * target.getBytesPerTile();
  const std::size_t tiles = target.getNumTiles();
  const std::size_t grains =
      std::max<std::size_t>(1, sizes.columns * target.getTypeSize(type) / kGrainBytes);
  const std::size_t mostColumns = std::min(
      {grains, tiles, std::max<std::size_t>(1, kMostRuns / std::max(sizes.rows, sizes.lookups))});
  SlicePartition best;
  best.bytes = std::numeric_limits<double>::infinity();
  double leastCycles = best.bytes;
  const auto consider = [&](SlicePartition p) {
    p.sizes = sizes;
    p.lookups = use == SliceUse::Write
                    ? 1
                    : std::clamp<std::size_t>(ceilDivide(sizes.lookups, p.serial), 1,
                                              tiles / p.rows / p.columns);
    const Estimate e = estimate(target, type, p, use);
    p.bytes = e.bytes;
    const bool fits = best.bytes <= room;
    if (e.bytes <= room ? !fits || e.cycles < leastCycles : !fits && e.bytes < best.bytes) {
      best = p;
      leastCycles = e.cycles;
    }
  };
  for (std::size_t serial = 1; serial <= std::min(kMostSerialSlices, sizes.lookups); serial *= 2) {
    SlicePartition p;
    p.serial = serial;
    const bool sameRows = like && use != SliceUse::Write;
    const auto [leastColumns, lastColumns] =
        like ? std::pair(like->columns, like->columns)
             : std::pair<std::size_t, std::size_t>(1, mostColumns);
    for (p.columns = leastColumns; p.columns <= lastColumns; p.columns = next(p.columns)) {
      const std::size_t lastRows = sameRows ? like->rows : std::min(sizes.rows, tiles / p.columns);
      for (p.rows = sameRows ? like->rows : 1; p.rows <= lastRows; p.rows = next(p.rows))
        consider(p);
    }
  }
  if (best.bytes > room)
    poplar::emulator::log(poplar::emulator::LogModule::Graph, poplar::emulator::LogLevel::Warn,
                          sizes.lookups, " slices of a table of ", sizes.rows, " x ", sizes.columns,
                          " take about ", best.bytes,
                          " bytes of a tile, more than availableMemoryProportion allows: ", room);
  return best;
}

bool isWorkedByPartition(const poplar::Type &type, const poplar::Target &target,
                         const SliceSizes &sizes, std::size_t elements, std::size_t tiles) {
  const std::size_t rows = sizes.rows + sizes.lookups;
  return sizes.rows && sizes.columns && sizes.lookups &&
         (rows * (elements * target.getTypeSize(type) + kBytesOfARow) > kBytesOfATile ||
          rows * tiles > kPieces);
}

} // namespace popops
