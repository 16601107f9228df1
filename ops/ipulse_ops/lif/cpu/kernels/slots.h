// Converts sets of neurons to slots.
#ifndef IPULSE_OPS_LIF_CPU_SLOTS_H
#define IPULSE_OPS_LIF_CPU_SLOTS_H

#include "bits.h"

namespace {

// Writes the positions of a word's bits and returns behind the last. Always whole fours: most words
// have fewer, and how many is what a branch for each would guess wrong.
inline int32_t *list_word(uint64_t word, int32_t first, int32_t *ids) {
  int32_t *end = ids + __builtin_popcountll(word);
  do {
    LIF_UNROLL for (int k = 0; k < 4; ++k, word &= word - 1) ids[k] =
        first + __builtin_ctzll(word | uint64_t(1) << 63);
    ids += 4;
  } while (ids < end);
  return end;
}

// Writes the set bits' positions and returns behind the last. Up to `end` is free to write to.
inline int32_t *list_row(const uint8_t *bits, int64_t row_bytes, int32_t *ids, const int32_t *end) {
  for (int64_t byte = 0; byte < row_bytes; byte += 8) {
    uint64_t word = load_word(bits + byte);
    auto first = static_cast<int32_t>(8 * byte);
    if (end - ids >= 64)
      ids = list_word(word, first, ids);
    else
      for (; word; word &= word - 1)
        *ids++ = first + __builtin_ctzll(word);
  }
  return ids;
}

// Copies the first `slots` set bits of `from`, less those of `except`, to `to` by OR.
inline int64_t keep_first(const uint8_t *from, const uint8_t *except, int64_t row_bytes,
                          int64_t slots, uint8_t *to) {
  int64_t count = 0;
  for (int64_t byte = 0; byte < row_bytes && count < slots; byte += 8) {
    uint64_t word = load_word(from + byte);
    if (except)
      word &= ~load_word(except + byte);
    uint64_t chosen = load_word(to + byte);
    for (; word && count < slots; word &= word - 1, ++count)
      chosen |= word & (~word + 1);
    memcpy(to + byte, &chosen, sizeof chosen);
  }
  return count;
}

void select_slots(const SlotSelection &a) {
  bool truncated = a.slots < a.neurons;
  int32_t *ids = a.ids;
  for (int t = 0; t < a.steps; ++t) {
    const uint8_t *above = a.above + t * a.row_bytes, *spiking = above, *carrying = nullptr;
    if (a.sparse)
      carrying = a.gate + t * a.row_bytes;
    if (truncated) {
      uint8_t *emitted = a.emitted + t * a.row_bytes, *kept = a.kept + t * a.row_bytes;
      if (!a.chosen) {
        memset(emitted, 0, a.row_bytes);
        int64_t spikes = keep_first(above, nullptr, a.row_bytes, a.slots, emitted);
        memcpy(kept, emitted, a.row_bytes);
        keep_first(carrying, above, a.row_bytes, a.slots - spikes, kept);
      }
      spiking = emitted;
      carrying = kept;
    }
    int64_t start = ids - a.ids;
    ids = list_row(spiking, a.row_bytes, ids, a.ids_end);
    int64_t spikes = ids - a.ids - start;
    int64_t gradient = carrying ? count_range(carrying, a.row_bytes) : a.neurons;
    a.start[t] = a.first + start;
    if (a.sparse)
      a.kept_counts[t] = gradient;
    a.counts[2 * t * a.batch] = static_cast<float>(spikes);
    a.counts[2 * t * a.batch + 1] = static_cast<float>(gradient);
    int64_t dropped = truncated ? count_range(above, a.row_bytes) - spikes : 0;
    a.dropped[t * a.batch] = static_cast<float>(dropped);
  }
}

// Copies `count` floats in whole vectors where those fit before `end`, and returns behind them.
inline float *copy_run(const float *from, int64_t count, float *to, const float *end) {
  if (end - to < count + L) {
    memcpy(to, from, count * sizeof(float));
    return to + count;
  }
  int64_t i = 0;
  do {
    Vec::store(to + i, Vec::load(from + i));
    i += L;
  } while (i < count);
  return to + count;
}

void gather(const MembraneGather &a) {
  int bytes = a.panels.width / 8;
  for (int p = 0; p < a.panels.count; ++p)
    a.position[p] = p * a.raw_stride;
  float *out = a.membranes;
  for (int t = 0; t < a.steps; ++t) {
    for (int p = 0; p < a.panels.count; ++p) {
      const uint8_t *gate = a.gate + t * a.row_bytes + p * bytes;
      const uint8_t *kept = a.kept + t * a.row_bytes + p * bytes;
      const float *raw = a.raw + a.position[p];
      int64_t count = count_range(gate, bytes);
      a.position[p] += count;
      if (gate == kept || memcmp(gate, kept, bytes) == 0) {
        out = copy_run(raw, count, out, a.membranes_end);
        continue;
      }
      for (int byte = 0; byte < bytes; ++byte)
        for (unsigned rest = gate[byte]; rest; rest &= rest - 1, ++raw)
          if (kept[byte] & rest & (~rest + 1))
            *out++ = *raw;
    }
  }
}

int64_t count_bits(const uint8_t *bits, int64_t bytes) { return count_range(bits, bytes); }

void list_bits(const uint8_t *bits, int64_t rows, int64_t row_bytes, int64_t first, int64_t *start,
               int32_t *ids, const int32_t *end) {
  const int32_t *begin = ids;
  for (int64_t row = 0; row < rows; ++row) {
    start[row] = first + (ids - begin);
    ids = list_row(bits + row * row_bytes, row_bytes, ids, end);
  }
}

} // namespace

#endif
