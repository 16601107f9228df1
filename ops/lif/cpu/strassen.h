// dL/ds of every neuron of a wide layer, by Strassen's multiplication (1969): seven products of
// half the size instead of eight, and once or twice more of each.
//
// With e = g W^T, blocks of e are sums of products of sums of blocks of g and of W^T. At the outer
// levels a block of rows is a part of the samples, so that what a task computes is whole samples;
// at the inner level, of each outer product, half of the rows at hand. Where the sums of W^T's
// blocks can all be held, the outer ones of g's are made some rows at a time, just before their
// use; else they are held, too, and those of W^T's are made while the ones before them are in use.
// Sums round more often than the plain product does: by norm its error is a few times as large.
#ifndef IPULSE_OPS_LIF_CPU_STRASSEN_H
#define IPULSE_OPS_LIF_CPU_STRASSEN_H

#include <algorithm>
#include <memory>
#include <vector>

#include "layout.h"
#include "pool.h"
#include "seven_products.h"

namespace lif {

// dL/dI of the next layer times its weights, of a panel and a sample: rows first to last, which may
// be written to. state: [2][width], zeros with a sample's last rows, and left alone from there to
// its first ones.
struct ProductRows {
  int first, last;
  float *products, *state;
};

class Strassen {
public:
  // next: the layer after; weights: its [neurons of this layer, neurons of the next].
  // whole: the rows of a sample come all at once.
  Strassen(const Kernel &kernel, const LifNetwork &network, int threads, const LayerGradient &next,
           const float *weights, const Panels &panels, bool whole);

  // How many samples are computed, from the first on: all that fall into equal parts, or none
  // where the plain product is faster.
  int samples() const { return parts_ > 1 ? parts_ * quarter_ : 0; }

  // Calls use(p, b, rows, worker) for every panel and those samples, from their last rows to their
  // first. Who finds no chunk left to multiply adds up the next groups' weights, if there is room
  // for them, instead of waiting for those who still multiply.
  template <class Use> void run(Use use) {
    if (left_)
      add_up_all_left();
    for (int group = 0; samples() && group < groups_; group += held_groups_) {
      if (!group || !held_twice_)
        parallel_for(threads_, right_tasks(group),
                     [&](int64_t task, int worker) { add_up_right(group, task, worker); });
      int held = held_from(group), next = group + held, pieces = pieces_of(held);
      // The last chunks come in pieces, so that no thread waits long for another.
      int whole = pieces > 1 ? std::max(0, chunks() - threads_) : chunks();
      int64_t all = whole + int64_t(chunks() - whole) * pieces;
      int64_t sums = held_twice_ ? right_tasks(next) : 0;
      parallel_for(threads_, all + sums, [&](int64_t task, int worker) {
        if (task >= all)
          return add_up_right(next, task - all, worker);
        int64_t piece = task - whole;
        if (piece < 0)
          return run_chunk(static_cast<int>(task), group, next, worker, use);
        int chunk = whole + static_cast<int>(piece / pieces),
            part = static_cast<int>(piece % pieces);
        run_chunk(chunk, group + held * part / pieces, group + held * (part + 1) / pieces, worker,
                  use);
      });
    }
  }

private:
  static constexpr int PIECES = 4; // at most

  // Of weights, added up at a time: of all blocks they share an L2 cache.
  static constexpr int64_t SUM_COLUMNS = 64;

  // A block of an operand or of the result, cut once less than the products are, and 1 or -1.
  struct Term {
    int row, column;
    float sign;
  };
  using Sum = std::vector<Term>;

  // Every panel of the groups `begin` to `end`, which are held, and some samples of each part.
  template <class Use> void run_chunk(int number, int begin, int end, int worker, Use use) {
    int chunk = number * samples_, count = samples_of(chunk), of_group = panels_of_group();
    int blocks = (end - begin) * parts_ * of_group;
    float *states = states_of(worker);
    std::fill(states, states + int64_t(blocks) * count * 2 * panels_.width, 0.0f);
    for (int first = (steps_ - 1) / rows_ * rows_; first >= 0; first -= rows_) {
      int last = std::min(first + rows_, steps_);
      int64_t sample = int64_t(last - first) * panels_.width;
      float *result = multiply(begin, end, chunk, first, count * (last - first), worker);
      for (int block = 0; block < blocks; ++block)
        for (int b = 0; b < count; ++b) {
          ProductRows rows{first, last, nullptr, nullptr};
          rows.products = result + block * apart(count * sample) + b * sample;
          rows.state = states + (int64_t(block) * count + b) * 2 * panels_.width;
          use(begin + block / of_group / parts_ + block % of_group * groups_,
              chunk + b + block / of_group % parts_ * quarter_, rows, worker);
        }
    }
  }

  // Whether the term's block is in a sum before the one numbered `behind`.
  static bool is_in_earlier(const std::vector<Sum> &sums, int64_t behind, const Term &term);
  static std::vector<Sum> sums(const SevenProducts &signs, int levels);
  void add_up_left(const Sum &sum, int chunk, int64_t panel, int64_t row, int64_t rows, float *to,
                   int64_t stride) const;
  void add_up_all_left();
  int64_t right_tasks(int group) const;
  void add_up_right(int group, int64_t task, int worker) const;
  void halve_left(const float *left, int64_t left_rows, int64_t rows, float *to) const;
  void multiply_halves(const float *left, int64_t left_rows, int64_t rows, const float *halves,
                       const float *right, float *to) const;
  void spread(int64_t i, int64_t rows, const float *seven, float *result) const;
  float *multiply(int begin, int end, int chunk, int first, int64_t rows, int worker) const;

  // Samples are multiplied in chunks; a chunk is told by its first sample.
  int chunks() const { return (quarter_ + samples_ - 1) / samples_; }
  int samples_of(int chunk) const { return std::min(samples_, quarter_ - chunk); }
  float *left_of_chunk(int64_t chunk) const {
    return left_->get() +
           chunk * 7 * static_cast<int64_t>(left_of_.size()) * depth_ * next_.panels.width * steps_;
  }

  int panels_of_group() const { return 2 * parts_; }

  // From one block to the next. Blocks that are worked on together and lie whole pages apart would
  // share few sets of the L1 cache and drive each other out.
  static int64_t apart(int64_t floats) { return floats + 80; }

  // How many groups are held with this one, which is the first of them, and the sums of any.
  int held_from(int group) const { return std::min(held_groups_, groups_ - group); }
  float *right_of(int group) const {
    int half = held_twice_ ? group / held_groups_ % 2 : 0;
    return right_->get() + (half * held_groups_ + group % held_groups_) * of_group_;
  }
  // Of one of the last chunks. Each makes the sums of its left operand anew if they are not held.
  int pieces_of(int held) const { return threads_ > 1 ? std::min(held, PIECES) : 1; }

  // A worker's result, states, and the rest of what multiply() needs; or what add_up_right() does.
  float *of_worker(int worker) const { return products_->get() + worker * of_worker_; }
  float *states_of(int worker) const { return of_worker(worker) + states_; }

  const Kernel &kernel_;
  const int threads_;
  const int steps_;
  const LayerGradient next_;
  const float *weights_;
  const int storage_; // LifWeights
  const Panels panels_;
  const int strip_;
  int parts_ = 1;           // that rows, depth and columns are cut into by the outer levels
  int depth_ = 0;           // of a block, in panels of the next layer
  int quarter_ = 0;         // samples of a part
  int groups_ = 0;          // of panels, one from each half of a block of columns
  int held_groups_ = 0;     // whose sums of weights are multiplied at a time
  bool held_twice_ = false; // so that the next ones' are added up meanwhile
  int rows_ = 0;            // of a sample at a time
  int samples_ = 1;         // of each part at a time; several only with all their rows
  int64_t of_group_ = 0, of_worker_ = 0, states_ = 0, made_ = 0;
  std::vector<Sum> left_of_, right_of_, result_of_; // each of seven outer products
  std::unique_ptr<Buffer<float>>
      left_; // [chunks][outer products][depth panels][rows][width], or null
  std::unique_ptr<Buffer<float>> right_, products_;
};

} // namespace lif

#endif
