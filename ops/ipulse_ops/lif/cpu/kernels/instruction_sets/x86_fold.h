// The fold of sampled_product.h in vectors of eight, for all x86 kernels.
#ifndef IPULSE_OPS_LIF_CPU_X86_FOLD_H
#define IPULSE_OPS_LIF_CPU_X86_FOLD_H

#include <immintrin.h>

namespace { // each file's own: they are compiled for different instruction sets

struct X86Fold {
  // Sixteen lanes as eight: lane i with i + 8.
  static __m256 eight_of(const float *sums) {
    return _mm256_add_ps(_mm256_loadu_ps(sums), _mm256_loadu_ps(sums + 8));
  }
  // Eight lanes each of two sums, as four each: lane i with i + 4.
  static __m256 four_of(__m256 a, __m256 b) {
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  // Four lanes each of four sums, as two each: lane i with i + 2.
  static __m256 two_of(__m256 a, __m256 b) {
    return _mm256_add_ps(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 1, 0)),
                         _mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 2, 3, 2)));
  }
  // The sums of eight times sixteen lanes.
  static void fold_eight(const float *sums, float *to) {
    __m256 first = two_of(four_of(eight_of(sums), eight_of(sums + 64)),
                          four_of(eight_of(sums + 16), eight_of(sums + 80)));
    __m256 second = two_of(four_of(eight_of(sums + 32), eight_of(sums + 96)),
                           four_of(eight_of(sums + 48), eight_of(sums + 112)));
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)),
                                       _mm256_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1))));
  }
};

} // namespace

#endif
