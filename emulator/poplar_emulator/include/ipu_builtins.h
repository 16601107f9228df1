// The intrinsics of a tile that codelets may use without any header; popc includes this file.
// [M] but for the names that public codelets use: the tile's headers are closed.
// Other intrinsics do not compile, because their effect would differ from the tile's. All are
// templates, so that a codelet's own function of the same name takes precedence.
#ifndef ipu_builtins_h
#define ipu_builtins_h

#include <cmath>
#include <cstdint>

#include <poplar/TileArithmetic.hpp>
#include <poplar/TileConstants.hpp>
#include <poplar/TileState.hpp>

// Private names, so that codelets may define types with the names of ipudef.h themselves.
typedef float popc_float2 __attribute__((vector_size(8)));

// The tile's cycle counter: six cycles for each bundle of this worker. Only differences are
// meaningful.
static inline std::uint64_t popc_cycles() { return popc_bundles() * 6; }
template <typename = void> inline unsigned __builtin_ipu_get_scount_l() {
  return static_cast<unsigned>(popc_cycles());
}
template <typename = void> inline unsigned __builtin_ipu_get_scount_u() {
  return static_cast<unsigned>(popc_cycles() >> 32);
}
template <typename = void> inline unsigned __builtin_ipu_get_tile_id() { return popc_tile.id; }
template <typename = void> inline void *__builtin_ipu_get_vertex_base() { return popc_tile.vertex; }
template <typename = void> inline unsigned __builtin_ipu_get_worker_id() {
  return popc_tile.worker;
}

// Random bits: Marsaglia's xorshift64*, with a separate start value for each tile.
template <typename = void> inline unsigned long long __builtin_ipu_urand64() {
  std::uint64_t x = popc_tile.random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  popc_tile.random = x;
  return x * 0x2545f4914f6cdd1du;
}
template <typename = void> inline unsigned __builtin_ipu_urand32() {
  return static_cast<unsigned>(__builtin_ipu_urand64() >> 32);
}
/// Uniform in [-0.5, 0.5).
template <typename = void> inline float __builtin_ipu_urand_f32() {
  return static_cast<float>(__builtin_ipu_urand64() >> 40) * 0x1p-24f - 0.5f;
}
template <typename = void> inline popc_float2 __builtin_ipu_f32v2grand() {
  const float radius = sqrtf(-2.f * logf(0.5f - __builtin_ipu_urand_f32()));
  const float angle = 6.2831853f * __builtin_ipu_urand_f32();
  return popc_float2{radius * cosf(angle), radius * sinf(angle)};
}

// f32v2axpy multiplies by the register TAS, which put_tas sets.
template <typename = void> inline void __builtin_ipu_put_tas(float value) {
  popc_tile.scale = value;
}
template <typename = void>
inline popc_float2 __builtin_ipu_f32v2axpy(popc_float2 x, popc_float2 y) {
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
#define POPC_REGISTER template <typename = void> inline __attribute__((always_inline))

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

#ifndef __clang__
#define __builtin_assume(CONDITION) static_cast<void>(0)
// Functions of clang, which popc is.
template <typename Word> inline Word popc_bits_reversed(Word x) {
  Word reversed = 0;
  for (unsigned bit = 0; bit < 8 * sizeof(Word); ++bit)
    reversed = static_cast<Word>(reversed << 1 | ((x >> bit) & 1));
  return reversed;
}
template <typename Word> inline Word popc_rotated(Word x, unsigned left) {
  const unsigned bits = 8 * sizeof(Word), by = left % bits;
  return by ? static_cast<Word>(x << by | x >> (bits - by)) : x;
}
#define __builtin_bitreverse8(X) popc_bits_reversed<std::uint8_t>(X)
#define __builtin_bitreverse16(X) popc_bits_reversed<std::uint16_t>(X)
#define __builtin_bitreverse32(X) popc_bits_reversed<std::uint32_t>(X)
#define __builtin_bitreverse64(X) popc_bits_reversed<std::uint64_t>(X)
#define __builtin_rotateleft8(X, N) popc_rotated<std::uint8_t>(X, N)
#define __builtin_rotateleft16(X, N) popc_rotated<std::uint16_t>(X, N)
#define __builtin_rotateleft32(X, N) popc_rotated<std::uint32_t>(X, N)
#define __builtin_rotateleft64(X, N) popc_rotated<std::uint64_t>(X, N)
#define __builtin_rotateright8(X, N) popc_rotated<std::uint8_t>(X, 8 - (N) % 8)
#define __builtin_rotateright16(X, N) popc_rotated<std::uint16_t>(X, 16 - (N) % 16)
#define __builtin_rotateright32(X, N) popc_rotated<std::uint32_t>(X, 32 - (N) % 32)
#define __builtin_rotateright64(X, N) popc_rotated<std::uint64_t>(X, 64 - (N) % 64)
#define __builtin_debugtrap() __builtin_trap()
#define __builtin_unpredictable(CONDITION) (CONDITION)
#endif

#endif
