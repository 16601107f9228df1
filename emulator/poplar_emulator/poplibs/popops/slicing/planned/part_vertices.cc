#include "part_vertices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "slice_costs.h"

namespace poplar::emulator {
namespace {

using field::Span;

const PartVertex &asPart(void *state) { return *static_cast<const PartVertex *>(state); }

std::uint32_t indexAt(const PartVertex &v, std::size_t i) {
  return static_cast<const std::uint32_t *>(v.indices.first)[i];
}
/// Row i of a flat span.
char *partRow(const Span &flat, const PartVertex &v, std::size_t i) {
  return static_cast<char *>(flat.first) + i * v.columns * sizeOf(typeOf(v.type));
}
std::size_t rowsIn(const Span &flat, const PartVertex &v) { return flat.count / v.columns; }

/// out[i] = rows[0][indices[i] - first], where there is such a row.
bool slicePart(void *state, unsigned) {
  const PartVertex &v = asPart(state);
  const Span &table = row(v.rows, 0);
  const std::size_t count = rowsIn(table, v), bytes = v.columns * sizeOf(typeOf(v.type));
  for (std::size_t i = 0; i < v.indices.count; ++i) {
    const std::size_t at = std::size_t{indexAt(v, i)} - v.first;
    if (at < count)
      std::memcpy(partRow(v.out, v, i), partRow(table, v, at), bytes);
  }
  return true;
}

/// out[i] = rows[part of the table with row indices[i]][i]
bool choosePart(void *state, unsigned) {
  const PartVertex &v = asPart(state);
  const std::size_t bytes = v.columns * sizeOf(typeOf(v.type));
  for (std::size_t i = 0; i < v.indices.count; ++i) {
    const std::size_t part = indexAt(v, i) / v.rowsOfPart;
    if (part < v.rows.count)
      std::memcpy(partRow(v.out, v, i), partRow(row(v.rows, part), v, i), bytes);
  }
  return true;
}

double combined(MultiUpdate kind, double scale, double old, double value) {
  return kind == MultiUpdate::Set   ? value
         : kind == MultiUpdate::Add ? old + scale * value
         : kind == MultiUpdate::Mul ? old * value
                                    : std::max(old, value);
}

void combineElements(Type type, MultiUpdate kind, double scale, void *to, const void *from,
                     std::size_t count) {
  if (type == FLOAT) { // the most frequent type: without a choice for each element
    auto *floats = static_cast<float *>(to);
    const auto *values = static_cast<const float *>(from);
    for (std::size_t e = 0; e < count; ++e)
      floats[e] = static_cast<float>(combined(kind, scale, floats[e], values[e]));
    return;
  }
  for (std::size_t e = 0; e < count; ++e)
    storeNumber(type, to, e, combined(kind, scale, numberAt(type, to, e), numberAt(type, from, e)));
}

/// Combines rows[0][i] with row indices[i] - first of `to`.
void combineRows(const PartVertex &v, double scale, const Span &to) {
  const std::size_t count = rowsIn(to, v);
  for (std::size_t i = 0; i < v.indices.count; ++i) {
    const std::size_t at = std::size_t{indexAt(v, i)} - v.first;
    if (at < count)
      combineElements(typeOf(v.type), static_cast<MultiUpdate>(v.kind), scale, partRow(to, v, at),
                      partRow(row(v.rows, 0), v, i), v.columns);
  }
}

/// The element that changes no other. For a maximum the least number of the type.
double neutral(Type type, MultiUpdate kind) {
  if (kind != MultiUpdate::Max)
    return kind == MultiUpdate::Mul ? 1 : 0;
  if (type == FLOAT || type == HALF)
    return -std::numeric_limits<double>::infinity();
  const bool isSigned = type == INT || type == SHORT || type == CHAR || type == SIGNED_CHAR;
  return isSigned ? -std::ldexp(1., static_cast<int>(8 * sizeOf(type)) - 1) : 0;
}

/// out = the rows[0] of each index, combined.
bool collectPart(void *state, unsigned) {
  const PartVertex &v = asPart(state);
  const Type type = typeOf(v.type);
  const double first = neutral(type, static_cast<MultiUpdate>(v.kind));
  for (std::size_t e = 0; e < v.out.count; ++e)
    storeNumber(type, v.out.first, e, first);
  combineRows(v, 1, v.out);
  return true;
}

/// inout[indices[i] - first] is combined with rows[0][i].
bool updatePart(void *state, unsigned) {
  const PartVertex &v = asPart(state);
  combineRows(v, numberAt(typeOf(v.type), v.scalar.first, 0), v.inout);
  return true;
}

/// inout is combined with the sum, maximum or product of all rows.
bool combineParts(void *state, unsigned) {
  const PartVertex &v = asPart(state);
  const Type type = typeOf(v.type);
  const auto kind = static_cast<MultiUpdate>(v.kind);
  std::vector<double> all(v.inout.count, neutral(type, kind));
  for (std::size_t r = 0; r < v.rows.count; ++r) {
    const void *from = row(v.rows, r).first;
    for (std::size_t e = 0; e < all.size(); ++e)
      all[e] =
          combined(kind, 1, all[e],
                   type == FLOAT ? static_cast<const float *>(from)[e] : numberAt(type, from, e));
  }
  const double scale = numberAt(type, v.scalar.first, 0);
  for (std::size_t e = 0; e < all.size(); ++e)
    storeNumber(type, v.inout.first, e,
                combined(kind, scale, numberAt(type, v.inout.first, e), all[e]));
  return true;
}

/// The values of a vertex that its cycles depend on.
struct PartSizes {
  Type type;
  std::size_t columns, lookups, inRange;

  PartSizes(const VertexIntrospector &v, const Target &target)
      : type(typeOf(value(v, target, "type"))), columns(value(v, target, "columns")),
        lookups(v.getFieldInfo("indices").size()),
        inRange(ceilDivide(lookups, value(v, target, "parts"))) {}
  static unsigned value(const VertexIntrospector &v, const Target &target, const char *name) {
    return v.getFieldInfo(name).getInitialValue<unsigned>(target);
  }
};

/// Cycles if the indices are spread evenly over the table.
VertexPerfEstimate partSliceEstimate(const VertexIntrospector &v, const Target &target) {
  const PartSizes s(v, target);
  return popops::partSliceCycles(target, s.type, s.columns, s.lookups, s.inRange);
}
VertexPerfEstimate partUpdateEstimate(const VertexIntrospector &v, const Target &target) {
  const PartSizes s(v, target);
  return popops::partUpdateCycles(target, s.type, s.columns, s.lookups, s.inRange);
}
/// Like an addition of vectors in place: three cycles for each 8 bytes of a worker's share.
VertexPerfEstimate partCombineEstimate(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t workers = target.getNumWorkerContexts();
  const Type type = typeOf(PartSizes::value(v, target, "type"));
  const std::uint64_t bytes = v.getFieldInfo("inout").size() * std::uint64_t{sizeOf(type)};
  return workers * (30 + v.getFieldInfo("rows").size() * ceilDivide(bytes, 8 * workers) * 3);
}

BuiltinVertex partVertex(const char *name, bool (*compute)(void *, unsigned),
                         PerfEstimateFunc cycles) {
  using field::Direction;
  using field::Shape;
  auto fields = std::make_shared<std::vector<field::FieldTable>>();
  const bool updates = name == kUpdatePart || name == kCombineParts;
  const auto edge = [&](const char *field, std::size_t offset, Direction direction, Shape shape) {
    fields->push_back(anyField(field, offset, direction, shape));
  };
  edge("rows", offsetof(PartVertex, rows), Direction::Input, Shape::VectorOfVectors);
  if (name != kCombineParts)
    edge("indices", offsetof(PartVertex, indices), Direction::Input, Shape::Vector);
  if (updates) {
    edge("scalar", offsetof(PartVertex, scalar), Direction::Input, Shape::Scalar);
    edge("inout", offsetof(PartVertex, inout), Direction::InOut, Shape::Vector);
  } else {
    edge("out", offsetof(PartVertex, out), Direction::Output, Shape::Vector);
  }
  for (const auto &[field, offset] : {std::pair{"type", offsetof(PartVertex, type)},
                                      {"kind", offsetof(PartVertex, kind)},
                                      {"columns", offsetof(PartVertex, columns)},
                                      {"first", offsetof(PartVertex, first)},
                                      {"rowsOfPart", offsetof(PartVertex, rowsOfPart)},
                                      {"parts", offsetof(PartVertex, parts)}})
    fields->push_back(valueField(field, offset, Shape::Scalar, Type::Id::UnsignedInt));
  return {"popops",
          {name, sizeof(PartVertex), alignof(PartVertex), field::Kind::SupervisorVertex,
           fields->data(), static_cast<unsigned>(fields->size()), compute, 300},
          std::move(cycles),
          fields};
}

} // namespace

std::vector<BuiltinVertex> partVertices() {
  return {partVertex(kSlicePart, &slicePart, &partSliceEstimate),
          partVertex(kChoosePart, &choosePart, &partSliceEstimate),
          partVertex(kCollectPart, &collectPart, &partUpdateEstimate),
          partVertex(kUpdatePart, &updatePart, &partUpdateEstimate),
          partVertex(kCombineParts, &combineParts, &partCombineEstimate)};
}

} // namespace poplar::emulator
