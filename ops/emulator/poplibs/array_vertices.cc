// The vertices of fill, reduce, dynamicSlice, dynamicUpdate, matMul and the random generators.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <poplar/VertexIntrospector.hpp>
#include <popops/Operation.hpp>

#include "../src/builtin_vertices.h"
#include "../src/conversion.h"
#include "array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::Shape;
using field::Span;

/// Every vertex here has the same fields, of which each uses some.
struct ArrayVertex {
  Span rows;     // Input
  Span scalar;   // Input
  Span out;      // Output
  Span inout;    // InOut
  unsigned type; // of the elements of rows, out and inout
  unsigned outType;
  unsigned choice; // operation, or what the vertex says
  float a, b;
};

const ArrayVertex &as(void *state) { return *static_cast<const ArrayVertex *>(state); }
Type typeOf(unsigned id) { return Type(static_cast<Type::Id>(id)); }
const Span &row(const Span &rows, std::size_t i) {
  return static_cast<const Span *>(rows.first)[i];
}

bool fillCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  const Type type = typeOf(v.outType);
  for (std::size_t i = 0; i < v.out.count; ++i)
    storeNumber(type, v.out.first, i, static_cast<double>(v.a) + static_cast<double>(v.b));
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
  const ArrayVertex &v = as(state);
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

std::size_t offsetOf(const ArrayVertex &v, std::size_t extent) {
  return *static_cast<const std::uint32_t *>(v.scalar.first) % extent;
}

/// out[k * n ...] = rows[(offset + k) mod rows]: the slice's elements of this vertex.
bool sliceCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  const std::size_t size = sizeOf(typeOf(v.type)), first = offsetOf(v, v.rows.count);
  const std::size_t n = row(v.rows, 0).count;
  for (std::size_t k = 0; k < v.choice; ++k)
    std::memcpy(static_cast<char *>(v.out.first) + k * n * size,
                row(v.rows, (first + k) % v.rows.count).first, n * size);
  return true;
}

/// inout[(offset + k) mod rows] = rows[k].
bool updateCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  const std::size_t size = sizeOf(typeOf(v.type)), first = offsetOf(v, v.inout.count);
  for (std::size_t k = 0; k < v.rows.count; ++k)
    std::memcpy(row(v.inout, (first + k) % v.inout.count).first, row(v.rows, k).first,
                row(v.rows, k).count * size);
  return true;
}

/// out = row 0 of `rows` times the other rows, one element each, accumulated in float.
bool matMulCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  const Type type = typeOf(v.type), outType = typeOf(v.outType);
  const Span &a = row(v.rows, 0);
  for (std::size_t j = 0; j < v.out.count; ++j) {
    const Span &b = row(v.rows, j + 1);
    float sum = 0;
    for (std::size_t k = 0; k < a.count; ++k)
      sum += static_cast<float>(numberAt(type, a.first, k)) *
             static_cast<float>(numberAt(type, b.first, k));
    storeNumber(outType, v.out.first, j, static_cast<double>(sum));
  }
  return true;
}

/// Sebastiano Vigna's splitmix64: a bijection of a counter, so that any start is a good one.
std::uint64_t mix(std::uint64_t &x) {
  std::uint64_t z = (x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
double unit(std::uint64_t &x) { return static_cast<double>(mix(x) >> 11) * 0x1p-53; }

bool randomCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  std::uint64_t seed;
  std::memcpy(&seed, row(v.rows, 0).first, sizeof seed);
  std::uint64_t x = seed ^ (std::uint64_t{v.type} << 32); // the vertex's own number
  x = mix(x);                                             // neighbouring numbers become far apart
  for (std::size_t i = 0; i < v.out.count; ++i) {
    const double u = unit(x);
    double value = 0;
    switch (static_cast<Distribution>(v.choice)) {
    case Distribution::Uniform:
      value = static_cast<double>(v.a) + u * (static_cast<double>(v.b) - static_cast<double>(v.a));
      break;
    case Distribution::Normal:
      value = static_cast<double>(v.a) + static_cast<double>(v.b) *
                                             std::sqrt(-2 * std::log(1 - u)) *
                                             std::cos(6.283185307179586 * unit(x));
      break;
    case Distribution::Bernoulli:
      value = u < static_cast<double>(v.a);
      break;
    }
    storeNumber(typeOf(v.outType), v.out.first, i, value);
  }
  return true;
}

/// The first elements of row 0 in their order, or their indices. `choice`: bit 0 the largest, bits
/// 1 and 2 the SortOrder, bit 3 indices.
bool topKCompute(void *state, unsigned) {
  const ArrayVertex &v = as(state);
  const Type type = typeOf(v.type);
  const Span &values = row(v.rows, 0);
  const bool largest = v.choice & 1, ascending = ((v.choice >> 1) & 3) == 1;
  const auto at = [&](std::uint32_t i) { return numberAt(type, values.first, i); };
  std::vector<std::uint32_t> order(values.count);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::uint32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return largest ? at(a) > at(b) : at(a) < at(b);
  });
  order.resize(v.out.count);
  if (ascending == largest)
    std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    storeNumber(typeOf(v.outType), v.out.first, i, v.choice & 8 ? order[i] : at(order[i]));
  return true;
}

std::uint64_t ceilDivide(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// PopLibs 3.3 cycle estimators: float 16 + n/2 + 6 + odd, half 26 + n/4.
VertexPerfEstimate fillCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t n = v.getFieldInfo("out").size();
  const auto id = v.getFieldInfo("outType").getInitialValue<unsigned>(target);
  return typeOf(id) == HALF ? 26 + n / 4 : 16 + n / 2 + 6 + n % 2;
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

/// PopLibs 3.3 multiSlice: (29 + 19 + words / width x 2) a slice, for the workers.
VertexPerfEstimate sliceCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const std::uint64_t n = rows.size() ? rows.getSizeAtIndex(0) : 0;
  const auto slices = v.getFieldInfo("choice").getInitialValue<unsigned>(target);
  const unsigned workers = target.getNumWorkerContexts();
  const std::uint64_t perWorker = ceilDivide(n, workers);
  return workers * (29 + std::uint64_t{slices} * (19 + ceilDivide(perWorker, 2) * 2));
}

/// 16 multiply-accumulates a cycle in half, 4 in float: the published peaks of a Mk2 (250 and 62.5
/// TFLOP/s) by tiles and clock, from memory, halved for float operands to what one unit takes in.
VertexPerfEstimate matMulCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const auto type = typeOf(v.getFieldInfo("type").getInitialValue<unsigned>(target));
  const std::uint64_t macs = rows.getSizeAtIndex(0) * (rows.size() - 1);
  return {ceilDivide(macs, type == HALF ? 64 : 16) + 100, 2 * macs};
}

/// One vector of random bits a cycle and worker, and its conversion: inferred.
VertexPerfEstimate randomCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t n = v.getFieldInfo("out").size();
  const unsigned workers = target.getNumWorkerContexts();
  return workers * (58 + 6 * ceilDivide(n, 2 * std::uint64_t{workers})) + 11;
}

/// A bitonic network's comparisons, n log2(n)^2 / 4, at the published 14 cycles for 4: inferred.
VertexPerfEstimate topKCycles(const VertexIntrospector &v, const Target &target) {
  const auto n = static_cast<double>(v.getFieldInfo("rows").getSizeAtIndex(0));
  const double steps = std::ceil(std::log2(std::max(n, 2.0)));
  const unsigned workers = target.getNumWorkerContexts();
  return workers * 58 + 11 + static_cast<std::uint64_t>(n * steps * steps / 4 * 14 / 4);
}

enum Use : unsigned { kRows = 1, kScalar = 2, kOut = 4, kInOut = 8, kInOutRows = 16 };

BuiltinVertex vertex(const char *library, const char *name, unsigned use,
                     bool (*compute)(void *, unsigned), PerfEstimateFunc cycles) {
  auto fields = std::make_shared<std::vector<field::FieldTable>>();
  if (use & kRows)
    fields->push_back(
        anyField("rows", offsetof(ArrayVertex, rows), Direction::Input, Shape::VectorOfVectors));
  if (use & kScalar)
    fields->push_back(
        anyField("scalar", offsetof(ArrayVertex, scalar), Direction::Input, Shape::Scalar));
  if (use & kOut)
    fields->push_back(
        anyField("out", offsetof(ArrayVertex, out), Direction::Output, Shape::Vector));
  if (use & (kInOut | kInOutRows))
    fields->push_back(anyField("inout", offsetof(ArrayVertex, inout), Direction::InOut,
                               use & kInOut ? Shape::Vector : Shape::VectorOfVectors));
  const auto value = [&](const char *fieldName, std::size_t offset, Type::Id element) {
    fields->push_back(valueField(fieldName, offset, Shape::Scalar, element));
  };
  value("type", offsetof(ArrayVertex, type), Type::Id::UnsignedInt);
  value("outType", offsetof(ArrayVertex, outType), Type::Id::UnsignedInt);
  value("choice", offsetof(ArrayVertex, choice), Type::Id::UnsignedInt);
  value("a", offsetof(ArrayVertex, a), Type::Id::Float);
  value("b", offsetof(ArrayVertex, b), Type::Id::Float);
  return {library,
          {name, sizeof(ArrayVertex), alignof(ArrayVertex), field::Kind::SupervisorVertex,
           fields->data(), static_cast<unsigned>(fields->size()), compute, 300},
          std::move(cycles),
          fields};
}

} // namespace

std::vector<BuiltinVertex> arrayVertices() {
  return {
      vertex("popops", kFill, kOut, &fillCompute, &fillCycles),
      vertex("popops", kReduce, kRows | kScalar | kOut, &reduceFresh, &reduceCycles),
      vertex("popops", kReduceUpdate, kRows | kScalar | kInOut, &reduceUpdate, &reduceCycles),
      vertex("popops", kDynamicSlice, kRows | kScalar | kOut, &sliceCompute, &sliceCycles),
      vertex("popops", kDynamicUpdate, kRows | kScalar | kInOutRows, &updateCompute, &sliceCycles),
      vertex("popops", kTopK, kRows | kOut, &topKCompute, &topKCycles),
      vertex("poplin", kMatMul, kRows | kOut, &matMulCompute, &matMulCycles),
      vertex("poprand", kRandom, kRows | kOut, &randomCompute, &randomCycles)};
}

} // namespace poplar::emulator
