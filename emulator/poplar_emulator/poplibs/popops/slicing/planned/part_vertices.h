#ifndef IPULSE_POPLIBS_PART_VERTICES_H
#define IPULSE_POPLIBS_PART_VERTICES_H

#include <vector>

#include "codelets/builtin_vertices.h"

namespace poplar::emulator {

/// The vertices of planned slices. PartVertex lists their fields.
constexpr const char *kSlicePart = "popops::MultiSlicePart";
constexpr const char *kChoosePart = "popops::MultiSliceChoosePart";
constexpr const char *kCollectPart = "popops::MultiUpdateCollectPart";
constexpr const char *kUpdatePart = "popops::MultiUpdatePart";
constexpr const char *kCombineParts = "popops::MultiUpdateCombineParts";

/// The state of the vertices of a part of a table. A flat span has rows of `columns` elements.
struct PartVertex {
  field::Span rows;    // Input: flat spans
  field::Span scalar;  // Input: the scale of an addition
  field::Span indices; // Input: rows of the table
  field::Span out;     // Output: a flat span
  field::Span inout;   // InOut: a flat span, a part of the table
  unsigned type;
  unsigned kind; // MultiUpdate
  unsigned columns;
  unsigned first;      // row of the table of this part
  unsigned rowsOfPart; // of the table, the same for all parts but the last
  unsigned parts;      // of the table's rows: one in so many indices is expected to be in this
};

std::vector<BuiltinVertex> partVertices();

} // namespace poplar::emulator

#endif
