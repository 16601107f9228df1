#include "strassen.h"

namespace lif {
namespace {

// Blocks 11, 12, 21, 22 of the left operand, the right one and the result in the seven products.
constexpr signed char LEFT[7][4] = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                    {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
constexpr signed char RIGHT[7][4] = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                     {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
constexpr signed char RESULT[7][4] = {{1, 0, 0, 1},  {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0},
                                      {-1, 1, 0, 0}, {0, 0, 0, 1},  {1, 0, 0, 0}};

// Blocks of less depth than this cost more in sums than they save in products.
constexpr int LEAST_DEPTH = 256;
constexpr int MOST_LEVELS = 2;

// Bytes of sums of either operand that are held at a time, if a sample's fit at all.
constexpr int64_t LEFT_BYTES = 16 << 20, RIGHT_BYTES = 48 << 20;

// Rows multiplied at a time. Divisible by the rows that each kernel holds in registers.
constexpr int64_t ROWS = 120;

// Rows added up at a time: of all blocks they share an L1 or L2 cache.
constexpr int64_t SUM_ROWS = 8;

} // namespace

Strassen::Strassen(const Kernel &kernel, const LifNetwork &n, int threads,
                   const LayerGradient &next, const float *weights, const Panels &panels)
    : kernel_(kernel), threads_(threads), steps_(n.steps), next_(next), weights_(weights),
      storage_(n.weights), panels_(panels) {
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
  left_of_ = sums(LEFT, levels);
  right_of_ = sums(RIGHT, levels);
  result_of_ = sums(RESULT, levels);
  depth_ = after.count / parts_;
  quarter_ = n.batch / parts_;
  groups_ = panels.count / parts_;
  auto products = static_cast<int64_t>(left_of_.size());
  int64_t left = products * steps_ * depth_ * after.width;
  int64_t right = products * depth_ * after.width * panels.width;
  auto fit = [](int64_t bytes, int64_t floats, int most) {
    int64_t count = bytes / (4 * floats);
    return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(count, most)));
  };
  held_groups_ = fit(RIGHT_BYTES, right, groups_);
  // Whichever is added up again and again, it is not the weights.
  chunk_ = held_groups_ < groups_ ? quarter_ : fit(LEFT_BYTES, left, quarter_);
  left_.reset(new Buffer<float>(chunk_ * left));
  right_.reset(new Buffer<float>(held_groups_ * right));
  int64_t blocks = int64_t(parts_) * parts_;
  products_.reset(new Buffer<float>(threads * (blocks * steps_ + ROWS) * panels.width));
}

std::vector<Strassen::Sum> Strassen::sums(const signed char (&table)[7][4], int levels) {
  std::vector<Sum> found = {{{0, 0, 1}}};
  for (int level = 0; level < levels; ++level) {
    std::vector<Sum> finer;
    for (const Sum &sum : found)
      for (const auto &blocks : table) {
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

// Of samples `first` and so on of each part: [samples][products][depth panels][steps][width].
void Strassen::add_up_left(int first, int count) {
  int width = next_.panels.width;
  int64_t block = depth_ * steps_ * width;
  parallel_for(threads_, int64_t(count) * depth_, [&](int64_t task, int) {
    int64_t s = task / depth_, p = task % depth_;
    for (int64_t row = 0; row < steps_; row += SUM_ROWS) {
      int64_t floats = std::min(SUM_ROWS, steps_ - row) * width;
      for (size_t i = 0; i < left_of_.size(); ++i) {
        BlockSum a{};
        a.count = floats;
        for (const Term &term : left_of_[i]) {
          int64_t sample = first + s + int64_t(term.row) * quarter_;
          int64_t panel = int64_t(term.column) * depth_ + p;
          a.sign[a.terms] = term.sign;
          a.from[a.terms++] =
              next_.grad_current + (panel * next_.rows + sample * steps_ + row) * width;
        }
        auto product = static_cast<int64_t>(left_of_.size()) * s + static_cast<int64_t>(i);
        a.to = left_->get() + product * block + (p * steps_ + row) * width;
        kernel_.add_blocks(a);
      }
    }
  });
}

// Of groups of panels: [groups][products][strips][depth][strip].
void Strassen::add_up_right(int group, int count) {
  if (held_ == group)
    return;
  held_ = group;
  int width = panels_.width, strip = std::min(kernel_.strip_vectors * kernel_.lanes, width);
  int64_t neurons = next_.panels.neurons, depth = int64_t(depth_) * next_.panels.width;
  int64_t panel = neurons * width, block = depth * width;
  Buffer<float> packed(count * parts_ * panel);
  parallel_for(threads_, int64_t(count) * parts_, [&](int64_t task, int) {
    int p = group + static_cast<int>(task / parts_ + task % parts_ * groups_);
    pack_panel(kernel_.pack_transposed, weights_, panels_.neurons, static_cast<int>(neurons),
               panels_.first(p), width, packed.get() + task * panel, panel, storage_);
  });
  // A run of a strip at a time.
  constexpr int64_t run = SUM_ROWS * MAX_WIDTH;
  int64_t runs = (depth * strip + run - 1) / run, strips = width / strip;
  parallel_for(threads_, count * strips * runs, [&](int64_t task, int) {
    int64_t g = task / (strips * runs), s = task / runs % strips, begin = task % runs * run;
    for (size_t i = 0; i < right_of_.size(); ++i) {
      BlockSum a{};
      a.count = std::min(run, depth * strip - begin);
      for (const Term &term : right_of_[i]) {
        const float *from = packed.get() + (g * parts_ + term.column) * panel;
        a.sign[a.terms] = term.sign;
        a.from[a.terms++] = from + (s * neurons + term.row * depth) * strip + begin;
      }
      auto product = static_cast<int64_t>(right_of_.size()) * g + static_cast<int64_t>(i);
      a.to = right_->get() + product * block + s * depth * strip + begin;
      kernel_.add_blocks(a);
    }
  });
}

// [rows' parts][columns' parts][steps][width] of one sample of each part and one group of panels.
float *Strassen::multiply(int group, int sample, int worker) {
  int width = panels_.width;
  int64_t depth = int64_t(depth_) * next_.panels.width, blocks = int64_t(parts_) * parts_;
  auto products = static_cast<int64_t>(left_of_.size());
  float *result = products_->get() + worker * (blocks * steps_ + ROWS) * width;
  float *one = result + blocks * steps_ * width;
  std::fill(result, one, 0.0f);
  LayerGradient next{};
  next.panels = next_.panels;
  next.panels.count = depth_;
  next.panels.neurons = static_cast<int>(depth);
  next.rows = steps_;
  for (int64_t row = 0; row < steps_; row += ROWS) {
    int64_t rows = std::min(ROWS, steps_ - row);
    for (int64_t i = 0; i < products; ++i) {
      next.grad_current = left_->get() + (sample * products + i) * depth * steps_;
      const float *right = right_->get() + (group * products + i) * depth * width;
      kernel_.dense_product({panels_.vectors, row, rows, next, right, one});
      BlockSpread a{};
      a.count = rows * width;
      a.from = one;
      for (const Term &term : result_of_[static_cast<size_t>(i)]) {
        a.sign[a.terms] = term.sign;
        a.to[a.terms++] = result + ((term.row * parts_ + term.column) * steps_ + row) * width;
      }
      kernel_.spread_block(a);
    }
  }
  return result;
}

} // namespace lif
