#ifndef popops_Operation_hpp
#define popops_Operation_hpp

#include <istream>
#include <ostream>

namespace popops {

enum class Operation { ADD, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD, LOG_ADD };

std::ostream &operator<<(std::ostream &os, Operation op);
/// Sets failbit for an unknown name.
std::istream &operator>>(std::istream &in, Operation &op);

} // namespace popops

#endif
