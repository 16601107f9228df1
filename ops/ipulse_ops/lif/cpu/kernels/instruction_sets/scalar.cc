// Any machine, in the vectors of four that GCC and Clang write for it: registers where it has them,
// else plain arithmetic. Eight lanes, because a set of neurons is stored in whole bytes.
#include <cstdint>
#include <cstring>

#include "lane_by_lane.h"

namespace {

struct Vec : LaneByLane<Vec> {
  using Floats = float __attribute__((vector_size(16)));
  using Words = uint32_t __attribute__((vector_size(16)));
  using Doubles = double __attribute__((vector_size(32)));
  using Longs = int64_t __attribute__((vector_size(32)));
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
  // a * b + c, rounded once, without an instruction for it. A double holds the product exactly. The
  // sum is rounded to odd, so that rounding it again, to float, is as if it had not been rounded
  // (Boldo and Melquiond, 2008).
  static Floats fma(Floats a, Floats b, Floats c) {
    Doubles product = __builtin_convertvector(a, Doubles) * __builtin_convertvector(b, Doubles);
    Doubles term = __builtin_convertvector(c, Doubles), sum = product + term;
    // The exact error of the sum: zero if it is exact, NaN if it is not finite.
    Doubles of_term = sum - product;
    Doubles error = (product - (sum - of_term)) + (term - of_term);
    // One step away from zero where that is the direction of its error, else towards zero.
    Longs inexact = Longs(error < 0) | Longs(error > 0);
    Longs away = ~(Longs(error < 0) ^ Longs(sum < 0));
    Longs even = (Longs(sum) & 1) - 1;
    Longs step = (away & 2) - 1;
    sum = Doubles(Longs(sum) + (step & inexact & even));
    return __builtin_convertvector(sum, Floats);
  }
  static F fma(F a, F b, F c) { return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)}; }
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
  // The sums of eight times sixteen lanes, see sampled_product.h.
  static void fold_eight(const float *sums, float *to) {
    for (int k = 0; k < 8; ++k, sums += 16) {
      F halves = add(load(sums), load(sums + 8));
      Floats four = halves.low + halves.high;
      to[k] = (four[0] + four[2]) + (four[1] + four[3]);
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
