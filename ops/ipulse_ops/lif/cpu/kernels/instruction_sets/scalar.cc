// Any machine, in the vectors of four that GCC and Clang write for it: registers where it has them,
// else plain arithmetic. Eight lanes, because a set of neurons is stored in whole bytes.
#include <cstdint>
#include <cstring>

#include "lane_by_lane.h"

namespace {

struct Vec : LaneByLane<Vec> {
  using Floats = float __attribute__((vector_size(16)));
  using Words = uint32_t __attribute__((vector_size(16)));
  struct F {
    Floats low, high;
  };
  struct M {
    Words low, high; // all bits of a lane, or none
  };
  static constexpr int lanes = 8;
  // A dense product's rows and vectors, held in registers: 13 of SSE2's 16.
  static constexpr int product_rows = 5, product_vectors = 1;

  static F zero() { return all(0); }
  static F all(float x) {
    Floats four = {x, x, x, x};
    return {four, four};
  }
  static F load(const float *from) {
    F result;
    memcpy(&result, from, sizeof result);
    return result;
  }
  static void store(float *to, F a) { memcpy(to, &a, sizeof a); }
  static void load_pair(const float *from, F &first, F &second) {
    M words;
    memcpy(&words, from, sizeof words);
    first = {Floats(words.low << 16), Floats(words.high << 16)};
    second = {Floats(words.low & 0xffff0000), Floats(words.high & 0xffff0000)};
  }
  static F add(F a, F b) { return {a.low + b.low, a.high + b.high}; }
  static F sub(F a, F b) { return {a.low - b.low, a.high - b.high}; }
  static F mul(F a, F b) { return {a.low * b.low, a.high * b.high}; }
  static F div(F a, F b) { return {a.low / b.low, a.high / b.high}; }
  static F sqrt(F a) {
    float lane[lanes];
    store(lane, a);
    for (float &x : lane)
      x = __builtin_sqrtf(x);
    return load(lane);
  }
  static F fma(F a, F b, F c) { return {a.low * b.low + c.low, a.high * b.high + c.high}; }
  static F abs(F a) {
    return {Floats(Words(a.low) & 0x7fffffff), Floats(Words(a.high) & 0x7fffffff)};
  }
  static M greater(F a, F b) { return {Words(a.low > b.low), Words(a.high > b.high)}; }
  static constexpr Words LOW = {1, 2, 4, 8}, HIGH = {16, 32, 64, 128};
  static unsigned bits(M mask) {
    Words four = (mask.low & LOW) | (mask.high & HIGH);
    return four[0] | four[1] | four[2] | four[3];
  }
  static M mask(unsigned bits) {
    Words all = {bits, bits, bits, bits};
    return {Words((all & LOW) != 0), Words((all & HIGH) != 0)};
  }
  static F zero_where(M mask, F a) {
    return {Floats(Words(a.low) & ~mask.low), Floats(Words(a.high) & ~mask.high)};
  }
  static void sum_each(const F (&a)[8], float *sums) {
    for (int g = 0; g < 8; ++g) {
      Floats four = a[g].low + a[g].high;
      sums[g] = (four[0] + four[2]) + (four[1] + four[3]);
    }
  }
};

} // namespace

#include "kernels/panel.h"

namespace lif {

const Kernel &kernel_scalar() {
  static constexpr Kernel kernel = make_kernel("scalar");
  return kernel;
}

} // namespace lif
