#ifndef poplar_ExtVector_hpp
#define poplar_ExtVector_hpp

// Vectors of clang's attribute ext_vector_type, which g++ does not have: popc replaces the
// attribute by these classes and includes this file.

#include <type_traits>

#include <poplar/TileArithmetic.hpp>

template <typename T, unsigned N> struct popc_ext_vector;

namespace popc_detail {

template <typename T, unsigned N> struct ExtStorage {
  T elements[N];
};
template <typename T> struct ExtStorage<T, 2> {
  union {
    T elements[2];
    struct {
      T x, y;
    };
    struct {
      T s0, s1;
    };
    struct {
      T lo, hi;
    };
  };
};
template <typename T> struct ExtStorage<T, 3> {
  union {
    T elements[4];
    struct {
      T x, y, z;
    };
    struct {
      T s0, s1, s2;
    };
  };
};
template <typename T> struct ExtStorage<T, 4> {
  union {
    T elements[4];
    struct {
      T x, y, z, w;
    };
    struct {
      T r, g, b, a;
    };
    struct {
      T s0, s1, s2, s3;
    };
    struct {
      popc_ext_vector<T, 2> xy, zw;
    };
    struct {
      popc_ext_vector<T, 2> lo, hi;
    };
  };
};

constexpr unsigned extBytes(unsigned bytes, unsigned n) { return bytes * (n == 3 ? 4 : n); }

template <typename T> struct IsExt : std::false_type {};
template <typename T, unsigned N> struct IsExt<popc_ext_vector<T, N>> : std::true_type {};

} // namespace popc_detail

/// The elements by index and by name. A number stands for a vector of it.
template <typename T, unsigned N>
struct alignas(popc_detail::extBytes(sizeof(T), N)) popc_ext_vector
    : popc_detail::ExtStorage<T, N> {
  popc_ext_vector() = default;
  template <typename S, typename = std::enable_if_t<!popc_detail::IsVector<S>::value>>
  popc_ext_vector(S all) {
    for (unsigned i = 0; i < N; ++i)
      (*this)[i] = static_cast<T>(all);
  }
  /// Elements that are not given are 0.
  template <typename A, typename B, typename... More>
  popc_ext_vector(A first, B second, More... more) : popc_ext_vector(T(0)) {
    static_assert(sizeof...(More) + 2 <= N, "more numbers than the vector has elements");
    const T given[] = {static_cast<T>(first), static_cast<T>(second), static_cast<T>(more)...};
    for (unsigned i = 0; i < sizeof...(More) + 2; ++i)
      (*this)[i] = given[i];
  }
  /// Conversions from and to a vector of the other attribute, vector_size.
  template <
      typename V,
      typename = std::enable_if_t<popc_detail::IsVector<V>::value &&
                                  !popc_detail::IsExt<V>::value && sizeof(V) == N * sizeof(T)>,
      typename = V>
  popc_ext_vector(V other) {
    for (unsigned i = 0; i < N; ++i)
      (*this)[i] = other[i];
  }
  template <typename V, typename = std::enable_if_t<popc_detail::IsVector<V>::value &&
                                                    !popc_detail::IsExt<V>::value &&
                                                    sizeof(V) == N * sizeof(T)>>
  operator V() const {
    V other;
    for (unsigned i = 0; i < N; ++i)
      other[i] = (*this)[i];
    return other;
  }
  T &operator[](std::size_t i) { return this->elements[i]; }
  const T &operator[](std::size_t i) const { return this->elements[i]; }
};

namespace popc_detail {

/// Floats that a tile adds and multiplies two at a time, as float2 and float4.
template <typename T, unsigned N>
struct IsPaired : std::integral_constant<bool, std::is_same<T, float>::value && N % 2 == 0> {};
template <typename T, unsigned N> struct Paired {
  typedef T Type __attribute__((vector_size(N * sizeof(T))));
};

} // namespace popc_detail

#define POPC_EXT_PAIRED_OPERATOR(SIGN)                                                             \
  template <typename T, unsigned N>                                                                \
  inline popc_ext_vector<T, N> operator SIGN(popc_ext_vector<T, N> a, popc_ext_vector<T, N> b) {   \
    if constexpr (popc_detail::IsPaired<T, N>::value) {                                            \
      using Type = typename popc_detail::Paired<T, N>::Type;                                       \
      return __builtin_bit_cast(popc_ext_vector<T, N>,                                             \
                                __builtin_bit_cast(Type, a) SIGN __builtin_bit_cast(Type, b));     \
    } else {                                                                                       \
      for (unsigned i = 0; i < N; ++i)                                                             \
        a[i] = a[i] SIGN b[i];                                                                     \
      return a;                                                                                    \
    }                                                                                              \
  }
POPC_EXT_PAIRED_OPERATOR(+)
POPC_EXT_PAIRED_OPERATOR(-)
POPC_EXT_PAIRED_OPERATOR(*)
#undef POPC_EXT_PAIRED_OPERATOR
#define POPC_EXT_SINGLE_OPERATOR(SIGN)                                                             \
  template <typename T, unsigned N>                                                                \
  inline popc_ext_vector<T, N> operator SIGN(popc_ext_vector<T, N> a, popc_ext_vector<T, N> b) {   \
    for (unsigned i = 0; i < N; ++i)                                                               \
      a[i] = a[i] SIGN b[i];                                                                       \
    return a;                                                                                      \
  }
POPC_EXT_SINGLE_OPERATOR(/)
POPC_EXT_SINGLE_OPERATOR(%)
POPC_EXT_SINGLE_OPERATOR(&)
POPC_EXT_SINGLE_OPERATOR(|)
POPC_EXT_SINGLE_OPERATOR(^)
POPC_EXT_SINGLE_OPERATOR(<<)
POPC_EXT_SINGLE_OPERATOR(>>)
#undef POPC_EXT_SINGLE_OPERATOR

#define POPC_EXT_OPERATOR(SIGN)                                                                    \
  template <typename T, unsigned N, typename S,                                                    \
            typename = std::enable_if_t<!popc_detail::IsVector<S>::value>>                         \
  inline popc_ext_vector<T, N> operator SIGN(popc_ext_vector<T, N> a, S b) {                       \
    return a SIGN popc_ext_vector<T, N>(b);                                                        \
  }                                                                                                \
  template <typename T, unsigned N, typename S,                                                    \
            typename = std::enable_if_t<!popc_detail::IsVector<S>::value>>                         \
  inline popc_ext_vector<T, N> operator SIGN(S a, popc_ext_vector<T, N> b) {                       \
    return popc_ext_vector<T, N>(a) SIGN b;                                                        \
  }                                                                                                \
  template <typename T, unsigned N, typename S>                                                    \
  inline popc_ext_vector<T, N> &operator SIGN##=(popc_ext_vector<T, N> &a, S b) {                  \
    return a = a SIGN b;                                                                           \
  }
POPC_EXT_OPERATOR(+)
POPC_EXT_OPERATOR(-)
POPC_EXT_OPERATOR(*)
POPC_EXT_OPERATOR(/)
POPC_EXT_OPERATOR(%)
POPC_EXT_OPERATOR(&)
POPC_EXT_OPERATOR(|)
POPC_EXT_OPERATOR(^)
POPC_EXT_OPERATOR(<<)
POPC_EXT_OPERATOR(>>)
#undef POPC_EXT_OPERATOR

template <typename T, unsigned N> inline popc_ext_vector<T, N> operator-(popc_ext_vector<T, N> a) {
  for (unsigned i = 0; i < N; ++i)
    a[i] = -a[i];
  return a;
}

// A comparison gives a vector of integers of the elements' size: -1 or 0.
#define POPC_EXT_COMPARISON(SIGN)                                                                  \
  template <typename T, unsigned N>                                                                \
  inline auto operator SIGN(popc_ext_vector<T, N> a, popc_ext_vector<T, N> b) {                    \
    popc_ext_vector<std::make_signed_t<typename popc_detail::UnsignedOf<sizeof(T)>::Type>, N> r;   \
    for (unsigned i = 0; i < N; ++i)                                                               \
      r[i] = a[i] SIGN b[i] ? -1 : 0;                                                              \
    return r;                                                                                      \
  }
POPC_EXT_COMPARISON(==)
POPC_EXT_COMPARISON(!=)
POPC_EXT_COMPARISON(<)
POPC_EXT_COMPARISON(<=)
POPC_EXT_COMPARISON(>)
POPC_EXT_COMPARISON(>=)
#undef POPC_EXT_COMPARISON

#endif
