// AVX2 with FMA and BMI2: eight lanes, sixteen registers.
#if defined(__x86_64__)

#include <cstdint>

#include <immintrin.h>

#include "x86_fold.h"

namespace {

struct Vec : X86Fold {
  using F = __m256;
  using M = __m256;
  static constexpr int lanes = 8;
  // A dense product's rows and vectors, held in registers: 12 of 16.
  static constexpr int product_rows = 6, product_vectors = 2;

  static F zero() { return _mm256_setzero_ps(); }
  static F all(float x) { return _mm256_set1_ps(x); }
  static F load(const float *from) { return _mm256_loadu_ps(from); }
  static void store(float *to, F a) { _mm256_storeu_ps(to, a); }
  static void load_pair(const float *from, F &first, F &second) {
    __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    first = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
    second = _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32(-0x10000)));
  }
  // The lanes of both by turns: the lower halves', and then the upper halves'.
  static void interleave(F &first, F &second) {
    F even = _mm256_unpacklo_ps(first, second), odd = _mm256_unpackhi_ps(first, second);
    first = _mm256_permute2f128_ps(even, odd, 0x20);
    second = _mm256_permute2f128_ps(even, odd, 0x31);
  }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F sqrt(F a) { return _mm256_sqrt_ps(a); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F abs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static M greater(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static unsigned bits(M mask) { return static_cast<unsigned>(_mm256_movemask_ps(mask)); }
  static M mask(unsigned bits) {
    __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i all = _mm256_set1_epi32(static_cast<int>(bits));
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(all, lane), lane));
  }
  static F zero_where(M mask, F a) { return _mm256_andnot_ps(mask, a); }
  // One byte per lane: 0xff where its bit is set.
  static uint64_t bytes(unsigned bits) { return _pdep_u64(bits, 0x0101010101010101u) * 0xff; }
  static __m256i indices(uint64_t bytes) {
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
  }
  static void store_compressed(float *to, unsigned bits, F a) {
    uint64_t order = _pext_u64(0x0706050403020100u, bytes(bits));
    store(to, _mm256_permutevar8x32_ps(a, indices(order)));
  }
  static F load_first(const float *from, int count) {
    return _mm256_maskload_ps(from, _mm256_castps_si256(mask((1u << count) - 1)));
  }
  static void store_first(float *to, int count, F a) {
    _mm256_maskstore_ps(to, _mm256_castps_si256(mask((1u << count) - 1)), a);
  }
  static F load_expanded(const float *from, unsigned bits) {
    uint64_t order = _pdep_u64(0x0706050403020100u, bytes(bits));
    return _mm256_and_ps(_mm256_permutevar8x32_ps(load(from), indices(order)), mask(bits));
  }
};

} // namespace

#include "kernels/panel.h"

namespace lif {

const Kernel &kernel_x86_avx2() {
  static constexpr Kernel kernel = make_kernel("x86_avx2");
  return kernel;
}

} // namespace lif

#endif
