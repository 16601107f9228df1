#ifndef IPULSE_POPLIBS_SLICE_PARTITION_H
#define IPULSE_POPLIBS_SLICE_PARTITION_H

#include <cstddef>

#include <poplar/Interval.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Target.hpp>
#include <poplar/Type.hpp>

namespace popops {

/// The sizes of a table, and how many of its rows are looked up or updated.
struct SliceSizes {
  std::size_t rows = 0, columns = 0, lookups = 0;
};

/// How slices of single rows are worked: serial parts of the lookups, one after the other, each of
/// them on a tile for each part of the lookups, rows and columns. Every tile has a copy of its part
/// of the table.
struct SlicePartition {
  SliceSizes sizes; // of the table and of all lookups
  std::size_t serial = 1, lookups = 1, rows = 1, columns = 1;
  double bytes = 0; // of a tile

  std::size_t rowsOfPart() const { return (sizes.rows + rows - 1) / rows; }
  unsigned tile(std::size_t lookup, std::size_t row, std::size_t column) const {
    return static_cast<unsigned>((lookup * rows + row) * columns + column);
  }
  poplar::Interval rowsOf(std::size_t part) const;
  poplar::Interval columnsOf(std::size_t part) const;
  /// Returns the lookups of a serial part, or the part of them that `lookup` has.
  poplar::Interval lookupsOf(std::size_t serialPart) const;
  poplar::Interval lookupsOf(std::size_t serialPart, std::size_t lookup) const;
};

/// The use of slices.
enum class SliceUse {
  Read,
  ReadAndCombine, // the sum of both costs decides
  Combine,        // updates by an operation of any order: parts of the lookups at once
  Write           // updates in the order of the lookups
};

/// Returns part `part` of `parts` of an interval, of nearly equal sizes.
poplar::Interval partOf(const poplar::Interval &whole, std::size_t part, std::size_t parts);

/// Returns the partition with the least estimated cycles that fits into the share of a tile's
/// memory. If none fits, returns the one that needs the least memory, and logs a warning.
/// like: null, or a partition with the parts of rows and columns to use. Ordered updates use its
/// columns only.
SlicePartition planSlices(const poplar::Target &target, const poplar::Type &type,
                          const SliceSizes &sizes, SliceUse use, double share,
                          const SlicePartition *like = nullptr);

/// Returns whether slices are worked by a partition: `elements` of each row are on one tile, which
/// would otherwise have all rows and lookups of them, and a row is on `tiles` tiles.
bool isWorkedByPartition(const poplar::Type &type, const poplar::Target &target,
                         const SliceSizes &sizes, std::size_t elements, std::size_t tiles);

} // namespace popops

#endif
