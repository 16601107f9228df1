// Operations without an instruction on some machines, lane by lane.
#ifndef IPULSE_OPS_LIF_CPU_LANE_BY_LANE_H
#define IPULSE_OPS_LIF_CPU_LANE_BY_LANE_H

namespace {

// The base of a Vec that has `lanes`, `load` and `store`.
template <class Vec> struct LaneByLane {
  template <class F> static void store_compressed(float *to, unsigned bits, F a) {
    float lane[Vec::lanes];
    Vec::store(lane, a);
    for (; bits; bits &= bits - 1)
      *to++ = lane[__builtin_ctz(bits)];
  }
  static auto load_expanded(const float *from, unsigned bits) {
    float lane[Vec::lanes] = {};
    for (; bits; bits &= bits - 1)
      lane[__builtin_ctz(bits)] = *from++;
    return Vec::load(lane);
  }
  template <class F> static void store_first(float *to, int count, F a) {
    float lane[Vec::lanes];
    Vec::store(lane, a);
    for (int i = 0; i < count; ++i)
      to[i] = lane[i];
  }
  static auto load_first(const float *from, int count) {
    float lane[Vec::lanes] = {};
    for (int i = 0; i < count; ++i)
      lane[i] = from[i];
    return Vec::load(lane);
  }
  template <class F> static void interleave(F &first, F &second) {
    float lane[2 * Vec::lanes], mixed[2 * Vec::lanes];
    Vec::store(lane, first);
    Vec::store(lane + Vec::lanes, second);
    for (int i = 0; i < 2 * Vec::lanes; ++i)
      mixed[i] = lane[i % 2 * Vec::lanes + i / 2];
    first = Vec::load(mixed);
    second = Vec::load(mixed + Vec::lanes);
  }
};

} // namespace

#endif
