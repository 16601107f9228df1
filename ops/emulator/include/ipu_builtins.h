// The intrinsics of a tile that codelets may use without any header: popc includes this file.
// One that is not here does not compile: its effect would not be the tile's.
#ifndef ipu_builtins_h
#define ipu_builtins_h

#include <cmath>
#include <cstdint>
#include <cstring>

#include <poplar/TileState.hpp>

// Names of the project's own, so that codelets may define types of ipudef.h's names themselves.
typedef float popc_float2 __attribute__((vector_size(8)));
typedef int popc_int2 __attribute__((vector_size(8)));

// The counter of tile cycles: a worker's bundles so far, six cycles each. Differences count.
static inline std::uint64_t popc_cycles() {
  // The compiler does not know who counts.
  return *static_cast<const volatile std::uint64_t *>(&popc_counters.bundles) * 6;
}
static inline unsigned __builtin_ipu_get_scount_l() { return static_cast<unsigned>(popc_cycles()); }
static inline unsigned __builtin_ipu_get_scount_u() {
  return static_cast<unsigned>(popc_cycles() >> 32);
}
static inline unsigned __builtin_ipu_get_tile_id() { return popc_tile.id; }

// Random bits: Marsaglia's xorshift64*, from a start that each tile has of its own.
static inline unsigned long long __builtin_ipu_urand64() {
  std::uint64_t x = popc_tile.random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  popc_tile.random = x;
  return x * 0x2545f4914f6cdd1du;
}
static inline unsigned __builtin_ipu_urand32() {
  return static_cast<unsigned>(__builtin_ipu_urand64() >> 32);
}
/// Uniform in [-0.5, 0.5).
static inline float __builtin_ipu_urand_f32() {
  return static_cast<float>(__builtin_ipu_urand64() >> 40) * 0x1p-24f - 0.5f;
}
static inline popc_float2 __builtin_ipu_f32v2grand() {
  const float radius = sqrtf(-2.f * logf(0.5f - __builtin_ipu_urand_f32()));
  const float angle = 6.2831853f * __builtin_ipu_urand_f32();
  return popc_float2{radius * cosf(angle), radius * sinf(angle)};
}

// f32v2axpy multiplies by the register TAS, which put_tas sets.
static inline void __builtin_ipu_put_tas(float value) { popc_tile.scale = value; }
static inline popc_float2 __builtin_ipu_f32v2axpy(popc_float2 x, popc_float2 y) {
  const float a = popc_tile.scale;
  return popc_float2{a * x[0] + y[0], a * x[1] + y[1]};
}

static inline unsigned __builtin_ipu_popc(unsigned x) {
  return static_cast<unsigned>(__builtin_popcount(x));
}
static inline unsigned __builtin_ipu_clz(unsigned x) {
  return x ? static_cast<unsigned>(__builtin_clz(x)) : 32u;
}
static inline int __builtin_ipu_cmplt(int a, int b) { return a < b; }
static inline int __builtin_ipu_cmpltu(unsigned a, unsigned b) { return a < b; }
static inline int __builtin_ipu_cmpeq(int a, int b) { return a == b; }
static inline int __builtin_ipu_cmpne(int a, int b) { return a != b; }
static inline int __builtin_ipu_cmpslt(int a, int b) { return a < b; }
static inline int __builtin_ipu_min(int a, int b) { return a < b ? a : b; }
static inline int __builtin_ipu_max(int a, int b) { return a > b ? a : b; }
static inline int __builtin_ipu_abs(int a) { return a < 0 ? -a : a; }

static inline float __builtin_ipu_max_f32(float a, float b) { return fmaxf(a, b); }
static inline float __builtin_ipu_min_f32(float a, float b) { return fminf(a, b); }
static inline float __builtin_ipu_absadd_f32(float a, float b) { return fabsf(a) + fabsf(b); }
static inline float __builtin_ipu_absmax_f32(float a, float b) { return fmaxf(fabsf(a), fabsf(b)); }
static inline float __builtin_ipu_exp_f32(float a) { return expf(a); }
static inline float __builtin_ipu_exp2_f32(float a) { return exp2f(a); }
static inline float __builtin_ipu_ln_f32(float a) { return logf(a); }
static inline float __builtin_ipu_log2_f32(float a) { return log2f(a); }
static inline float __builtin_ipu_sqrt_f32(float a) { return sqrtf(a); }
static inline float __builtin_ipu_oorx_f32(float a) { return 1.f / sqrtf(a); }
static inline float __builtin_ipu_oox_f32(float a) { return 1.f / a; }
static inline float __builtin_ipu_sigm_f32(float a) { return 1.f / (1.f + expf(-a)); }
static inline float __builtin_ipu_tanh_f32(float a) { return tanhf(a); }
static inline float popc_bits_and_f32(float a, float b, bool inverted) {
  std::uint32_t x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  x &= inverted ? ~y : y;
  std::memcpy(&a, &x, sizeof a);
  return a;
}
static inline float __builtin_ipu_and_f32(float a, float b) {
  return popc_bits_and_f32(a, b, false);
}
/// a and not b, bit by bit.
static inline float __builtin_ipu_andc_f32(float a, float b) {
  return popc_bits_and_f32(a, b, true);
}

#ifndef __clang__
#define __builtin_assume(CONDITION) static_cast<void>(0)
#endif

#endif
