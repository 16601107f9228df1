#include <popnn/NonLinearityDefUtil.hpp>
#include <popnn/PoolingDef.hpp>
#include <popops/Operation.hpp>

#include "names.h"

using poplar::emulator::nameIn;
using poplar::emulator::readFrom;

namespace popops {
namespace {

constexpr std::pair<Operation, const char *> kOperations[] = {
    {Operation::ADD, "ADD"},
    {Operation::MUL, "MUL"},
    {Operation::MIN, "MIN"},
    {Operation::MAX, "MAX"},
    {Operation::LOGICAL_AND, "LOGICAL_AND"},
    {Operation::LOGICAL_OR, "LOGICAL_OR"},
    {Operation::SQUARE_ADD, "SQUARE_ADD"},
    {Operation::LOG_ADD, "LOG_ADD"},
};

} // namespace

std::ostream &operator<<(std::ostream &os, Operation op) { return os << nameIn(kOperations, op); }
std::istream &operator>>(std::istream &in, Operation &op) { return readFrom(kOperations, in, op); }

} // namespace popops

namespace popnn {
namespace {

using Type = NonLinearityType;
constexpr std::pair<Type, const char *> kNonLinearities[] = {
    {Type::SIGMOID, "sigmoid"},
    {Type::HARD_SIGMOID, "hard_sigmoid"},
    {Type::RELU, "relu"},
    {Type::TANH, "tanh"},
    {Type::GELU, "gelu"},
    {Type::GELU_ERF, "gelu_erf"},
    {Type::SWISH, "swish"},
    {Type::SOFTMAX, "softmax"},
    {Type::SOFTMAX_STABLE, "softmax_stable"},
    {Type::SOFTMAX_SCALED, "softmax_scaled"},
};
constexpr std::pair<PoolingType, const char *> kPoolings[] = {
    {PoolingType::MAX, "max"},
    {PoolingType::AVG, "avg"},
    {PoolingType::SUM, "sum"},
};

} // namespace

const char *pooling::asString(const PoolingType &type) { return nameIn(kPoolings, type); }
const char *asString(const NonLinearityType &type) { return nameIn(kNonLinearities, type); }
std::ostream &operator<<(std::ostream &os, const NonLinearityType &type) {
  return os << asString(type);
}
std::istream &operator>>(std::istream &in, NonLinearityType &type) {
  return readFrom(kNonLinearities, in, type);
}

} // namespace popnn
