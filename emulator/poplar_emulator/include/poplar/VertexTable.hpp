#ifndef poplar_VertexTable_hpp
#define poplar_VertexTable_hpp

#include <cstdint>
#include <new>

#include <poplar/TypeId.hpp>
#include <poplar/Vertex.hpp>

/// The description of the vertices of a codelet library. The compiler fills in the tables; popc
/// supplies only the names of fields and classes.
namespace poplar::field {

using emulator::TypeId;

enum class Direction : std::uint8_t { None, Input, Output, InOut };
enum class Shape : std::uint8_t { Scalar, Vector, VectorOfVectors };
enum class Kind : std::uint8_t { Vertex, MultiVertex, SupervisorVertex };

struct FieldTable {
  const char *name;
  std::size_t offset;
  Direction direction;
  Shape shape;
  TypeId element; ///< None stands for any type
  VectorLayout layout;
  VectorLayout outerLayout;
  VectorListLayout listLayout;
  unsigned minAlign;
  bool interleaved;
};

/// Static data that a vertex names; an address of null ends a list.
struct StaticData {
  const void *address;
  std::size_t bytes;
};

struct VertexTable {
  const char *name;
  std::size_t size;
  std::size_t align;
  Kind kind;
  const FieldTable *fields;
  unsigned numFields;
  bool (*compute)(void *state, unsigned worker);
  std::size_t codeBytes;
  const char *const *problems = nullptr; ///< of linking for any target, of linking for a device
  std::size_t stackBytes = 0;            ///< of one call of compute()
  const StaticData *data = nullptr;      ///< a list
};

template <typename T, typename = void> struct ElementId {
  static constexpr TypeId value = TypeId::None;
};
template <> struct ElementId<bool> {
  static constexpr TypeId value = TypeId::Bool;
};
template <> struct ElementId<char> {
  static constexpr TypeId value = TypeId::Char;
};
template <> struct ElementId<unsigned char> {
  static constexpr TypeId value = TypeId::UnsignedChar;
};
template <> struct ElementId<signed char> {
  static constexpr TypeId value = TypeId::SignedChar;
};
template <> struct ElementId<unsigned short> {
  static constexpr TypeId value = TypeId::UnsignedShort;
};
template <> struct ElementId<short> {
  static constexpr TypeId value = TypeId::Short;
};
template <> struct ElementId<unsigned> {
  static constexpr TypeId value = TypeId::UnsignedInt;
};
template <> struct ElementId<int> {
  static constexpr TypeId value = TypeId::Int;
};
template <> struct ElementId<unsigned long> {
  static constexpr TypeId value = TypeId::UnsignedLong;
};
template <> struct ElementId<long> {
  static constexpr TypeId value = TypeId::Long;
};
template <> struct ElementId<unsigned long long> {
  static constexpr TypeId value = TypeId::UnsignedLongLong;
};
template <> struct ElementId<long long> {
  static constexpr TypeId value = TypeId::LongLong;
};
template <> struct ElementId<half> {
  static constexpr TypeId value = TypeId::Half;
};
template <> struct ElementId<float> {
  static constexpr TypeId value = TypeId::Float;
};
template <typename T> struct ElementId<T, std::enable_if_t<std::is_enum<T>::value>> {
  static constexpr TypeId value = ElementId<std::underlying_type_t<T>>::value;
};

/// The table of a field, except for its name and offset.
template <typename F> struct Of {
  static constexpr FieldTable table{nullptr,
                                    0,
                                    Direction::None,
                                    Shape::Scalar,
                                    ElementId<std::remove_cv_t<F>>::value,
                                    VectorLayout::NOT_VECTOR,
                                    VectorLayout::NOT_VECTOR,
                                    VectorListLayout::NOT_VECTOR,
                                    alignof(F),
                                    false};
};
template <typename F> struct Of<const F> : Of<F> {};
template <typename T, VectorLayout L, unsigned A, bool I> struct Of<Vector<T, L, A, I>> {
  static constexpr FieldTable table{nullptr,
                                    0,
                                    Direction::None,
                                    Shape::Vector,
                                    ElementId<std::remove_cv_t<T>>::value,
                                    L,
                                    VectorLayout::NOT_VECTOR,
                                    VectorListLayout::NOT_VECTOR,
                                    A,
                                    I};
};

constexpr FieldTable directed(FieldTable table, Direction direction) {
  table.direction = direction;
  return table;
}
constexpr FieldTable nested(FieldTable table, VectorLayout outer) {
  table.shape = table.shape == Shape::Scalar ? Shape::Vector : Shape::VectorOfVectors;
  table.outerLayout = outer;
  return table;
}
template <typename T, VectorLayout M, unsigned B, bool J, VectorLayout L, unsigned A, bool I>
struct Of<Vector<Vector<T, M, B, J>, L, A, I>> {
  static constexpr FieldTable table = nested(Of<Vector<T, M, B, J>>::table, L);
};
template <typename T, VectorListLayout L, unsigned A, bool I> struct Of<VectorList<T, L, A, I>> {
  static constexpr FieldTable table{nullptr,
                                    0,
                                    Direction::None,
                                    Shape::VectorOfVectors,
                                    ElementId<std::remove_cv_t<T>>::value,
                                    VectorLayout::SPAN,
                                    VectorLayout::NOT_VECTOR,
                                    L,
                                    A,
                                    I};
};
template <typename T> struct Of<Input<T>> {
  static constexpr FieldTable table = directed(Of<T>::table, Direction::Input);
};
template <typename T> struct Of<Output<T>> {
  static constexpr FieldTable table = directed(Of<T>::table, Direction::Output);
};
template <typename T> struct Of<InOut<T>> {
  static constexpr FieldTable table = directed(Of<T>::table, Direction::InOut);
};
template <typename T, VectorLayout L, unsigned A, bool I> struct Of<Vector<Input<T>, L, A, I>> {
  static constexpr FieldTable table = nested(Of<Input<T>>::table, L);
};
template <typename T, VectorLayout L, unsigned A, bool I> struct Of<Vector<Output<T>, L, A, I>> {
  static constexpr FieldTable table = nested(Of<Output<T>>::table, L);
};
template <typename T, VectorLayout L, unsigned A, bool I> struct Of<Vector<InOut<T>, L, A, I>> {
  static constexpr FieldTable table = nested(Of<InOut<T>>::table, L);
};

/// The levels of vectors of a field; many for a type that no vertex can have: a structure, an
/// array, a pointer, a double.
template <typename T> struct Levels {
  static constexpr bool refused = std::is_class<T>::value || std::is_union<T>::value ||
                                  std::is_array<T>::value || std::is_pointer<T>::value ||
                                  std::is_reference<T>::value || std::is_same<T, double>::value ||
                                  std::is_same<T, long double>::value;
  static constexpr int value = refused ? 100 : 0;
};
template <typename T> struct Levels<const T> : Levels<T> {};
template <typename T, VectorLayout L, unsigned A, bool I> struct Levels<Vector<T, L, A, I>> {
  static constexpr int value = 1 + Levels<T>::value;
};
template <typename T, VectorListLayout L, unsigned A, bool I>
struct Levels<VectorList<T, L, A, I>> {
  static constexpr int value = 2 + Levels<T>::value;
};
template <typename T> struct Levels<Input<T>> : Levels<T> {};
template <typename T> struct Levels<Output<T>> : Levels<T> {};
template <typename T> struct Levels<InOut<T>> : Levels<T> {};

template <typename F> constexpr void requireSupported() {
  static_assert(Levels<F>::value <= 2, "unsupported field type");
}

/// The table of a field of type F.
template <typename F> constexpr FieldTable named(const char *name, std::size_t offset) {
  FieldTable table = Of<F>::table;
  table.name = name;
  table.offset = offset;
  return table;
}

/// False for a class with derived classes.
template <typename V, typename = void> struct HasCompute {
  static constexpr bool value = false;
};
template <typename V> struct HasCompute<V, std::void_t<decltype(&V::compute)>> {
  static constexpr bool value = true;
};

/// Calls compute(), which may return nothing.
template <typename V> bool computeOf(void *state, unsigned worker) {
  static_cast<void>(state), static_cast<void>(worker);
  if constexpr (!HasCompute<V>::value) {
    return true;
  } else {
    V &vertex = *static_cast<V *>(state);
    const auto call = [&](auto... arguments) {
      if constexpr (std::is_void<decltype(vertex.compute(arguments...))>::value)
        return vertex.compute(arguments...), true;
      else
        return vertex.compute(arguments...);
    };
    if constexpr (std::is_base_of<MultiVertex, V>::value)
      return call(worker);
    else
      return call();
  }
}

template <typename V> constexpr Kind kindOf() {
  return std::is_base_of<MultiVertex, V>::value        ? Kind::MultiVertex
         : std::is_base_of<SupervisorVertex, V>::value ? Kind::SupervisorVertex
                                                       : Kind::Vertex;
}

} // namespace poplar::field

#endif
