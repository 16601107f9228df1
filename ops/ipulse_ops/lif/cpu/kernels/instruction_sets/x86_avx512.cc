// AVX-512: sixteen lanes, thirty-two registers.
#if defined(__x86_64__)

#include <cstdint>

#if !defined(__clang__)
// GCC 12 takes the deliberately undefined operands inside its own intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "x86_fold.h"

namespace {

struct Vec : X86Fold {
  using F = __m512;
  using M = __mmask16;
  static constexpr int lanes = 16;
  // A dense product's rows and vectors, held in registers: 20 of 32.
  static constexpr int product_rows = 10, product_vectors = 2;

  static F zero() { return _mm512_setzero_ps(); }
  static F all(float x) { return _mm512_set1_ps(x); }
  static F load(const float *from) { return _mm512_loadu_ps(from); }
  static void store(float *to, F a) { _mm512_storeu_ps(to, a); }
  static void load_pair(const float *from, F &first, F &second) {
    __m512i words = _mm512_loadu_si512(from);
    first = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    second = _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(-0x10000)));
  }
  // The lanes of both by turns: the lower halves', and then the upper halves'.
  static void interleave(F &first, F &second) {
    __m512i lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
    F lows = _mm512_permutex2var_ps(first, lower, second);
    second = _mm512_permutex2var_ps(first, upper, second);
    first = lows;
  }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F sqrt(F a) { return _mm512_sqrt_ps(a); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  static M greater(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static unsigned bits(M mask) { return mask; }
  static M mask(unsigned bits) { return static_cast<M>(bits); }
  static F zero_where(M mask, F a) { return _mm512_maskz_mov_ps(static_cast<M>(~mask), a); }
  // To a register and then to memory: compressing straight to memory is microcoded on some CPUs.
  static void store_compressed(float *to, unsigned bits, F a) {
    store(to, _mm512_maskz_compress_ps(mask(bits), a));
  }
  static F load_first(const float *from, int count) {
    return _mm512_maskz_loadu_ps(mask((1u << count) - 1), from);
  }
  static void store_first(float *to, int count, F a) {
    _mm512_mask_storeu_ps(to, mask((1u << count) - 1), a);
  }
  static F load_expanded(const float *from, unsigned bits) {
    return _mm512_maskz_expand_ps(mask(bits), load(from));
  }
};

} // namespace

#include "kernels/panel.h"

namespace lif {

const Kernel &kernel_x86_avx512() {
  static constexpr Kernel kernel = make_kernel("x86_avx512");
  return kernel;
}

} // namespace lif

#endif
