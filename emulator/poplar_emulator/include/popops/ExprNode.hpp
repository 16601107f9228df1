#ifndef popops_ExprNode_hpp
#define popops_ExprNode_hpp

// Part of Expr.hpp; not a header of the SDK. [M] The members of Expr and of its classes are the
// emulator's, but for constructors.

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

namespace emulator_detail {
template <class T> class Node : public Expr {
public:
  std::unique_ptr<Expr> clone() const override {
    return std::unique_ptr<Expr>(new T(static_cast<const T &>(*this)));
  }

protected:
  using Expr::Expr;
};
} // namespace emulator_detail

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

class Const : public emulator_detail::Node<Const> {
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
class ConstHalf : public emulator_detail::Node<ConstHalf> {
public:
  ConstHalf(float v) : Node(Kind::Const) {
    value = v;
    type = poplar::HALF;
  }
};
inline ConstHalf operator""_half(long double v) { return ConstHalf(static_cast<float>(v)); }

class Cast : public emulator_detail::Node<Cast> {
public:
  Cast(const Expr &a, poplar::Type to) : Node(Kind::Cast) {
    type = to;
    operands.push_back(a.clone());
  }
};

/// Argument `index` of the expression, counted from 1.
class PlaceHolder : public emulator_detail::Node<PlaceHolder> {
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

class UnaryOp : public emulator_detail::Node<UnaryOp> {
public:
  UnaryOp(UnaryOpType type, const Expr &a) : Node(Kind::Unary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
  }
};
class BinaryOp : public emulator_detail::Node<BinaryOp> {
public:
  BinaryOp(BinaryOpType type, const Expr &a, const Expr &b) : Node(Kind::Binary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
    operands.push_back(b.clone());
  }
};
class TernaryOp : public emulator_detail::Node<TernaryOp> {
public:
  TernaryOp(TernaryOpType type, const Expr &a, const Expr &b, const Expr &c) : Node(Kind::Ternary) {
    op = static_cast<unsigned>(type);
    operands.push_back(a.clone());
    operands.push_back(b.clone());
    operands.push_back(c.clone());
  }
};

} // namespace expr
} // namespace popops

#endif
