// Vertices that move rows by indices.
#include <algorithm>
#include <cstring>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

std::size_t offsetOf(const ArrayVertex &v, std::size_t extent) {
  return *static_cast<const std::uint32_t *>(v.scalar.first) % extent;
}

/// out[k * n ...] = rows[(offset + k) mod rows]: the slice's elements of this vertex.
bool sliceCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const std::size_t size = sizeOf(typeOf(v.type)), first = offsetOf(v, v.rows.count);
  const std::size_t n = row(v.rows, 0).count;
  for (std::size_t k = 0; k < v.choice; ++k)
    std::memcpy(static_cast<char *>(v.out.first) + k * n * size,
                row(v.rows, (first + k) % v.rows.count).first, n * size);
  return true;
}

/// inout[(offset + k) mod rows] = rows[k].
bool updateCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const std::size_t size = sizeOf(typeOf(v.type)), first = offsetOf(v, v.inout.count);
  for (std::size_t k = 0; k < v.rows.count; ++k)
    std::memcpy(row(v.inout, (first + k) % v.inout.count).first, row(v.rows, k).first,
                row(v.rows, k).count * size);
  return true;
}

/// Row k of the slice that begins at indices[i]; null beyond the last row, which is not moved.
const Span *rowAt(const Span &rows, const Span &indices, std::size_t i, std::size_t k) {
  const std::size_t at = static_cast<const std::uint32_t *>(indices.first)[i] + k;
  return at < rows.count ? &row(rows, at) : nullptr;
}

/// out[i][k] = rows[indices[i] + k]
bool multiSliceCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const std::size_t bytes = row(v.rows, 0).count * sizeOf(typeOf(v.type));
  char *out = static_cast<char *>(v.out.first);
  for (std::size_t i = 0; i < v.indices.count; ++i)
    for (std::size_t k = 0; k < v.choice; ++k, out += bytes)
      if (const Span *from = rowAt(v.rows, v.indices, i, k))
        std::memcpy(out, from->first, bytes);
  return true;
}

/// inout[indices[i] + k] is set to rows[i][k], or gets it added or multiplied,
/// or is the larger of both.
bool multiUpdateCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type);
  const auto kind = static_cast<MultiUpdate>(v.choice);
  const auto perIndex = v.indices.count ? v.rows.count / v.indices.count : 0;
  const double scale = numberAt(type, v.scalar.first, 0);
  for (std::size_t i = 0; i < v.rows.count; ++i) {
    const Span *to = rowAt(v.inout, v.indices, i / perIndex, i % perIndex);
    for (std::size_t e = 0; to && e < to->count; ++e) {
      const double old = numberAt(type, to->first, e),
                   value = numberAt(type, row(v.rows, i).first, e);
      storeNumber(type, to->first, e,
                  kind == MultiUpdate::Set   ? value
                  : kind == MultiUpdate::Add ? old + scale * value
                  : kind == MultiUpdate::Mul ? old * value
                                             : std::max(old, value));
    }
  }
  return true;
}

/// Two cycles for each 8 bytes of a worker's share of n elements: published for words, inferred for
/// other sizes.
std::uint64_t moveCycles(const VertexIntrospector &v, const Target &target, std::uint64_t n) {
  const Type type = typeOf(v.getFieldInfo("type").getInitialValue<unsigned>(target));
  return ceilDivide(ceilDivide(n, target.getNumWorkerContexts()) * sizeOf(type), 8) * 2;
}

/// PopLibs 3.3 multiSlice: (29 + 19 + words / width x 2) a slice, for the workers.
VertexPerfEstimate sliceCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const std::uint64_t n = rows.size() ? rows.getSizeAtIndex(0) : 0;
  const auto slices = v.getFieldInfo("choice").getInitialValue<unsigned>(target);
  return target.getNumWorkerContexts() *
         (29 + std::uint64_t{slices} * (19 + moveCycles(v, target, n)));
}

/// The same, for each index.
VertexPerfEstimate multiCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const std::uint64_t n = rows.size() ? rows.getSizeAtIndex(0) : 0;
  const std::uint64_t slices = v.getFieldInfo("indices").size();
  return target.getNumWorkerContexts() * (29 + slices * (19 + moveCycles(v, target, n)));
}

} // namespace

std::vector<BuiltinVertex> sliceVertices() {
  return {
      arrayVertex("popops", kDynamicSlice, kRows | kScalar | kOut, &sliceCompute, &sliceCycles),
      arrayVertex("popops", kDynamicUpdate, kRows | kScalar | kInOutRows, &updateCompute,
                  &sliceCycles),
      arrayVertex("popops", kMultiSlice, kRows | kIndices | kOut, &multiSliceCompute, &multiCycles),
      arrayVertex("popops", kMultiUpdate, kRows | kScalar | kIndices | kInOutRows,
                  &multiUpdateCompute, &multiCycles)};
}

} // namespace poplar::emulator
