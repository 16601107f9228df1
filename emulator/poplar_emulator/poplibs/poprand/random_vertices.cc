// Vertices that draw random numbers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// Sebastiano Vigna's splitmix64: a bijection of a counter, so that every start is valid.
std::uint64_t mix(std::uint64_t &x) {
  std::uint64_t z = (x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
double unit(std::uint64_t &x) { return static_cast<double>(mix(x) >> 11) * 0x1p-53; }

/// Standard, by Box and Muller.
double normal(std::uint64_t &x) {
  const double u = unit(x);
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(6.283185307179586 * unit(x));
}

/// Uniform from a to b, both included: [M].
double wholeNumber(double a, double b, double unit) {
  return std::min(std::floor(a + unit * (b - a + 1)), std::min(b, 0x7fffffffp0));
}

double draw(const ArrayVertex &v, std::uint64_t &x) {
  const auto a = static_cast<double>(v.a), b = static_cast<double>(v.b);
  switch (static_cast<Distribution>(v.choice)) {
  case Distribution::Uniform:
    return v.outType == static_cast<unsigned>(TypeId::Int) ? wholeNumber(a, b, unit(x))
                                                           : a + unit(x) * (b - a);
  case Distribution::Normal:
    return a + b * normal(x);
  case Distribution::Bernoulli:
    return unit(x) < a;
  case Distribution::TruncatedNormal: { // standard, within +-a
    double value = normal(x);
    while (std::fabs(value) > a)
      value = normal(x);
    return value;
  }
  case Distribution::LogUniform:
    return std::exp(std::log(a) + unit(x) * (std::log(b) - std::log(a)));
  case Distribution::Bits:
    return static_cast<double>(mix(x) >> 32);
  }
  return 0;
}

void fillRandom(const ArrayVertex &v, std::uint64_t &x) {
  for (std::size_t i = 0; i < v.out.count; ++i)
    storeNumber(typeOf(v.outType), v.out.first, i, draw(v, x));
}

/// Draws from a seed: the same numbers in every run.
bool randomCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  std::uint64_t seed;
  std::memcpy(&seed, row(v.rows, 0).first, sizeof seed);
  std::uint64_t x = seed ^ (std::uint64_t{v.type} << 32); // the vertex's own number
  x = mix(x);                                             // decorrelates neighbouring numbers
  fillRandom(v, x);
  return true;
}

/// Draws from the generator of the tile, and advances it.
bool randomOfTileCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  std::uint64_t x;
  std::memcpy(&x, v.inout.first, sizeof x);
  fillRandom(v, x);
  std::memcpy(v.inout.first, &x, sizeof x);
  return true;
}

/// One vector of random bits a cycle and worker, and its conversion: inferred.
VertexPerfEstimate randomCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t n = v.getFieldInfo("out").size();
  const unsigned workers = target.getNumWorkerContexts();
  return workers * (58 + 6 * ceilDivide(n, 2 * std::uint64_t{workers})) + 11;
}

} // namespace

std::vector<BuiltinVertex> randomVertices() {
  return {
      arrayVertex("poprand", kRandom, kRows | kOut, &randomCompute, &randomCycles),
      arrayVertex("poprand", kRandomOfTile, kOut | kInOut, &randomOfTileCompute, &randomCycles)};
}

} // namespace poplar::emulator
