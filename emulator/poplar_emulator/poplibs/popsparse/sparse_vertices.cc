// Vertices of sparse weights.
#include <algorithm>
#include <cstring>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "sparse_layout.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// Reads the metainformation, which the host writes, with bounds checks: a program that runs before
/// it was written finds other numbers there.
struct Blocks {
  const std::uint16_t *words;
  std::size_t room; // for blocks

  Blocks(const Span &header, const Span &places)
      : words(static_cast<const std::uint16_t *>(header.first)), room(places.count / 2),
        places(static_cast<const std::uint16_t *>(places.first)) {}
  std::size_t count() const {
    return words[popsparse::kBlocksLow] + (std::size_t{words[popsparse::kBlocksHigh]} << 16);
  }
  std::size_t rows() const { return words[popsparse::kBlockRows]; }
  std::size_t columns() const { return words[popsparse::kBlockColumns]; }
  std::size_t row(std::size_t i) const { return places[2 * i] * rows(); }
  std::size_t column(std::size_t i) const { return places[2 * i + 1] * columns(); }

private:
  const std::uint16_t *places;
};

/// out[r], row `choice` + r of the weights, from rows: header, places and values of all blocks.
bool toDense(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Blocks blocks(row(v.rows, 0), row(v.rows, 1));
  const Span &values = row(v.rows, 2);
  const Type type = typeOf(v.type);
  const std::size_t size = sizeOf(type);
  for (std::size_t r = 0; r < v.out.count; ++r)
    std::memset(row(v.out, r).first, 0, row(v.out, r).count * size);
  std::size_t from = 0;
  for (std::size_t i = 0; i < std::min(blocks.count(), blocks.room); ++i)
    for (std::size_t r = blocks.row(i); r < blocks.row(i) + blocks.rows();
         ++r, from += blocks.columns()) {
      if (r < v.choice || r >= v.choice + v.out.count)
        continue;
      const Span &to = row(v.out, r - v.choice);
      if (blocks.column(i) + blocks.columns() <= to.count &&
          from + blocks.columns() <= values.count)
        std::memcpy(static_cast<char *>(to.first) + blocks.column(i) * size,
                    static_cast<const char *>(values.first) + from * size, blocks.columns() * size);
    }
  return true;
}

/// out: the gradients of the values of blocks `choice` and on, from rows: header, those blocks'
/// places, and by sample the gradients and then the activations.
bool valueGradients(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Blocks blocks(row(v.rows, 0), row(v.rows, 1));
  const Type type = typeOf(v.type);
  const std::size_t batch = (v.rows.count - 2) / 2;
  const std::size_t groups = std::max<std::size_t>(1, blocks.words[popsparse::kGroups]);
  std::memset(v.out.first, 0, v.out.count * sizeOf(type));
  std::size_t to = 0;
  for (std::size_t i = 0; i < blocks.room && v.choice + i < blocks.count(); ++i)
    for (std::size_t r = blocks.row(i); r < blocks.row(i) + blocks.rows(); ++r)
      for (std::size_t c = 0; c < blocks.columns(); ++c, ++to) {
        float sum = 0;
        for (std::size_t b = 0; b < batch; ++b) {
          const Span &grads = row(v.rows, 2 + b), &acts = row(v.rows, 2 + batch + b);
          const std::size_t group = r / std::max<std::size_t>(1, grads.count / groups);
          const std::size_t column = group * (acts.count / groups) + blocks.column(i) + c;
          if (r < grads.count && column < acts.count)
            sum += static_cast<float>(numberAt(type, grads.first, r)) *
                   static_cast<float>(numberAt(type, acts.first, column));
        }
        if (to < v.out.count)
          storeNumber(type, v.out.first, to, static_cast<double>(sum));
      }
  return true;
}

/// Adds rows to the values of blocks `choice` and on, inout, from rows: header, those blocks'
/// places, the factor, and the rows that `indices` name.
bool rowUpdates(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Blocks blocks(row(v.rows, 0), row(v.rows, 1));
  const Type type = typeOf(v.type);
  const double factor = numberAt(Type(Type::Id::Float), row(v.rows, 2).first, 0);
  const auto *indices = static_cast<const std::uint32_t *>(v.indices.first);
  const std::size_t size = blocks.rows() * blocks.columns();
  for (std::size_t i = 0; i < blocks.room && v.choice + i < blocks.count(); ++i)
    for (std::size_t slice = 0; slice < v.indices.count; ++slice) {
      const std::size_t r = indices[slice] - blocks.row(i);
      const Span &from = row(v.rows, 3 + slice);
      if (r >= blocks.rows() || blocks.column(i) + blocks.columns() > from.count ||
          (i + 1) * size > v.inout.count)
        continue;
      for (std::size_t c = 0; c < blocks.columns(); ++c) {
        const std::size_t to = i * size + r * blocks.columns() + c;
        storeNumber(type, v.inout.first, to,
                    numberAt(type, v.inout.first, to) +
                        factor * numberAt(type, from.first, blocks.column(i) + c));
      }
    }
  return true;
}

/// Four bundles for each value that is looked at, by six workers: inferred.
VertexPerfEstimate toDenseCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t values = v.getFieldInfo("rows").getSizeAtIndex(2);
  const unsigned workers = target.getNumWorkerContexts();
  return workers * (58 + 4 * ceilDivide(values, workers)) + 11;
}
/// Two bundles to compare each index with each block, and three for an addition: inferred.
VertexPerfEstimate rowUpdateCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t blocks = v.getFieldInfo("rows").getSizeAtIndex(1) / 2;
  const std::uint64_t pairs = blocks * v.getFieldInfo("indices").size();
  const unsigned workers = target.getNumWorkerContexts();
  return workers * (58 + ceilDivide(2 * pairs + 3 * v.getFieldInfo("inout").size(), workers)) + 11;
}
/// One product a bundle: inferred.
VertexPerfEstimate gradientCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t products =
      v.getFieldInfo("out").size() * ((v.getFieldInfo("rows").size() - 2) / 2);
  const unsigned workers = target.getNumWorkerContexts();
  return {workers * (58 + ceilDivide(products, workers)) + 11, 2 * products};
}

} // namespace

std::vector<BuiltinVertex> sparseVertices() {
  return {arrayVertex("popsparse", kSparseToDense, kRows | kOutRows, &toDense, &toDenseCycles),
          arrayVertex("popsparse", kSparseGradient, kRows | kOut, &valueGradients, &gradientCycles),
          arrayVertex("popsparse", kSparseRowUpdate, kRows | kIndices | kInOut, &rowUpdates,
                      &rowUpdateCycles)};
}

} // namespace poplar::emulator
