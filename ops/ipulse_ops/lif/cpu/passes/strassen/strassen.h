// dL/ds of every neuron of a wide layer, by Strassen's multiplication (1969): seven products of
// half the size instead of eight, and once or twice more of each.
//
// With e = g W^T, blocks of e are sums of products of sums of blocks of g and of W^T. At the outer
// levels a block of rows is a part of the samples, so that what a task computes is whole samples;
// at the inner level, of each outer product, half of the rows at hand. The sums of W^T's blocks are
// held, all or a part of the columns at a time, or of the sums; those of g's, which take three
// times its memory, are made some rows at a time, just before their use, and again for each part of
// W^T's, which are few. Sums round more often than the plain product does: by norm its error is a
// few times as large.
#ifndef IPULSE_OPS_LIF_CPU_STRASSEN_H
#define IPULSE_OPS_LIF_CPU_STRASSEN_H

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "passes/backward/idle_memory.h"
#include "seven_products.h"
#include "support/layout.h"
#include "support/pool.h"

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
  // Into how many parts rows, depth and columns are cut by the outer levels; 1 where the plain
  // product is faster.
  static int parts(const LifNetwork &network, const Panels &panels, const Panels &after);

  // next: the layer after; weights: its [neurons of this layer, neurons of the next].
  // idle: as long as this lives. whole: the rows of a sample come all at once.
  Strassen(const Kernel &kernel, const LifNetwork &network, int threads, const LayerGradient &next,
           const float *weights, const Panels &panels, IdleMemory idle, bool whole);

  // How many samples are computed, from the first on: all that fall into equal parts, or none
  // where the plain product is faster.
  int samples() const { return parts_ > 1 ? parts_ * quarter_ : 0; }

  // Calls use(p, b, rows, worker) for every panel and those samples, from their last rows to their
  // first.
  template <class Use> void run(Use use) {
    for (int group = 0; samples() && group < groups_; group += held_groups_)
      for (int64_t sum = 0; sum < sums(); sum += held_sums_)
        run_part(group, sum, use);
  }

private:
  // Of weights, added up at a time: of all blocks they share an L2 cache.
  static constexpr int64_t SUM_COLUMNS = 64;

  // A block of an operand or of the result, cut once less than the products are, and 1 or -1.
  struct Term {
    int row, column;
    float sign;
  };
  using Sum = std::vector<Term>;

  // The sums that are held with number `sum`, for the groups that are held with `begin`.
  template <class Use> void run_part(int begin, int64_t sum, Use use) {
    first_sum_ = sum;
    last_sum_ = std::min(sum + held_sums_, sums());
    parallel_for(threads_, right_tasks(begin),
                 [&](int64_t task, int worker) { add_up_right(begin, task, worker); });
    int end = begin + held_from(begin);
    // The last chunks are shared, sum by sum, so that no thread waits long for another.
    int shared = static_cast<int>(turns_.size()), alone = chunks() - shared;
    int64_t steps = runs() * (last_sum_ - first_sum_);
    for (auto &turn : turns_)
      turn = 0;
    parallel_for(threads_, alone + shared * steps, [&](int64_t task, int worker) {
      if (task < alone)
        return run_chunk(static_cast<int>(task), begin, end, worker, use);
      auto s = static_cast<int>((task - alone) / steps);
      run_step(s, alone + s, (task - alone) % steps, begin, end, worker, use);
    });
    if (last_sum_ < sums())
      return;
    int blocks = blocks_of(begin, end);
    parallel_for(threads_, int64_t(shared) * blocks, [&](int64_t task, int worker) {
      auto s = static_cast<int>(task / blocks), block = static_cast<int>(task % blocks);
      use_block(alone + s, begin, 0, block, shared_of(s, alone + s), worker, use);
    });
  }

  // Every panel of the groups `begin` to `end`, which are held, and some samples of each part.
  template <class Use> void run_chunk(int number, int begin, int end, int worker, Use use) {
    float *result = results_ ? (*results_)[number] : of_worker(worker);
    start(result);
    for (int run = runs() - 1; run >= 0; --run) {
      for (int64_t i = first_sum_; i < last_sum_; ++i)
        spread(i, begin, end, rows_of(number, run), multiply(i, begin, end, number, run, worker),
               result);
      for (int block = 0; last_sum_ == sums() && block < blocks_of(begin, end); ++block)
        use_block(number, begin, run, block, result, worker, use);
    }
  }

  // One sum of one run of rows of the chunk that is shared as the s-th. The last run's rows are
  // left to be used when all have come.
  template <class Use>
  void run_step(int s, int number, int64_t step, int begin, int end, int worker, Use use) {
    int64_t of_run = last_sum_ - first_sum_, i = first_sum_ + step % of_run;
    int run = runs() - 1 - static_cast<int>(step / of_run);
    try {
      if (!step && !s)
        first_shared_ = of_worker(worker);
      if (!step)
        start(shared_of(s, number));
      const float *seven = multiply(i, begin, end, number, run, worker);
      if (!wait_for(turns_[s], step))
        return;
      float *result = shared_of(s, number); // which is known from the first step on
      spread(i, begin, end, rows_of(number, run), seven, result);
      for (int block = 0; run && i + 1 == sums() && block < blocks_of(begin, end); ++block)
        use_block(number, begin, run, block, result, worker, use);
      int64_t done = step; // or a later step has failed meanwhile
      turns_[s].compare_exchange_strong(done, step + 1, std::memory_order_release,
                                        std::memory_order_relaxed);
    } catch (...) {
      turns_[s].store(FAILED, std::memory_order_release);
      throw;
    }
  }

  // Hands on a panel's rows of one part of a chunk.
  template <class Use>
  void use_block(int number, int begin, int run, int block, float *result, int worker, Use use) {
    int first = run * rows_, last = std::min(first + rows_, steps_), of_group = panels_of_group();
    int chunk = number * samples_, count = samples_of(chunk);
    int64_t sample = int64_t(last - first) * panels_.width;
    for (int b = 0; b < count; ++b)
      use(begin + block / of_group / parts_ + block % of_group * groups_,
          chunk + b + block / of_group % parts_ * quarter_,
          ProductRows{first, last, result + block * apart(count * sample) + b * sample,
                      result + states_ + (int64_t(block) * samples_ + b) * 2 * panels_.width},
          worker);
  }

  // Whether a block is in one of the sums `first` to `last`.
  static bool is_in(const std::vector<Sum> &sums, int64_t first, int64_t last, int row, int column);
  // Of blocks that are cut into so many parts: a power of two.
  static std::vector<Sum> sums_of(const SevenProducts &signs, int parts);
  static bool wait_for(const std::atomic<int64_t> &turn, int64_t step);
  void add_up_left(const Sum &sum, int chunk, int64_t panel, int64_t row, int64_t rows, float *to,
                   int64_t stride) const;
  int64_t right_tasks(int group) const;
  void add_up_right(int group, int64_t task, int worker) const;
  void halve_left(const float *left, int64_t rows, float *to) const;
  void multiply_halves(const float *left, int64_t rows, const float *halves, const float *right,
                       float *to) const;
  void spread_group(int64_t i, int64_t rows, const float *seven, float *result) const;
  void spread(int64_t i, int begin, int end, int64_t rows, const float *seven, float *result) const;
  const float *multiply(int64_t i, int begin, int end, int number, int run, int worker) const;

  // Samples are multiplied in chunks; a chunk is told by its first sample, or by its number.
  int chunks() const { return (quarter_ + samples_ - 1) / samples_; }
  int samples_of(int chunk) const { return std::min(samples_, quarter_ - chunk); }
  // Its rows in runs, and how many of them of each part there are in one.
  int runs() const { return (steps_ + rows_ - 1) / rows_; }
  int64_t rows_of(int number, int run) const {
    return int64_t(samples_of(number * samples_)) * std::min(rows_, steps_ - run * rows_);
  }
  int64_t sums() const { return static_cast<int64_t>(left_of_.size()); }

  int panels_of_group() const { return 2 * parts_; }
  int blocks_of(int begin, int end) const { return (end - begin) * parts_ * panels_of_group(); }

  // From one block to the next. Blocks that are worked on together and lie whole pages apart would
  // share few sets of the L1 cache and drive each other out.
  static int64_t apart(int64_t floats) { return floats + 80; }

  // Whether an outer product is written to where the operand lay that was read before it: nobody
  // reads that again where there is one group.
  bool in_place() const { return held_groups_ == 1; }
  // From one of seven outer products of a group to the next, and from one left operand to the next.
  int64_t product_apart(int64_t rows) const {
    int64_t alone = apart(4 * ((rows + 1) / 2) * panels_.width);
    return in_place() ? std::max(alone, apart(rows * depth_ * next_.panels.width)) : alone;
  }
  int64_t operand_apart(int64_t rows) const {
    return in_place() ? product_apart(rows) : apart(rows * depth_ * next_.panels.width);
  }

  // How many groups are held with this one, which is the first of them.
  int held_from(int group) const { return std::min(held_groups_, groups_ - group); }
  // The sums of weights of an outer product: [inner products][strips][depth][strip].
  float *right_of(int group, int64_t product) const {
    return (*right_)[(group % held_groups_ * held_sums_ - first_sum_) * 7 + product];
  }

  // A worker's result, states, and the rest of what multiply() needs; or what add_up_right() does.
  float *of_worker(int worker) const { return products_->get() + worker * of_worker_; }
  // The result and states of a chunk that is shared as the s-th; if all sums are held, the first
  // one's are those of the worker who begins it, which has no chunk of its own any more.
  float *shared_of(int s, int number) const {
    if (results_)
      return (*results_)[number];
    return s ? shared_->get() + (s - 1) * states_end_ : first_shared_;
  }
  void start(float *result) const {
    if (!first_sum_)
      std::fill(result + states_, result + states_end_, 0.0f);
  }

  const Kernel &kernel_;
  const int threads_;
  const int steps_;
  const LayerGradient next_;
  const float *weights_;
  const int storage_; // LifWeights
  const Panels panels_;
  const int strip_;
  int parts_ = 1;         // that rows, depth and columns are cut into by the outer levels
  int depth_ = 0;         // of a block, in panels of the next layer
  int quarter_ = 0;       // samples of a part
  int groups_ = 0;        // of panels, one from each half of a block of columns
  int held_groups_ = 0;   // whose sums of weights are multiplied at a time
  int64_t held_sums_ = 1; // of a group; fewer than all where those take too much memory
  int64_t first_sum_ = 0, last_sum_ = 0; // that are held at present
  int rows_ = 0;                         // of a sample at a time
  int samples_ = 1;                      // of each part at a time; several only with all their rows
  int64_t of_worker_ = 0, states_ = 0, states_end_ = 0, seven_ = 0, made_ = 0;
  std::vector<Sum> left_of_, right_of_, result_of_; // each of seven outer products
  std::unique_ptr<IdleBlocks> right_;               // [held groups][outer products of held sums]
  std::unique_ptr<IdleBlocks> results_; // and states of each chunk, if not all sums are held
  std::unique_ptr<Buffer<float>> products_, shared_;
  float *first_shared_ = nullptr;
  static constexpr int64_t FAILED = -1;
  std::vector<std::atomic<int64_t>> turns_; // how many steps of a shared chunk are done, or FAILED
};

} // namespace lif

#endif
