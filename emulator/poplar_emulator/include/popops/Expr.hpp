#ifndef popops_Expr_hpp
#define popops_Expr_hpp

// [M] The members of Expr and of its classes are the emulator's, but for constructors.

#include <memory>
#include <type_traits>
#include <vector>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace popops {
namespace expr {

/// A node of an element-wise expression. Expressions own their operands.
class Expr {
public:
  enum class Kind { Const, Cast, PlaceHolder, Unary, Binary, Ternary };
  virtual ~Expr() = default;
  virtual std::unique_ptr<Expr> clone() const = 0;

  Kind kind;
  unsigned op = 0;   ///< of its kind's enumeration; index of a placeholder
  double value = 0;  ///< of a constant
  poplar::Type type; ///< of a constant or a cast
  std::vector<std::shared_ptr<const Expr>> operands;

protected:
  explicit Expr(Kind kind) : kind(kind) {}
};

namespace detail {
template <class T> class Node : public Expr {
public:
  std::unique_ptr<Expr> clone() const override {
    return std::unique_ptr<Expr>(new T(static_cast<const T &>(*this)));
  }

protected:
  using Expr::Expr;
};
} // namespace detail

/// An expression of any kind, by value.
class Any {
public:
  Any(const Expr &expr) : expr(expr.clone()) {}
  Any(const Any &other) : expr(other.expr->clone()) {}
  Any(Any &&) = default;
  Any &operator=(const Any &other) { return expr = other.expr->clone(), *this; }
  Any &operator=(Any &&) = default;
  operator Expr &() { return *expr; }
  operator const Expr &() const { return *expr; }

private:
  std::unique_ptr<Expr> expr;
};

class Const : public detail::Node<Const> {
public:
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>
  Const(T v) : Node(Kind::Const) {
    value = static_cast<double>(v);
    using OnDevice =
        typename std::conditional<std::is_same<T, double>::value, float, T>::type; // has no double
    type = poplar::equivalent_device_type<OnDevice>().value;
  }
};
/// A constant of type half.
class ConstHalf : public detail::Node<ConstHalf> {
public:
  ConstHalf(float v) : Node(Kind::Const) {
    value = v;
    type = poplar::HALF;
  }
};
inline ConstHalf operator""_half(long double v) { return ConstHalf(static_cast<float>(v)); }

class Cast : public detail::Node<Cast> {
public:
  Cast(const Expr &a, poplar::Type to) : Node(Kind::Cast) {
    type = to;
    operands.push_back(a.clone());
  }
};

/// Argument `index` of the expression, counted from 1.
class PlaceHolder : public detail::Node<PlaceHolder> {
public:
  PlaceHolder(unsigned index) : Node(Kind::PlaceHolder) { op = index; }
};
const PlaceHolder _1(1);
const PlaceHolder _2(2);
const PlaceHolder _3(3);
const PlaceHolder _4(4);
const PlaceHolder _5(5);
const PlaceHolder _6(6);
const PlaceHolder _7(7);
const PlaceHolder _8(8);
const PlaceHolder _9(9);
const PlaceHolder _10(10);
const PlaceHolder _11(11);
const PlaceHolder _12(12);
const PlaceHolder _13(13);
const PlaceHolder _14(14);
const PlaceHolder _15(15);
const PlaceHolder _16(16);
const PlaceHolder _17(17);
const PlaceHolder _18(18);
const PlaceHolder _19(19);
const PlaceHolder _20(20);

class UnaryOp : public detail::Node<UnaryOp> {
public:
  UnaryOp(UnaryOpType type, const Expr &a) : Node(Kind::Unary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
  }
};
class BinaryOp : public detail::Node<BinaryOp> {
public:
  BinaryOp(BinaryOpType type, const Expr &a, const Expr &b) : Node(Kind::Binary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
    operands.push_back(b.clone());
  }
};
class TernaryOp : public detail::Node<TernaryOp> {
public:
  TernaryOp(TernaryOpType type, const Expr &a, const Expr &b, const Expr &c) : Node(Kind::Ternary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
    operands.push_back(b.clone());
    operands.push_back(c.clone());
  }
};

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
