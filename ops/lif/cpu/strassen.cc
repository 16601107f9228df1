#include "strassen.h"

namespace lif {
namespace {

// Blocks of less depth than this cost more in sums than they save in products.
constexpr int LEAST_DEPTH = 256;
constexpr int MOST_LEVELS = 2;

// Bytes of sums of weights that are held at a time, if those of a group fit at all.
constexpr int64_t RIGHT_BYTES = 48 << 20;

// Rows multiplied at a time, at most: enough to read each block of weights seldom, which comes from
// the L3 cache; their own blocks, which outgrow the L2 cache, are read in order.
constexpr int ROWS = 128;

// Rows added up at a time, and columns of weights: of all blocks they share an L1 or L2 cache.
constexpr int64_t SUM_ROWS = 8, SUM_COLUMNS = 64;

} // namespace

Strassen::Strassen(const Kernel &kernel, const LifNetwork &n, int threads,
                   const LayerGradient &next, const float *weights, const Panels &panels,
                   bool whole)
    : kernel_(kernel), threads_(threads), steps_(n.steps), next_(next), weights_(weights),
      storage_(n.weights), panels_(panels),
      strip_(std::min(kernel.strip_vectors * kernel.lanes, panels.width)) {
  const Panels &after = next.panels;
  int levels = 0;
  auto splits = [&](int parts) {
    return panels.neurons % (parts * panels.width) == 0 &&
           after.neurons % (parts * after.width) == 0 && after.neurons / parts >= LEAST_DEPTH &&
           n.batch >= parts;
  };
  for (; levels < MOST_LEVELS && splits(2 * parts_); ++levels)
    parts_ *= 2;
  if (parts_ == 1 || !n.steps)
    return;
  left_of_ = sums(LEFT, levels - 1);
  right_of_ = sums(RIGHT, levels - 1);
  result_of_ = sums(RESULT, levels - 1);
  depth_ = after.count / parts_;
  quarter_ = n.batch / parts_;
  groups_ = panels.count / parts_;
  int64_t depth = int64_t(depth_) * after.width, blocks = int64_t(parts_) * parts_;
  auto products = static_cast<int64_t>(7 * left_of_.size());
  of_group_ = products * depth * panels.width;
  held_groups_ = static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(RIGHT_BYTES / (4 * of_group_), groups_)));
  // Those that are multiplied, and those that come next.
  right_.reset(new Buffer<float>(std::min(2 * held_groups_, groups_) * of_group_));
  if (held_groups_ < groups_)
    left_.reset(new Buffer<float>(quarter_ * products * depth * steps_));
  // As few runs of rows as ROWS allows, of nearly one length that a kernel holds in registers.
  int runs = whole ? 1 : (steps_ + ROWS - 1) / ROWS;
  rows_ = ((steps_ + runs - 1) / runs + kernel.product_rows - 1) / kernel.product_rows *
          kernel.product_rows;
  samples_ = std::max(1, std::min(ROWS / rows_, quarter_ / threads));
  // Of a chunk of each part the result and the states; seven products and their left operands.
  int64_t rows = int64_t(samples_) * rows_;
  states_ = held_groups_ * blocks * rows * panels.width;
  of_worker_ = std::max(states_ + held_groups_ * blocks * samples_ * 2 * panels.width +
                            7 * rows * (panels.width + depth),
                        blocks * SUM_COLUMNS * panels.width);
  products_.reset(new Buffer<float>(threads * of_worker_));
}

std::vector<Strassen::Sum> Strassen::sums(const SevenProducts &signs, int levels) {
  std::vector<Sum> found = {{{0, 0, 1}}};
  for (int level = 0; level < levels; ++level) {
    std::vector<Sum> finer;
    for (const Sum &sum : found)
      for (const auto &blocks : signs) {
        finer.emplace_back();
        for (const Term &term : sum)
          for (int k = 0; k < 4; ++k)
            if (blocks[k])
              finer.back().push_back({2 * term.row + k / 2, 2 * term.column + k % 2,
                                      term.sign * static_cast<float>(blocks[k])});
      }
    found = std::move(finer);
  }
  return found;
}

// Of some rows of a chunk of each part and one panel of their depth: [7][rows][width].
void Strassen::add_up_left(const Sum &sum, int chunk, int64_t panel, int64_t row, int64_t rows,
                           float *to, int64_t stride) const {
  BlockSums a{};
  a.count = rows * next_.panels.width;
  for (const Term &term : sum) {
    a.sign[a.terms] = term.sign;
    for (int k = 0; k < 4; ++k) {
      int64_t first = (chunk + (2 * term.row + k / 2) * int64_t(quarter_)) * steps_ + row;
      int64_t column = (2 * term.column + k % 2) * int64_t(depth_) + panel;
      a.from[a.terms][k] = next_.grad_current + (column * next_.rows + first) * next_.panels.width;
    }
    ++a.terms;
  }
  a.to = to;
  a.stride = stride;
  kernel_.add_blocks(a);
}

void Strassen::add_up_all_left() {
  auto sums = static_cast<int64_t>(left_of_.size());
  parallel_for(threads_, int64_t(chunks()) * depth_, [&](int64_t task, int) {
    int chunk = static_cast<int>(task / depth_) * samples_;
    int64_t p = task % depth_, rows = int64_t(samples_of(chunk)) * steps_;
    int64_t panel = rows * next_.panels.width;
    for (int64_t row = 0; row < rows; row += SUM_ROWS)
      for (int64_t i = 0; i < sums; ++i)
        add_up_left(left_of_[static_cast<size_t>(i)], chunk, p, row, std::min(SUM_ROWS, rows - row),
                    left_of_chunk(chunk) + (i * 7 * depth_ + p) * panel + row * next_.panels.width,
                    depth_ * panel);
  });
}

// Each of some columns of a strip.
int64_t Strassen::right_tasks(int group) const {
  if (!samples() || group >= groups_)
    return 0;
  int64_t depth = int64_t(depth_) * next_.panels.width;
  return held_from(group) * (panels_.width / strip_) * ((depth + SUM_COLUMNS - 1) / SUM_COLUMNS);
}

// Of groups of panels: [groups][products][strips][depth][strip]. All blocks' columns are transposed
// and then added up where they lie, in the worker's L2 cache.
void Strassen::add_up_right(int group, int64_t task, int worker) const {
  int64_t neurons = next_.panels.neurons, depth = int64_t(depth_) * next_.panels.width;
  int64_t runs = (depth + SUM_COLUMNS - 1) / SUM_COLUMNS, strips = panels_.width / strip_;
  int64_t g = task / (strips * runs), s = task / runs % strips, first = task % runs * SUM_COLUMNS;
  int64_t columns = std::min(SUM_COLUMNS, depth - first), run = columns * strip_;
  float *blocks = of_worker(worker);
  for (int k = 0; k < parts_ * parts_; ++k) {
    int p = group + static_cast<int>(g) + k % parts_ * groups_;
    const float *row = weights_ + (panels_.first(p) + s * strip_) * neurons;
    kernel_.transpose(row + k / parts_ * depth + first, neurons, strip_, columns, strip_, storage_,
                      blocks + k * run);
  }
  BlockSums a{};
  a.right = true;
  a.count = run;
  a.to = right_of(group + static_cast<int>(g)) + (s * depth + first) * strip_;
  a.stride = depth * panels_.width;
  for (const Sum &sum : right_of_) {
    a.terms = 0;
    for (const Term &term : sum) {
      a.sign[a.terms] = term.sign;
      for (int k = 0; k < 4; ++k)
        a.from[a.terms][k] =
            blocks + ((2 * term.row + k / 2) * parts_ + 2 * term.column + k % 2) * run;
      ++a.terms;
    }
    kernel_.add_blocks(a);
    a.to += 7 * a.stride;
  }
}

// [groups][rows' parts][columns' parts][rows][width], of each part some rows from row `first` of a
// chunk on.
float *Strassen::multiply(int begin, int end, int chunk, int first, int64_t rows,
                          int worker) const {
  int width = panels_.width, groups = end - begin;
  int64_t depth = int64_t(depth_) * next_.panels.width, blocks = int64_t(parts_) * parts_;
  int64_t left_rows = left_ ? int64_t(samples_of(chunk)) * steps_ : rows;
  auto sums = static_cast<int64_t>(left_of_.size());
  float *result = of_worker(worker);
  float *seven = states_of(worker) + held_groups_ * blocks * samples_ * 2 * width;
  float *made = seven + 7 * int64_t(samples_) * rows_ * width;
  std::fill(result, result + groups * blocks * rows * width, 0.0f);
  DenseProduct one{panels_.vectors, left_ ? first : 0, rows, next_, nullptr, nullptr};
  one.next.panels.count = depth_;
  one.next.panels.neurons = static_cast<int>(depth);
  one.next.rows = left_rows;
  for (int64_t i = 0; i < sums; ++i) {
    for (int64_t p = 0; !left_ && p < depth_; ++p)
      add_up_left(left_of_[static_cast<size_t>(i)], chunk, p, first, rows,
                  made + p * rows * next_.panels.width, rows * depth);
    const float *left = left_ ? left_of_chunk(chunk) + i * 7 * depth * left_rows : made;
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t s = 0; s < 7; ++s) {
        one.next.grad_current = left + s * depth * left_rows;
        one.weights = right_of(begin + static_cast<int>(g)) + (i * 7 + s) * depth * width;
        one.grad_spikes = seven + s * rows * width;
        kernel_.dense_product(one);
      }
      ProductSpread a{};
      a.count = rows * width;
      a.from = seven;
      a.stride = rows * width;
      for (const Term &term : result_of_[static_cast<size_t>(i)]) {
        a.sign[a.terms] = term.sign;
        for (int k = 0; k < 4; ++k)
          a.to[a.terms][k] =
              result + ((g * parts_ + 2 * term.row + k / 2) * parts_ + 2 * term.column + k % 2) *
                           rows * width;
        ++a.terms;
      }
      kernel_.spread_products(a);
    }
  }
  return result;
}

} // namespace lif
