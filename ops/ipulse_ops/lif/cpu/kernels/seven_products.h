// Strassen's seven products, as signs of blocks 11, 12, 21, 22: of the left operand and the right
// one in each product, and of each product in the result.
#ifndef IPULSE_OPS_LIF_CPU_SEVEN_PRODUCTS_H
#define IPULSE_OPS_LIF_CPU_SEVEN_PRODUCTS_H

namespace lif {

using SevenProducts = signed char[7][4];

constexpr SevenProducts LEFT = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
constexpr SevenProducts RIGHT = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                 {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
constexpr SevenProducts RESULT = {{1, 0, 0, 1},  {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0},
                                  {-1, 1, 0, 0}, {0, 0, 0, 1},  {1, 0, 0, 0}};

} // namespace lif

#endif
