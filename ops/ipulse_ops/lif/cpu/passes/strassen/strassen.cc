#include "strassen.h"

namespace lif {
namespace {

// Blocks of less depth than this cost more in sums than they save in products.
constexpr int LEAST_DEPTH = 128;

// Most bytes of the sums of weights, which take 49/16 of the weights' memory.
constexpr int64_t RIGHT_BYTES = 16 << 20;

// Rows of a task, about: few enough for the L2 cache, enough to read each block of weights seldom.
constexpr int ROWS = 128;

// Directs the k-th of seven products to the one or two of four blocks that it contributes to.
void route_product(DenseProduct &product, int k, float *blocks, int64_t block) {
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

int samples_of_task(const LifNetwork &n) {
  return std::max(1, std::min(ROWS / n.steps, n.batch / 8));
}

} // namespace

bool Strassen::pays(const LifNetwork &n, const Panels &panels, const Panels &after) {
  int64_t sums = int64_t(49) * panels.neurons * after.neurons / 16 * int64_t(sizeof(float));
  return n.steps && n.batch >= 2 && panels.neurons % (4 * panels.chunk_neurons()) == 0 &&
         after.neurons % (4 * after.chunk_neurons()) == 0 && after.neurons / 4 >= LEAST_DEPTH &&
         sums <= RIGHT_BYTES;
}

Strassen::Strassen(const Kernel &kernel, const LifNetwork &n, int threads,
                   const LayerGradient &next, const float *weights, const Panels &panels)
    : kernel_(kernel), threads_(threads), steps_(n.steps), next_(next), weights_(weights),
      storage_(n.weights), panels_(panels),
      strip_(std::min(kernel.strip_vectors * kernel.lanes, panels.width)), half_(n.batch / 2),
      depth_(next.panels.count / 2), groups_(panels.count / PANELS), samples_(samples_of_task(n)),
      result_floats_(2 * PANELS * padded_stride(int64_t(samples_) * steps_ * panels.width)),
      products_floats_(groups_ * 7 * product_stride(int64_t(samples_) * steps_)),
      worker_floats_(std::max(result_floats_ + products_floats_ +
                                  7 * operand_stride(int64_t(samples_) * steps_) +
                                  7 * ((int64_t(samples_) * steps_ + 1) / 2) * quarter_depth(),
                              11 * padded_stride(4 * SUM_COLUMNS * strip_))),
      right_(groups_ * 49 * quarter_depth() * panels.width), scratch_(threads * worker_floats_) {}

// A task is some columns of a strip of a group.
int64_t Strassen::right_tasks() const {
  return groups_ * (panels_.width / strip_) * ((quarter_depth() + SUM_COLUMNS - 1) / SUM_COLUMNS);
}

// Adds blocks of W^T to the right operands of all products, [groups][outer products][inner
// products][strips][depth][strip]. All blocks are transposed first, in the worker's L2 cache.
void Strassen::add_right_blocks(int64_t task, int worker) const {
  int64_t neurons = next_.panels.neurons, depth = quarter_depth();
  int64_t runs = (depth + SUM_COLUMNS - 1) / SUM_COLUMNS, strips = panels_.width / strip_;
  int group = static_cast<int>(task / (strips * runs));
  int64_t strip = task / runs % strips, first = task % runs * SUM_COLUMNS;
  int64_t columns = std::min(SUM_COLUMNS, depth - first), run = columns * strip_;
  int64_t stride = padded_stride(4 * run); // of the four inner blocks of an outer one
  float *blocks = scratch(worker), *operands = blocks + 4 * stride;
  for (int outer = 0; outer < 4; ++outer)
    for (int inner = 0; inner < 4; ++inner) {
      int p = group + (2 * (outer % 2) + inner % 2) * groups_;
      const float *row = weights_ + (panels_.first(p) + strip * strip_) * neurons;
      kernel_.transpose(row + (2 * (outer / 2) + inner / 2) * depth + first, neurons, strip_,
                        columns, strip_, storage_, blocks + outer * stride + inner * run);
    }
  BlockSums sums{};
  sums.right = true;
  sums.count = 4 * run;
  for (int k = 0; k < 4; ++k)
    sums.from[k] = blocks + k * stride;
  sums.to = operands;
  sums.stride = stride;
  kernel_.add_blocks(sums);
  sums.count = run;
  sums.stride = depth * panels_.width;
  for (int outer = 0; outer < 7; ++outer) {
    for (int k = 0; k < 4; ++k)
      sums.from[k] = operands + outer * stride + k * run;
    sums.to = right_operand(group, outer, 0) + (strip * depth + first) * strip_;
    kernel_.add_blocks(sums);
  }
}

// Adds blocks of g to the left operands of the outer products, [7][depth panels][rows][width], for
// some rows of each half of the samples.
void Strassen::add_left_blocks(int first, int64_t rows, float *to) const {
  int64_t width = next_.panels.width;
  BlockSums sums{};
  sums.count = rows * width;
  sums.stride = operand_stride(rows);
  for (int64_t p = 0; p < depth_; ++p) {
    for (int k = 0; k < 4; ++k) {
      int64_t row = (first + (k / 2) * int64_t(half_)) * steps_, panel = k % 2 * depth_ + p;
      sums.from[k] = next_.grad_current + (panel * next_.rows + row) * width;
    }
    sums.to = to + p * rows * width;
    kernel_.add_blocks(sums);
  }
}

// Adds blocks of an outer left operand to those of its inner products, [7][depth panels][half the
// rows][width]. If the number of rows is odd, both halves have the middle one.
void Strassen::halve_left(const float *left, int64_t rows, float *to) const {
  int64_t width = next_.panels.width, half = (rows + 1) / 2, depth = depth_ / 2;
  BlockSums sums{};
  sums.count = half * width;
  sums.stride = depth * sums.count;
  for (int64_t p = 0; p < depth; ++p) {
    for (int k = 0; k < 4; ++k)
      sums.from[k] = left + ((k % 2 * depth + p) * rows + k / 2 * (rows - half)) * width;
    sums.to = to + p * sums.count;
    kernel_.add_blocks(sums);
  }
}

// The seven outer products of all groups for some rows, [groups][7].
void Strassen::multiply(int first, int64_t rows, int worker) const {
  float *left = products(worker) + products_floats_;
  float *halves = left + 7 * operand_stride(rows);
  add_left_blocks(first, rows, left);
  for (int outer = 0; outer < 7; ++outer) {
    halve_left(left + outer * operand_stride(rows), rows, halves);
    for (int group = 0; group < groups_; ++group)
      multiply_halves(rows, halves, right_operand(group, outer, 0),
                      products(worker) + (group * 7 + outer) * product_stride(rows));
  }
}

// An outer product of a group from seven inner ones: [half of the columns][half of the rows][half
// of the rows' count][width].
void Strassen::multiply_halves(int64_t rows, const float *halves, const float *right,
                               float *to) const {
  int64_t half = (rows + 1) / 2, depth = quarter_depth();
  DenseProduct product{panels_.vectors, 0, half, next_, nullptr, {}, {}, {}, true};
  product.next.panels.count = depth_ / 2;
  product.next.panels.neurons = static_cast<int>(depth);
  product.next.rows = half;
  for (int k = 0; k < 7; ++k) {
    product.next.grad_current = halves + k * half * depth;
    product.weights = right + k * depth * panels_.width;
    route_product(product, k, to, half * panels_.width);
    kernel_.dense_product(product);
  }
}

// Adds the outer products of a group to its result, [halves of the samples][panels of the
// group][rows][width].
void Strassen::spread(int group, int64_t rows, int worker) const {
  int64_t half = (rows + 1) / 2 * panels_.width, all = rows * panels_.width;
  const float *seven = products(worker) + group * 7 * product_stride(rows);
  for (int inner = 0; inner < 4; ++inner) {
    // The second half leaves out a middle row that the first one has, too.
    int64_t first = inner / 2 ? half : 0, twice = inner / 2 ? 2 * half - all : 0;
    ProductSpread spread{};
    spread.count = half - twice;
    spread.from = seven + inner * half + twice;
    spread.stride = product_stride(rows);
    for (int k = 0; k < 4; ++k)
      spread.to[k] =
          scratch(worker) + (k / 2 * PANELS + 2 * (k % 2) + inner % 2) * padded_stride(all) + first;
    kernel_.spread_products(spread);
  }
}

} // namespace lif
