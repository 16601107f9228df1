// Philox4x32-10 (ops/ipulse_ops/philox.py), in products of 16 bits: a tile has no wider ones.
#ifndef IPULSE_LIF_POPLAR_PHILOX_H
#define IPULSE_LIF_POPLAR_PHILOX_H

enum PhiloxUse : unsigned {
  kCyclicOffset = 0,
  kRoundedWeight = 1,
  kRoundedMembrane = 2,
  kRoundedSynapse = 3
};

/// The high 32 bits of a * b.
inline unsigned highWord(unsigned a, unsigned b) {
  const unsigned low = 0xffff, aLow = a & low, aHigh = a >> 16, bLow = b & low, bHigh = b >> 16;
  const unsigned middle = aHigh * bLow + (aLow * bLow >> 16); // cannot carry
  const unsigned other = aLow * bHigh + (middle & low);
  return aHigh * bHigh + (middle >> 16) + (other >> 16);
}

/// The first of the four random words.
inline unsigned firstOfPhilox(unsigned c0, unsigned c1, unsigned c2, unsigned c3, unsigned k0,
                              unsigned k1) {
  const unsigned multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  for (unsigned round = 0; round < 10; ++round) {
    const unsigned high0 = highWord(c0, multiplier0), high1 = highWord(c2, multiplier1);
    const unsigned low0 = c0 * multiplier0, low1 = c2 * multiplier1;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c0;
}

#endif
