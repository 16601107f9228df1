#include "strassen.h"

#include <thread>

namespace lif {
namespace {

// Inner blocks of less depth than this cost more in sums than they save in products.
constexpr int LEAST_DEPTH = 128;
constexpr int MOST_LEVELS = 2; // outer ones

// Bytes of sums of weights that are held at a time, about; of a long layer as many as are an eighth
// of its membranes. Where those of a group do not fit, it is held by itself, and if a sample's rows
// come all at once, with some of its sums at a time.
constexpr int64_t RIGHT_BYTES = 80 << 20, OF_MEMBRANES = 8;

// Rows multiplied at a time, at most: enough to read each block of weights seldom, which comes from
// the L3 cache; their own blocks, which outgrow the L2 cache, are read in order.
constexpr int ROWS = 128;

// Of how many a part's samples make chunks at least. A constant: an inner product adds up rows of a
// chunk, and the same bits are to come out every time.
constexpr int CHUNKS = 4;

// Where the k-th of seven products goes: to its one or two of four blocks, which it is the first of
// or adds to.
void aim(DenseProduct &product, int k, float *blocks, int64_t block) {
  int places = 0;
  product.grad_spikes[1] = nullptr;
  for (int b = 0; b < 4; ++b) {
    if (!RESULT[k][b])
      continue;
    product.grad_spikes[places] = blocks + b * block;
    product.subtracts[places] = RESULT[k][b] < 0;
    product.adds[places] = std::any_of(RESULT, RESULT + k, [b](auto &signs) { return signs[b]; });
    ++places;
  }
}

} // namespace

int Strassen::parts(const LifNetwork &n, const Panels &panels, const Panels &after) {
  int parts = 1;
  for (int level = 0; level < MOST_LEVELS && n.steps; ++level, parts *= 2) {
    int inner = 4 * parts;
    if (panels.neurons % (inner * panels.width) != 0 ||
        after.neurons % (inner * after.width) != 0 || after.neurons / inner < LEAST_DEPTH ||
        n.batch < 2 * parts)
      break;
  }
  return parts;
}

Strassen::Strassen(const Kernel &kernel, const LifNetwork &n, int threads,
                   const LayerGradient &next, const float *weights, const Panels &panels,
                   IdleMemory idle, bool whole)
    : kernel_(kernel), threads_(threads), steps_(n.steps), next_(next), weights_(weights),
      storage_(n.weights), panels_(panels),
      strip_(std::min(kernel.strip_vectors * kernel.lanes, panels.width)) {
  const Panels &after = next.panels;
  parts_ = parts(n, panels, after);
  if (parts_ == 1)
    return;
  left_of_ = sums_of(LEFT, parts_ / 2);
  right_of_ = sums_of(RIGHT, parts_ / 2);
  result_of_ = sums_of(RESULT, parts_ / 2);
  depth_ = after.count / parts_;
  quarter_ = n.batch / parts_;
  groups_ = panels.count / panels_of_group();
  int64_t depth = int64_t(depth_) * after.width, blocks = int64_t(parts_) * panels_of_group();
  int64_t of_product = 7 * depth / 2 * panels.width;
  int64_t of_group = 7 * sums() * of_product;
  int64_t most = is_long(n, panels.neurons)
                     ? int64_t(n.batch) * n.steps * panels.neurons / OF_MEMBRANES
                     : RIGHT_BYTES / int64_t(sizeof(float));
  held_groups_ =
      static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(most / of_group, groups_)));
  // As few runs of rows as ROWS allows, of nearly one length whose halves a kernel holds in
  // registers.
  int runs = whole ? 1 : (steps_ + ROWS - 1) / ROWS, unit = 2 * kernel.product_rows;
  rows_ = ((steps_ + runs - 1) / runs + unit - 1) / unit * unit;
  samples_ = std::max(1, std::min(ROWS / rows_, quarter_ / CHUNKS));
  held_sums_ = sums();
  if (rows_ >= steps_)
    held_sums_ = std::max<int64_t>(1, std::min(sums(), most / (7 * of_product)));
  // Of a chunk of each part the result and the states; seven outer products and their left
  // operands; the left operands of seven inner ones.
  int64_t rows = int64_t(samples_) * std::min(rows_, steps_), width = panels.width;
  rows += rows % 2; // both halves have the middle one
  states_ = held_groups_ * blocks * apart(rows * width);
  states_end_ = states_ + held_groups_ * blocks * samples_ * 2 * width;
  right_.reset(new IdleBlocks(held_groups_ * 7 * held_sums_, of_product, idle));
  if (held_sums_ < sums())
    results_.reset(new IdleBlocks(chunks(), states_end_, idle));
  seven_ = results_ ? 0 : states_end_;
  made_ = seven_ + (in_place() ? product_apart(rows) : held_groups_ * 7 * product_apart(rows));
  of_worker_ = std::max(made_ + 7 * (operand_apart(rows) + rows * depth / 4),
                        (parts_ * parts_ + 7) * apart(4 * SUM_COLUMNS * strip_));
  products_.reset(new Buffer<float>(threads * of_worker_));
  int shared = std::min(chunks(), threads - 1);
  shared_.reset(new Buffer<float>(results_ ? 0 : std::max(0, shared - 1) * states_end_));
  turns_ = std::vector<std::atomic<int64_t>>(static_cast<size_t>(shared));
}

// Until all steps before it are done; false if one of them has failed. They were begun before it.
bool Strassen::wait_for(const std::atomic<int64_t> &turn, int64_t step) {
  int64_t now;
  while ((now = turn.load(std::memory_order_acquire)) != step && now != FAILED)
    std::this_thread::yield();
  return now == step;
}

// An outer product of a group of panels from seven inner ones: [half of the columns][half of the
// rows][half of the rows' count][width]. left: as halve_left() reads it; halves: as it left them.
void Strassen::multiply_halves(const float *left, int64_t rows, const float *halves,
                               const float *right, float *to) const {
  int64_t half = (rows + 1) / 2, depth = int64_t(depth_) * next_.panels.width / 2;
  DenseProduct one{panels_.vectors, 0, half, next_, nullptr, {}, {}, {}};
  one.next.panels.count = depth_ / 2;
  one.next.panels.neurons = static_cast<int>(depth);
  for (int k = 0; k < 7; ++k) {
    one.next.grad_current = halves + k * half * depth;
    one.next.rows = half;
    if (is_copy(LEFT[k])) { // of the first block or the last
      one.next.grad_current = left;
      one.next.rows = rows;
      if (LEFT[k][3])
        one.next.grad_current += depth * rows + (rows - half) * next_.panels.width;
    }
    one.weights = right + k * depth * panels_.width;
    aim(one, k, to, half * panels_.width);
    kernel_.dense_product(one);
  }
}

// Adds the seven products of sums number i to the results of a group of panels.
void Strassen::spread_group(int64_t i, int64_t rows, const float *seven, float *result) const {
  int64_t half = (rows + 1) / 2 * panels_.width, all = rows * panels_.width;
  for (int inner = 0; inner < 4; ++inner) {
    int64_t column = inner % 2, first = inner / 2 ? half : 0,
            twice = inner / 2 ? 2 * half - all : 0;
    ProductSpread a{};
    a.count = half - twice;
    a.from = seven + inner * half + twice;
    a.stride = product_apart(rows);
    for (const Term &term : result_of_[static_cast<size_t>(i)]) {
      a.sign[a.terms] = term.sign;
      a.adds[a.terms] = is_in(result_of_, 0, i, term.row, term.column);
      for (int k = 0; k < 4; ++k) {
        int64_t block =
            (2 * term.row + k / 2) * panels_of_group() + 2 * (2 * term.column + k % 2) + column;
        a.to[a.terms][k] = result + block * apart(all) + first;
      }
      ++a.terms;
    }
    kernel_.spread_products(a);
  }
}

// To a result [groups][rows' parts][panels of a group][rows][width].
void Strassen::spread(int64_t i, int begin, int end, int64_t rows, const float *seven,
                      float *result) const {
  int64_t products = 7 * product_apart(rows);
  int64_t block = apart(rows * panels_.width);
  for (int g = 0; g < end - begin; ++g)
    spread_group(i, rows, seven + g * products, result + blocks_of(0, g) * block);
}

// The seven products of sums number i, of each group, of a chunk's run of rows.
const float *Strassen::multiply(int64_t i, int begin, int end, int number, int run,
                                int worker) const {
  int chunk = number * samples_, first = run * rows_;
  int64_t rows = rows_of(number, run);
  int64_t product = product_apart(rows), operand = operand_apart(rows);
  float *made = of_worker(worker) + made_, *halves = made + 7 * operand,
        *seven = in_place() ? made - operand : of_worker(worker) + seven_;
  for (int64_t p = 0; p < depth_; ++p)
    add_up_left(left_of_[static_cast<size_t>(i)], chunk, p, first, rows,
                made + p * rows * next_.panels.width, operand);
  const float *left = made;
  for (int64_t s = 0; s < 7; ++s, left += operand) {
    halve_left(left, rows, halves);
    for (int g = begin; g < end; ++g)
      multiply_halves(left, rows, halves, right_of(g, i * 7 + s),
                      seven + ((g - begin) * 7 + s) * product);
  }
  return seven;
}

} // namespace lif
