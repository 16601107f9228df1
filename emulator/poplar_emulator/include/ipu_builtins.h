// The intrinsics of a tile that codelets may use without any header; popc includes this file.
// [M] but for the names that public codelets use: the tile's headers are closed.
// Other intrinsics do not compile, because their effect would differ from the tile's.
#ifndef ipu_builtins_h
#define ipu_builtins_h

#include <cmath>
#include <cstdint>
#include <cstring>

#include <poplar/TileConstants.hpp>
#include <poplar/TileState.hpp>

// Private names, so that codelets may define types with the names of ipudef.h themselves.
typedef float popc_float2 __attribute__((vector_size(8)));
typedef int popc_int2 __attribute__((vector_size(8)));

// The tile's cycle counter: six cycles for each bundle of this worker. Only differences are
// meaningful.
static inline std::uint64_t popc_cycles() {
  // The compiler does not know who counts.
  return *static_cast<const volatile std::uint64_t *>(&popc_counters.bundles) * 6;
}
static inline unsigned __builtin_ipu_get_scount_l() { return static_cast<unsigned>(popc_cycles()); }
static inline unsigned __builtin_ipu_get_scount_u() {
  return static_cast<unsigned>(popc_cycles() >> 32);
}
static inline unsigned __builtin_ipu_get_tile_id() { return popc_tile.id; }

// Random bits: Marsaglia's xorshift64*, with a separate start value for each tile.
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

// Registers, by the names of poplar/TileConstants.hpp. These functions are called if the compiler
// knows the register at compile time; other registers are compile errors.
extern void popc_no_such_register() __attribute__((
    error("this register of a tile is not emulated: poplar/TileConstants.hpp has those that are")));
extern void popc_no_amp() __attribute__((
    error("ld64putcs loads weights for the AMP unit, which is not emulated: write the product in "
          "C++")));
#define POPC_REGISTER static inline __attribute__((always_inline))

POPC_REGISTER unsigned __builtin_ipu_get(unsigned csr) {
  if (csr == CSR_W_WSR__INDEX)
    return popc_tile.worker;
  if (csr == CSR_W_PRNG_0_0__INDEX || csr == CSR_W_PRNG_0_1__INDEX)
    return static_cast<unsigned>(popc_tile.random >> (csr == CSR_W_PRNG_0_0__INDEX ? 0 : 32));
  if (csr == CSR_W_PRNG_1_0__INDEX || csr == CSR_W_PRNG_1_1__INDEX)
    return popc_tile.seeds[csr - CSR_W_PRNG_1_0__INDEX];
  popc_no_such_register();
  return 0;
}
POPC_REGISTER void __builtin_ipu_put(unsigned value, unsigned csr) {
  if (csr == CSR_W_PRNG_0_0__INDEX || csr == CSR_W_PRNG_0_1__INDEX) {
    const bool low = csr == CSR_W_PRNG_0_0__INDEX;
    const std::uint64_t kept = popc_tile.random & (low ? ~0xffffffffull : 0xffffffffull);
    const std::uint64_t all = kept | std::uint64_t{value} << (low ? 0 : 32);
    popc_tile.random = all ? all : 1; // a state of zeros would produce zeros only
  } else if (csr == CSR_W_PRNG_1_0__INDEX || csr == CSR_W_PRNG_1_1__INDEX) {
    popc_tile.seeds[csr - CSR_W_PRNG_1_0__INDEX] = value;
  } else {
    popc_no_such_register();
  }
}
POPC_REGISTER float __builtin_ipu_uget(unsigned csr) {
  if (csr != CSR_W_TAS__INDEX)
    popc_no_such_register();
  return popc_tile.scale;
}
POPC_REGISTER void __builtin_ipu_uput(float value, unsigned csr) {
  if (csr != CSR_W_TAS__INDEX)
    popc_no_such_register();
  popc_tile.scale = value;
}
POPC_REGISTER void __builtin_ipu_ld64putcs(unsigned) { popc_no_amp(); }
#undef POPC_REGISTER

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
