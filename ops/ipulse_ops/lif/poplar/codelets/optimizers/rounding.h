// How updated weights are rounded to half.
#ifndef IPULSE_LIF_POPLAR_ROUNDING_H
#define IPULSE_LIF_POPLAR_ROUNDING_H

#include <cstring>

#include <poplar/HalfFloat.hpp>

#include "../pair.h"
#include "../philox.h"

enum RoundingKind : unsigned { kNearest, kStochastic }; // as in backward/adam.h

/// A neighbour of x among the numbers of half, the nearer one with the greater probability, so that
/// its mean is x. random: 16 bits.
inline half roundedAtRandom(float x, unsigned random) {
  const float magnitude = x < 0.0f ? -x : x;
  if (!(magnitude < 65504.0f)) // the largest half, infinity, NaN
    return static_cast<half>(x);
  if (magnitude < 6.103515625e-05f) { // not normal: multiples of 2^-24
    const float units = magnitude * 16777216.0f;
    const int whole = static_cast<int>(units);
    const float rest = units - static_cast<float>(whole);
    const bool up = static_cast<float>(static_cast<int>(random)) < rest * 65536.0f;
    const float found = static_cast<float>(whole + up) * 5.9604644775390625e-08f;
    return static_cast<half>(x < 0.0f ? -found : found);
  }
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + (random >> 3)) & ~0x1fffu; // 13 of the 23 bits are dropped
  std::memcpy(&x, &bits, sizeof bits);
  return static_cast<half>(x);
}

/// Stores pairs of updated weights. The random bits depend on the key, the update and the place of
/// the weights alone.
struct Rounding {
  unsigned kind, key, update, place; // place: of the vertex's weights among all

  void store(float *row, unsigned at, float2 value) const { pairs(row)[at] = value; }
  void store(half *row, unsigned at, float2 value) const {
    if (kind == kNearest) {
      row[2 * at] = static_cast<half>(value[0]);
      row[2 * at + 1] = static_cast<half>(value[1]);
      return;
    }
    const unsigned random = firstOfPhilox(at, place, update, kRoundedWeight, key, 0);
    row[2 * at] = roundedAtRandom(value[0], random & 0xffff);
    row[2 * at + 1] = roundedAtRandom(value[1], random >> 16);
  }
};

#endif
