#include "op_value.h"

#include <stdexcept>

namespace custom_op {

using namespace poplar;

namespace {

Type typeOf(const std::string &name) {
  for (const Type type :
       {FLOAT, HALF, INT, UNSIGNED_INT, SHORT, UNSIGNED_SHORT, BOOL, SIGNED_CHAR, UNSIGNED_CHAR})
    if (type.toString() == name)
      return type;
  throw std::invalid_argument("'" + name + "' is no type that TensorFlow hands to a custom op");
}

} // namespace

Value Value::of(const Target &target, const CustomOpTensor &given) {
  Value value{typeOf(given.type), {given.shape, given.shape + given.rank}, 0};
  value.bytes = target.getTypeSize(value.type);
  for (const std::size_t size : value.shape)
    value.bytes *= size;
  return value;
}

void Value::check(const Tensor &t, const std::string &what) const {
  if (t.elementType() != type || t.shape() != shape) {
    std::string words;
    for (const std::size_t size : shape)
      words += (words.empty() ? "" : ",") + std::to_string(size);
    throw std::runtime_error(what + " is " + t.elementType().toString() + " " + t.shapeToString() +
                             ", expected: " + type.toString() + " {" + words + "}");
  }
}

} // namespace custom_op
