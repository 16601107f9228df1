#ifndef popops_Expr_hpp
#define popops_Expr_hpp

#include <type_traits>

#include <poplar/Tensor.hpp>
#include <poplar/TypeTraits.hpp>
#include <popops/ExprNode.hpp>

namespace popops {
namespace expr {

#define POPOPS_UNARY_CLASS(NAME, OP)                                                               \
  class NAME : public UnaryOp {                                                                    \
  public:                                                                                          \
    explicit NAME(const Expr &a) : UnaryOp(UnaryOpType::OP, a) {}                                  \
  }
#define POPOPS_BINARY_CLASS(NAME, OP)                                                              \
  class NAME : public BinaryOp {                                                                   \
  public:                                                                                          \
    NAME(const Expr &a, const Expr &b) : BinaryOp(BinaryOpType::OP, a, b) {}                       \
  }
POPOPS_UNARY_CLASS(Abs, ABSOLUTE);
POPOPS_UNARY_CLASS(Asin, ASIN);
POPOPS_UNARY_CLASS(BitwiseNot, BITWISE_NOT);
POPOPS_UNARY_CLASS(Cbrt, CBRT);
POPOPS_UNARY_CLASS(Ceil, CEIL);
POPOPS_UNARY_CLASS(Cos, COS);
POPOPS_UNARY_CLASS(Erf, ERF);
POPOPS_UNARY_CLASS(Exp, EXPONENT);
POPOPS_UNARY_CLASS(Exp2, EXPONENT2);
POPOPS_UNARY_CLASS(Expm1, EXPONENT_MINUS_ONE);
POPOPS_UNARY_CLASS(Floor, FLOOR);
POPOPS_UNARY_CLASS(GeluErf, GELU_ERF);
POPOPS_UNARY_CLASS(Inv, INVERSE);
POPOPS_UNARY_CLASS(IsFinite, IS_FINITE);
POPOPS_UNARY_CLASS(IsInf, IS_INF);
POPOPS_UNARY_CLASS(IsNaN, IS_NAN);
POPOPS_UNARY_CLASS(Log, LOGARITHM);
POPOPS_UNARY_CLASS(Log1p, LOGARITHM_ONE_PLUS);
POPOPS_UNARY_CLASS(Not, LOGICAL_NOT);
POPOPS_UNARY_CLASS(NearbyInt, NEARBY_INT);
POPOPS_UNARY_CLASS(Neg, NEGATE);
POPOPS_UNARY_CLASS(Relu, RELU);
POPOPS_UNARY_CLASS(Round, ROUND);
POPOPS_UNARY_CLASS(Rsqrt, RSQRT);
POPOPS_UNARY_CLASS(Sigmoid, SIGMOID);
POPOPS_UNARY_CLASS(Signum, SIGNUM);
POPOPS_UNARY_CLASS(Sin, SIN);
POPOPS_UNARY_CLASS(Sqrt, SQRT);
POPOPS_UNARY_CLASS(Square, SQUARE);
POPOPS_UNARY_CLASS(Tan, TAN);
POPOPS_UNARY_CLASS(Tanh, TANH);
POPOPS_UNARY_CLASS(Trunc, TRUNC);
POPOPS_BINARY_CLASS(Add, ADD);
POPOPS_BINARY_CLASS(Atan2, ATAN2);
POPOPS_BINARY_CLASS(BitwiseAnd, BITWISE_AND);
POPOPS_BINARY_CLASS(BitwiseOr, BITWISE_OR);
POPOPS_BINARY_CLASS(BitwiseXor, BITWISE_XOR);
POPOPS_BINARY_CLASS(BitwiseXnor, BITWISE_XNOR);
POPOPS_BINARY_CLASS(Divide, DIVIDE);
POPOPS_BINARY_CLASS(Equal, EQUAL);
POPOPS_BINARY_CLASS(Gte, GREATER_THAN_EQUAL);
POPOPS_BINARY_CLASS(Gt, GREATER_THAN);
POPOPS_BINARY_CLASS(InvStdDevToVariance, INV_STD_DEV_TO_VARIANCE);
POPOPS_BINARY_CLASS(Lte, LESS_THAN_EQUAL);
POPOPS_BINARY_CLASS(And, LOGICAL_AND);
POPOPS_BINARY_CLASS(Or, LOGICAL_OR);
POPOPS_BINARY_CLASS(Lt, LESS_THAN);
POPOPS_BINARY_CLASS(Max, MAXIMUM);
POPOPS_BINARY_CLASS(Min, MINIMUM);
POPOPS_BINARY_CLASS(Mul, MULTIPLY);
POPOPS_BINARY_CLASS(NotEqual, NOT_EQUAL);
POPOPS_BINARY_CLASS(Pow, POWER);
POPOPS_BINARY_CLASS(Rem, REMAINDER);
POPOPS_BINARY_CLASS(Shl, SHIFT_LEFT);
POPOPS_BINARY_CLASS(Shr, SHIFT_RIGHT);
POPOPS_BINARY_CLASS(ShrSE, SHIFT_RIGHT_SIGN_EXTEND);
POPOPS_BINARY_CLASS(Sub, SUBTRACT);
POPOPS_BINARY_CLASS(VarianceToInvStdDev, VARIANCE_TO_INV_STD_DEV);
#undef POPOPS_UNARY_CLASS
#undef POPOPS_BINARY_CLASS

/// a where c is true, b elsewhere.
class Select : public TernaryOp {
public:
  Select(const Expr &a, const Expr &b, const Expr &c) : TernaryOp(TernaryOpType::SELECT, a, b, c) {}
};
/// a limited to the bounds b and c.
class Clamp : public TernaryOp {
public:
  Clamp(const Expr &a, const Expr &b, const Expr &c) : TernaryOp(TernaryOpType::CLAMP, a, b, c) {}
};

#define POPOPS_OPERATOR(SIGN, NAME)                                                                \
  inline NAME operator SIGN(const Expr &a, const Expr &b) { return {a, b}; }                       \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>    \
  NAME operator SIGN(const Expr &a, T b) {                                                         \
    return {a, Const(b)};                                                                          \
  }                                                                                                \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>    \
  NAME operator SIGN(T a, const Expr &b) {                                                         \
    return {Const(a), b};                                                                          \
  }
POPOPS_OPERATOR(+, Add)
POPOPS_OPERATOR(-, Sub)
POPOPS_OPERATOR(*, Mul)
POPOPS_OPERATOR(/, Divide)
POPOPS_OPERATOR(%, Rem)
POPOPS_OPERATOR(==, Equal)
POPOPS_OPERATOR(!=, NotEqual)
POPOPS_OPERATOR(>=, Gte)
POPOPS_OPERATOR(>, Gt)
POPOPS_OPERATOR(<=, Lte)
POPOPS_OPERATOR(<, Lt)
POPOPS_OPERATOR(&&, And)
POPOPS_OPERATOR(||, Or)
POPOPS_OPERATOR(&, BitwiseAnd)
POPOPS_OPERATOR(^, BitwiseXor)
POPOPS_OPERATOR(<<, Shl)
POPOPS_OPERATOR(>>, Shr)
#undef POPOPS_OPERATOR
inline BitwiseOr operator|(const Expr &a, const Expr &b) { return {a, b}; }
inline Neg operator-(const Expr &a) { return Neg(a); }
inline Not operator!(const Expr &a) { return Not(a); }
inline BitwiseNot operator~(const Expr &a) { return BitwiseNot(a); }

} // namespace expr
} // namespace popops

#endif
