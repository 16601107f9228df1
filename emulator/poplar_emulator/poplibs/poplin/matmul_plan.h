#ifndef IPULSE_POPLIBS_MATMUL_PLAN_H
#define IPULSE_POPLIBS_MATMUL_PLAN_H

#include <cstddef>
#include <ostream>

#include <poplar/Target.hpp>
#include <poplar/Type.hpp>

namespace poplin {

/// Numbers of rows of the left operand, of terms of a sum and of columns of the right operand; or
/// into how many parts each of them is divided.
struct ProductSizes {
  std::size_t m = 1, k = 1, n = 1;
};

/// How a product is worked: serial parts, one after the other, each of them in blocks at once, one
/// block a tile.
struct ProductPlan {
  ProductSizes serial, blocks;
  double bytes = 0; // of a tile, for the operands of its block, its result and its partial sums
};

/// Returns whether a product of these sizes is worked in blocks.
bool isWorkedInBlocks(const ProductSizes &sizes);

/// Returns the plan with the fewest serial parts that fits into the share of a tile's memory, and
/// its blocks with the least estimated cycles. If none fits, returns the one that needs the least
/// memory, and logs a warning.
ProductPlan planProduct(const ProductSizes &sizes, const poplar::Type &type,
                        const poplar::Target &target, double share);

/// Writes a sentence on how the product is worked.
void reportProduct(std::ostream &out, const ProductSizes &sizes, const poplar::Type &type,
                   const poplar::Target &target, double share);

} // namespace poplin

#endif
