// NEON of 64-bit ARM: eight lanes in two registers, because a set of neurons is stored in whole
// bytes.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstdint>

#include "lane_by_lane.h"

namespace {

struct Vec : LaneByLane<Vec> {
  struct F {
    float32x4_t low, high;
  };
  struct M {
    uint32x4_t low, high;
  };
  static constexpr int lanes = 8;
  static constexpr int product_rows = 6, product_vectors = 2; // fill twenty-four registers

  static F zero() { return all(0); }
  static F all(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
  static F load(const float *from) { return {vld1q_f32(from), vld1q_f32(from + 4)}; }
  static void store(float *to, F a) {
    vst1q_f32(to, a.low);
    vst1q_f32(to + 4, a.high);
  }
  static void load_pair(const float *from, F &first, F &second) {
    F both = load(from);
    uint32x4_t low = vreinterpretq_u32_f32(both.low), high = vreinterpretq_u32_f32(both.high);
    uint32x4_t upper = vdupq_n_u32(0xffff0000);
    first = {vreinterpretq_f32_u32(vshlq_n_u32(low, 16)),
             vreinterpretq_f32_u32(vshlq_n_u32(high, 16))};
    second = {vreinterpretq_f32_u32(vandq_u32(low, upper)),
              vreinterpretq_f32_u32(vandq_u32(high, upper))};
  }
  static F add(F a, F b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
  static F sub(F a, F b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
  static F mul(F a, F b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
  static F div(F a, F b) { return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)}; }
  static F fma(F a, F b, F c) {
    return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
  }
  static F sqrt(F a) { return {vsqrtq_f32(a.low), vsqrtq_f32(a.high)}; }
  static F abs(F a) { return {vabsq_f32(a.low), vabsq_f32(a.high)}; }
  static M greater(F a, F b) { return {vcgtq_f32(a.low, b.low), vcgtq_f32(a.high, b.high)}; }
  static M lane_bits() {
    static const uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return {vld1q_u32(bits), vld1q_u32(bits + 4)};
  }
  static unsigned bits(M mask) {
    M lane = lane_bits();
    return vaddvq_u32(vandq_u32(mask.low, lane.low)) + vaddvq_u32(vandq_u32(mask.high, lane.high));
  }
  static M mask(unsigned bits) {
    M lane = lane_bits();
    uint32x4_t all = vdupq_n_u32(bits);
    return {vtstq_u32(all, lane.low), vtstq_u32(all, lane.high)};
  }
  static F zero_where(M mask, F a) {
    return {vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a.low), mask.low)),
            vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a.high), mask.high))};
  }
  // Sixteen lanes as four: lane i with i + 8, and then with i + 4.
  static float32x4_t four_of(const float *sums) {
    F halves = add(load(sums), load(sums + 8));
    return vaddq_f32(halves.low, halves.high);
  }
  // Four lanes each of two sums, as two lanes each: lane i with i + 2.
  static float32x4_t two_of(float32x4_t a, float32x4_t b) {
    float64x2_t x = vreinterpretq_f64_f32(a), y = vreinterpretq_f64_f32(b);
    return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(x, y)),
                     vreinterpretq_f32_f64(vzip2q_f64(x, y)));
  }
  // The sums of eight times sixteen lanes, see sampled_product.h.
  static void fold_eight(const float *sums, float *to) {
    for (int k = 0; k < 8; k += 4, sums += 64)
      vst1q_f32(to + k, vpaddq_f32(two_of(four_of(sums), four_of(sums + 16)),
                                   two_of(four_of(sums + 32), four_of(sums + 48))));
  }
};

} // namespace

#include "kernels/panel.h"

namespace lif {

const Kernel &kernel_arm_neon() {
  static constexpr Kernel kernel = make_kernel("arm_neon");
  return kernel;
}

} // namespace lif

#endif
