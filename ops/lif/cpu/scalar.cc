// Plain C++, for any machine. Eight lanes, because a set of neurons is stored in whole bytes.
#include <cstdint>
#include <cstring>

namespace {

struct Vec {
  struct F {
    float lane[8];
  };
  using M = unsigned;
  static constexpr int lanes = 8;
  // A dense product's rows and vectors, held in registers.
  static constexpr int product_rows = 3, product_vectors = 1;

  template <class Op> static F each(Op op) {
    F result;
    for (int i = 0; i < lanes; ++i)
      result.lane[i] = op(i);
    return result;
  }
  static F zero() {
    return each([](int) { return 0.0f; });
  }
  static F all(float x) {
    return each([=](int) { return x; });
  }
  static F load(const float *from) {
    return each([=](int i) { return from[i]; });
  }
  static void store(float *to, const F &a) {
    for (int i = 0; i < lanes; ++i)
      to[i] = a.lane[i];
  }
  static void load_pair(const float *from, F &first, F &second) {
    for (int i = 0; i < lanes; ++i) {
      uint32_t word;
      memcpy(&word, from + i, sizeof word);
      uint32_t low = word << 16, high = word & 0xffff0000;
      memcpy(&first.lane[i], &low, sizeof low);
      memcpy(&second.lane[i], &high, sizeof high);
    }
  }
  static F add(const F &a, const F &b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F sub(const F &a, const F &b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static F mul(const F &a, const F &b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F div(const F &a, const F &b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  static F sqrt(const F &a) {
    return each([&](int i) { return __builtin_sqrtf(a.lane[i]); });
  }
  static F fma(const F &a, const F &b, const F &c) {
    return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static F abs(const F &a) {
    return each([&](int i) { return __builtin_fabsf(a.lane[i]); });
  }
  static M greater(const F &a, const F &b) {
    M result = 0;
    for (int i = 0; i < lanes; ++i)
      result |= static_cast<M>(a.lane[i] > b.lane[i]) << i;
    return result;
  }
  static unsigned bits(M mask) { return mask; }
  static M mask(unsigned bits) { return bits; }
  static F zero_where(M mask, const F &a) {
    return each([&](int i) { return mask >> i & 1 ? 0.0f : a.lane[i]; });
  }
  static void store_compressed(float *to, unsigned bits, const F &a) {
    for (int i = 0; i < lanes; ++i)
      if (bits >> i & 1)
        *to++ = a.lane[i];
  }
  static F load_expanded(const float *from, unsigned bits) {
    return each([&](int i) { return bits >> i & 1 ? *from++ : 0.0f; });
  }
  static void sum_each(const F (&a)[8], float *sums) {
    for (int g = 0; g < 8; ++g) {
      sums[g] = 0;
      for (int i = 0; i < lanes; ++i)
        sums[g] += a[g].lane[i];
    }
  }
};

} // namespace

#include "panel.h"

namespace lif {

const Kernel &kernel_scalar() {
  static constexpr Kernel kernel = make_kernel("scalar");
  return kernel;
}

} // namespace lif
