#ifndef poplar_VertexFields_hpp
#define poplar_VertexFields_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <type_traits>

#include <poplar/VectorLayout.hpp>

namespace poplar {

/// A vector in the state of a vertex. A vector alone has elements set with setInitialValue; inside
/// Input, Output or InOut they are elements of a tensor.
template <typename T, VectorLayout L = VectorLayout::SPAN, unsigned MinAlign = alignof(T),
          bool Interleaved = false>
class Vector;

template <typename T, VectorListLayout L = VectorListLayout::DELTANELEMENTS,
          unsigned MinAlign = alignof(T), bool Interleaved = false>
class VectorList;

template <typename T> class Input;
template <typename T> class Output;
template <typename T> class InOut;

namespace field {

/// The addresses of a field's elements while compute() runs. Every vector field is one of these,
/// whatever its layout: layouts differ in the accessors of a codelet and in the bytes of state.
struct Span {
  void *first;
  std::size_t count;
};

constexpr bool hasSize(VectorLayout l) {
  return l == VectorLayout::SPAN || l == VectorLayout::SHORT_SPAN;
}

/// The accessors of a vector of T; const-ness is T's.
template <typename T, VectorLayout L> class Elements {
public:
  using value_type = std::remove_const_t<T>;
  T &operator[](std::size_t i) const { return begin()[i]; }
  T &operator*() const { return *begin(); }
  T *begin() const { return static_cast<T *>(span.first); }
  T *data() const { return begin(); }
  const Elements *operator->() const { return this; }
  template <VectorLayout M = L, typename = std::enable_if_t<hasSize(M)>> T *end() const {
    return begin() + span.count;
  }
  template <VectorLayout M = L, typename = std::enable_if_t<hasSize(M)>> unsigned size() const {
    return static_cast<unsigned>(span.count);
  }

protected:
  template <typename From> void write(const From &from) {
    static_assert(hasSize(L), "assigned elements are as many as a vector has: ONE_PTR has no size");
    for (std::size_t i = 0; i < span.count; ++i)
      begin()[i] = from[i];
  }

private:
  Span span;
};

/// The accessors of a list of vectors of T.
template <typename T> class ListElements {
public:
  Elements<T, VectorLayout::SPAN> operator[](std::size_t i) const { return rows()[i]; }
  unsigned size() const { return static_cast<unsigned>(span.count); }
  const ListElements *operator->() const { return this; }
  const Elements<T, VectorLayout::SPAN> *begin() const { return rows(); }
  const Elements<T, VectorLayout::SPAN> *end() const { return rows() + span.count; }

private:
  const Elements<T, VectorLayout::SPAN> *rows() const {
    return static_cast<const Elements<T, VectorLayout::SPAN> *>(span.first);
  }
  Span span;
};

/// The accessors of a scalar.
template <typename T> class Scalar {
public:
  T &operator*() const { return *static_cast<T *>(span.first); }
  T *operator->() const { return static_cast<T *>(span.first); }

protected:
  Span span;
};

template <typename T> struct IsVector : std::false_type {};
template <typename T, VectorLayout L, unsigned A, bool I>
struct IsVector<Vector<T, L, A, I>> : std::true_type {};

/// A vector of scalar fields; each element is used like a field.
template <typename Field, typename T, VectorLayout L> class ScalarFields : public Elements<T, L> {
  class Element : public Field {
  public:
    explicit Element(T &of) { this->span = {const_cast<std::remove_const_t<T> *>(&of), 1}; }
    using Field::operator=;
  };

public:
  Element operator[](std::size_t i) const { return Element(this->begin()[i]); }
};

} // namespace field

template <typename T, VectorLayout L, unsigned MinAlign, bool Interleaved>
class Vector : public field::Elements<T, L> {};

template <typename T> class Input : public field::Scalar<const T> {
public:
  operator const T &() const { return **this; }
};
/// Assigning to one, even another of the same type, writes the element.
template <typename T> class Output : public field::Scalar<T> {
public:
  Output() = default;
  Output(const Output &) = default;
  operator T &() const { return **this; }
  T &operator=(const T &value) { return **this = value; }
  T &operator=(const Output &other) { return **this = *other; }
};
template <typename T> class InOut : public field::Scalar<T> {
public:
  InOut() = default;
  InOut(const InOut &) = default;
  operator T &() const { return **this; }
  T &operator=(const T &value) { return **this = value; }
  T &operator=(const InOut &other) { return **this = *other; }
};

template <typename T, VectorLayout L, unsigned A, bool I>
class Vector<Input<T>, L, A, I>
    : public std::conditional_t<field::IsVector<T>::value, field::Elements<Input<T>, L>,
                                field::ScalarFields<Input<T>, const T, L>> {};
template <typename T, VectorLayout L, unsigned A, bool I>
class Vector<Output<T>, L, A, I>
    : public std::conditional_t<field::IsVector<T>::value, field::Elements<Output<T>, L>,
                                field::ScalarFields<Output<T>, T, L>> {};
template <typename T, VectorLayout L, unsigned A, bool I>
class Vector<InOut<T>, L, A, I>
    : public std::conditional_t<field::IsVector<T>::value, field::Elements<InOut<T>, L>,
                                field::ScalarFields<InOut<T>, T, L>> {};

// The fields derive from the vector in them, so that functions that take vectors take fields.
template <typename T, VectorLayout L, unsigned A, bool I>
class Input<Vector<T, L, A, I>> : public Vector<T, L, A, I> {
  using Whole = Vector<T, L, A, I>;

public:
  const T &operator[](std::size_t i) const { return begin()[i]; }
  const T &operator*() const { return *begin(); }
  const T *begin() const { return Whole::begin(); }
  const T *data() const { return begin(); }
  const Input *operator->() const { return this; }
  template <VectorLayout M = L, typename = std::enable_if_t<field::hasSize(M)>>
  const T *end() const {
    return Whole::end();
  }
};
/// Assigning another vector to one writes its elements.
template <typename T, VectorLayout L, unsigned A, bool I>
class Output<Vector<T, L, A, I>> : public Vector<T, L, A, I> {
public:
  Output() = default;
  Output(const Output &) = default;
  Output &operator=(const Output &from) { return this->write(from), *this; }
  template <VectorLayout M, unsigned B, bool J> Output &operator=(const Vector<T, M, B, J> &from) {
    return this->write(from), *this;
  }
};
template <typename T, VectorLayout L, unsigned A, bool I>
class InOut<Vector<T, L, A, I>> : public Vector<T, L, A, I> {
public:
  InOut() = default;
  InOut(const InOut &) = default;
  InOut &operator=(const InOut &from) { return this->write(from), *this; }
  template <VectorLayout M, unsigned B, bool J> InOut &operator=(const Vector<T, M, B, J> &from) {
    return this->write(from), *this;
  }
};

template <typename T, VectorListLayout L, unsigned A, bool I>
class Input<VectorList<T, L, A, I>> : public field::ListElements<const T> {};
template <typename T, VectorListLayout L, unsigned A, bool I>
class Output<VectorList<T, L, A, I>> : public field::ListElements<T> {};
template <typename T, VectorListLayout L, unsigned A, bool I>
class InOut<VectorList<T, L, A, I>> : public field::ListElements<T> {};

} // namespace poplar

#endif
