// Vertices that fill, count and reduce.
#include <algorithm>
#include <cmath>

#include <poplar/VertexIntrospector.hpp>
#include <popops/Operation.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

bool fillCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.outType);
  for (std::size_t r = 0; r < v.out.count; ++r)
    for (std::size_t i = 0; i < row(v.out, r).count; ++i)
      storeNumber(type, row(v.out, r).first, i,
                  static_cast<double>(v.a) + static_cast<double>(v.b));
  return true;
}

/// out[i] = choice + i
bool countCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  for (std::size_t i = 0; i < v.out.count; ++i)
    storeNumber(typeOf(v.outType), v.out.first, i,
                static_cast<double>(static_cast<std::int32_t>(v.choice)) + static_cast<double>(i));
  return true;
}

double start(popops::Operation op) {
  switch (op) {
  case popops::Operation::MUL:
  case popops::Operation::LOGICAL_AND:
    return 1;
  case popops::Operation::MIN:
    return INFINITY;
  case popops::Operation::MAX:
  case popops::Operation::LOG_ADD:
    return -INFINITY;
  default:
    return 0;
  }
}

double combine(popops::Operation op, double a, double b) {
  switch (op) {
  case popops::Operation::ADD:
    return a + b;
  case popops::Operation::MUL:
    return a * b;
  case popops::Operation::MIN:
    return std::min(a, b);
  case popops::Operation::MAX:
    return std::max(a, b);
  case popops::Operation::LOGICAL_AND:
    return a != 0 && b != 0;
  case popops::Operation::LOGICAL_OR:
    return a != 0 || b != 0;
  case popops::Operation::SQUARE_ADD:
    return a + b * b;
  case popops::Operation::LOG_ADD: {
    const double most = std::max(a, b);
    return std::isinf(most) ? most : most + std::log1p(std::exp(std::min(a, b) - most));
  }
  }
  return 0;
}

/// out[i] = op of row i, in float as on the device: partial sums are rounded.
bool reduceCompute(void *state, bool update) {
  const ArrayVertex &v = asArray(state);
  const auto op = static_cast<popops::Operation>(v.choice);
  const Type type = typeOf(v.type), outType = typeOf(v.outType);
  const Span &out = update ? v.inout : v.out;
  const double scale = v.scalar.first && v.a != 0
                           ? static_cast<double>(*static_cast<const float *>(v.scalar.first))
                           : 1;
  const bool isFloat = type == FLOAT || type == HALF;
  for (std::size_t i = 0; i < out.count; ++i) {
    double sum = start(op);
    const Span &values = row(v.rows, i);
    for (std::size_t k = 0; k < values.count; ++k) {
      sum = combine(op, sum, numberAt(type, values.first, k));
      if (isFloat)
        sum = static_cast<float>(sum);
    }
    sum *= scale;
    if (update)
      sum += numberAt(outType, out.first, i);
    storeNumber(outType, out.first, i, sum);
  }
  return true;
}
bool reduceFresh(void *state, unsigned) { return reduceCompute(state, false); }
bool reduceUpdate(void *state, unsigned) { return reduceCompute(state, true); }

/// PopLibs 3.3 cycle estimators, by the size of an element.
std::uint64_t fillCyclesOf(std::uint64_t n, std::size_t bytes) {
  switch (bytes) {
  case 1:
    return n < 64 ? 28 + n / 4 : 39 + n / 8;
  case 2:
    return 26 + n / 4;
  case 8:
    return 5 + n;
  default:
    return 16 + n / 2 + 6 + n % 2;
  }
}
std::size_t outBytes(const VertexIntrospector &v, const Target &target) {
  return sizeOf(typeOf(v.getFieldInfo("outType").getInitialValue<unsigned>(target)));
}
VertexPerfEstimate countCycles(const VertexIntrospector &v, const Target &target) {
  return fillCyclesOf(v.getFieldInfo("out").size(), outBytes(v, target));
}

/// Several regions: the sum, with one start, and a row and its loop for each further region
/// (inferred).
VertexPerfEstimate fillCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector out = v.getFieldInfo("out");
  const std::size_t bytes = outBytes(v, target);
  const std::uint64_t start = fillCyclesOf(0, bytes);
  const Machine &m = target.getMachine();
  std::uint64_t cycles = start;
  for (std::size_t r = 0; r < out.size(); ++r)
    cycles += fillCyclesOf(out.getSizeAtIndex(r), bytes) - start +
              (r ? m.listRowBundles + m.innerLoopBundles : 0);
  return cycles;
}

/// PopLibs 3.3 ReductionPlan.cpp: rows x vectors, one at a time, for each of six workers' share;
/// with the overhead of a one-dimensional vertex.
VertexPerfEstimate reduceCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const auto type = typeOf(v.getFieldInfo("type").getInitialValue<unsigned>(target));
  const unsigned workers = target.getNumWorkerContexts();
  std::uint64_t vectors = 0, elements = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    elements += rows.getSizeAtIndex(i);
    vectors += ceilDivide(rows.getSizeAtIndex(i), target.getVectorWidth(type)) + 5;
  }
  return {workers * (58 + ceilDivide(vectors, workers)) + 11, elements};
}

} // namespace

std::vector<BuiltinVertex> reduceVertices() {
  return {
      arrayVertex("popops", kFill, kOutRows, &fillCompute, &fillCycles),
      arrayVertex("popops", kCount, kOut, &countCompute, &countCycles),
      arrayVertex("popops", kReduce, kRows | kScalar | kOut, &reduceFresh, &reduceCycles),
      arrayVertex("popops", kReduceUpdate, kRows | kScalar | kInOut, &reduceUpdate, &reduceCycles)};
}

} // namespace poplar::emulator
