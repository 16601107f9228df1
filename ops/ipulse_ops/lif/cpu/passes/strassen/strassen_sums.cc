// The sums of blocks that Strassen's products are made of.
#include "strassen.h"

namespace lif {
bool Strassen::is_in(const std::vector<Sum> &sums, int64_t first, int64_t last, int row,
                     int column) {
  return std::any_of(sums.begin() + first, sums.begin() + last, [&](const Sum &sum) {
    return std::any_of(sum.begin(), sum.end(),
                       [&](const Term &term) { return term.row == row && term.column == column; });
  });
}

std::vector<Strassen::Sum> Strassen::sums_of(const SevenProducts &signs, int parts) {
  std::vector<Sum> found = {{{0, 0, 1}}};
  for (int part = 1; part < parts; part *= 2) {
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
  a.copies = true;
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

// Each of some columns of a strip.
int64_t Strassen::right_tasks(int group) const {
  int64_t depth = int64_t(depth_) * next_.panels.width / 2;
  return held_from(group) * (panels_.width / strip_) * ((depth + SUM_COLUMNS - 1) / SUM_COLUMNS);
}

// Of groups of panels: [groups][outer products][inner products][strips][depth][strip]. The columns
// of all blocks in these sums are transposed and then added up where they lie, in the worker's L2
// cache.
void Strassen::add_up_right(int group, int64_t task, int worker) const {
  int64_t neurons = next_.panels.neurons, depth = int64_t(depth_) * next_.panels.width / 2;
  int64_t runs = (depth + SUM_COLUMNS - 1) / SUM_COLUMNS, strips = panels_.width / strip_;
  int64_t g = task / (strips * runs), s = task / runs % strips, first = task % runs * SUM_COLUMNS;
  int64_t columns = std::min(SUM_COLUMNS, depth - first), run = columns * strip_;
  // Four inner blocks of each outer one, and of each outer operand.
  int64_t four = apart(4 * run);
  float *blocks = of_worker(worker), *operands = blocks + parts_ * parts_ * four;
  for (int k = 0; k < parts_ * parts_; ++k) {
    if (!is_in(right_of_, first_sum_, last_sum_, k / parts_ / 2, k % parts_ / 2))
      continue;
    for (int inner = 0; inner < 4; ++inner) {
      int p = group + static_cast<int>(g) + (2 * (k % parts_) + inner % 2) * groups_;
      const float *row = weights_ + (panels_.first(p) + s * strip_) * neurons;
      kernel_.transpose(row + (2 * (k / parts_) + inner / 2) * depth + first, neurons, strip_,
                        columns, strip_, storage_, blocks + k * four + inner * run);
    }
  }
  BlockSums outer{}, inner{};
  outer.right = inner.right = outer.copies = inner.copies = true;
  outer.count = 4 * run;
  outer.stride = four;
  outer.to = operands;
  inner.terms = 1;
  inner.sign[0] = 1;
  inner.count = run;
  inner.stride = depth * panels_.width;
  int64_t product = 7 * first_sum_;
  for (int64_t i = first_sum_; i < last_sum_; ++i) {
    outer.terms = 0;
    for (const Term &term : right_of_[static_cast<size_t>(i)]) {
      outer.sign[outer.terms] = term.sign;
      for (int k = 0; k < 4; ++k)
        outer.from[outer.terms][k] =
            blocks + ((2 * term.row + k / 2) * parts_ + 2 * term.column + k % 2) * four;
      ++outer.terms;
    }
    kernel_.add_blocks(outer);
    for (int of_outer = 0; of_outer < 7; ++of_outer, ++product) {
      inner.to = right_of(group + static_cast<int>(g), product) + (s * depth + first) * strip_;
      for (int k = 0; k < 4; ++k)
        inner.from[0][k] = operands + of_outer * four + k * run;
      kernel_.add_blocks(inner);
    }
  }
}

// The left operands of seven inner products, [7][depth panels][half the rows][width], from that of
// an outer one, [depth panels][rows][width]. Of an odd number of rows both halves have the
// middle one. What is a block by itself is read where it is.
void Strassen::halve_left(const float *left, int64_t rows, float *to) const {
  int64_t width = next_.panels.width, half = (rows + 1) / 2, depth = depth_ / 2;
  BlockSums a{};
  a.terms = 1;
  a.sign[0] = 1;
  a.count = half * width;
  a.stride = depth * a.count;
  for (int64_t p = 0; p < depth; ++p) {
    for (int k = 0; k < 4; ++k)
      a.from[0][k] = left + ((k % 2 * depth + p) * rows + k / 2 * (rows - half)) * width;
    a.to = to + p * a.count;
    kernel_.add_blocks(a);
  }
}

} // namespace lif
