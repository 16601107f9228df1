#include "expression_code.h"

#include <poputil/exceptions.hpp>

#include "element_operations.h"

namespace popops {
namespace {

using expr::Expr;
using poplar::Tensor;
using poplar::Type;

/// The type of an expression; the empty type for constants only, which take the type of the other
/// operand.
Type typeOf(const Expr &e, const std::vector<Tensor> &ts) {
  switch (e.kind) {
  case Expr::Kind::PlaceHolder:
    if (e.op == 0 || e.op > ts.size())
      throw poputil::poplibs_error("the expression has placeholder _" + std::to_string(e.op) +
                                   " and " + std::to_string(ts.size()) + " tensors");
    return ts[e.op - 1].elementType();
  case Expr::Kind::Const:
    return Type();
  case Expr::Kind::Cast:
    return e.type;
  case Expr::Kind::Unary:
    return isTest(static_cast<expr::UnaryOpType>(e.op)) ? poplar::BOOL : typeOf(*e.operands[0], ts);
  case Expr::Kind::Binary:
    if (isComparison(static_cast<expr::BinaryOpType>(e.op)))
      return poplar::BOOL;
    break;
  case Expr::Kind::Ternary:
    break;
  }
  const Type a = typeOf(*e.operands[0], ts);
  return a == Type() ? typeOf(*e.operands[1], ts) : a;
}

/// The type of the first constant: that of an expression of constants only.
Type constantType(const Expr &e) {
  return e.kind == Expr::Kind::Const ? e.type : constantType(*e.operands[0]);
}

/// Raises poplibs_error for an operand type that the operation does not support.
void checkOperand(bool ofTruths, bool ofBits, Type type) {
  if (type == Type())
    return;
  if (ofTruths && type != poplar::BOOL)
    throw poputil::poplibs_error("a logical operation has an operand of type " + type.toString() +
                                 " and not bool");
  if (ofBits && (type == poplar::FLOAT || type == poplar::HALF))
    throw poputil::poplibs_error("an operation on bits has an operand of type " + type.toString());
}

class Encoder {
public:
  explicit Encoder(const std::vector<Tensor> &ts) : ts(ts) {}

  void encode(const Expr &e, Type wanted) {
    Type type = typeOf(e, ts);
    if (type == Type())
      type = wanted == Type() ? constantType(e) : wanted;
    switch (e.kind) {
    case Expr::Kind::PlaceHolder:
      emit(Code::Argument, e.op - 1, type);
      return;
    case Expr::Kind::Const: {
      const auto high = static_cast<float>(e.value);
      code.constants.push_back(high);
      code.constants.push_back(static_cast<float>(e.value - static_cast<double>(high)));
      emit(Code::Constant, static_cast<unsigned>(code.constants.size() / 2 - 1), type);
      return;
    }
    case Expr::Kind::Cast:
      encode(*e.operands[0], Type());
      emit(Code::Cast, 0, e.type);
      return;
    case Expr::Kind::Unary:
      checkOperand(isLogical(static_cast<expr::UnaryOpType>(e.op)),
                   isBitwise(static_cast<expr::UnaryOpType>(e.op)), typeOf(*e.operands[0], ts));
      encode(*e.operands[0], type);
      emit(Code::Unary, e.op, type);
      return;
    case Expr::Kind::Binary: {
      const Type operand = common(*e.operands[0], *e.operands[1]);
      checkOperand(isLogical(static_cast<expr::BinaryOpType>(e.op)),
                   isBitwise(static_cast<expr::BinaryOpType>(e.op)), operand);
      encode(*e.operands[0], operand);
      encode(*e.operands[1], operand);
      emit(Code::Binary, e.op, type);
      return;
    }
    case Expr::Kind::Ternary: {
      const bool select = static_cast<expr::TernaryOpType>(e.op) == expr::TernaryOpType::SELECT;
      const Type operand = common(*e.operands[0], *e.operands[1]);
      encode(*e.operands[0], operand == Type() ? type : operand);
      encode(*e.operands[1], operand == Type() ? type : operand);
      checkOperand(select, false, typeOf(*e.operands[2], ts));
      encode(*e.operands[2], select ? poplar::BOOL : type);
      emit(select ? Code::Select : Code::Clamp, 0, type);
      return;
    }
    }
  }

  ExpressionCode code;

private:
  Type common(const Expr &a, const Expr &b) const {
    const Type x = typeOf(a, ts), y = typeOf(b, ts);
    if (x != y && x != Type() && y != Type())
      throw poputil::poplibs_error("an operation has operands of type " + x.toString() + " and " +
                                   y.toString());
    return x == Type() ? y : x;
  }
  void emit(Code c, unsigned operand, Type type) {
    code.words.insert(code.words.end(),
                      {static_cast<unsigned>(c), operand, static_cast<unsigned>(type.identity())});
    code.result = type;
  }
  const std::vector<Tensor> &ts;
};

} // namespace

ExpressionCode encode(const Expr &e, const std::vector<Tensor> &ts) {
  Encoder encoder(ts);
  encoder.encode(e, Type());
  return encoder.code;
}

} // namespace popops
