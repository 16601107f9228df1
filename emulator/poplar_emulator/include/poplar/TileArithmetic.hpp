#ifndef poplar_TileArithmetic_hpp
#define poplar_TileArithmetic_hpp

// The arithmetic intrinsics of a tile, for numbers and for vectors of them: float, float2, half2
// and half4. Their names and types are those of Graphcore's published compiler; ipu_builtins.h
// includes this file.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <poplar/HalfFloat.hpp>

namespace popc_detail {

template <typename T, typename = void> struct IsVector : std::false_type {};
template <typename T>
struct IsVector<T, std::void_t<decltype(std::declval<T &>()[0])>>
    : std::bool_constant<!std::is_pointer<T>::value && !std::is_array<T>::value> {};

template <typename T> constexpr unsigned lanes() {
  return sizeof(T) / sizeof(std::declval<T &>()[0]);
}

/// The type that a function of A and B computes in: a vector's, an integer's if both are integers,
/// otherwise float, because no function takes one half.
template <typename A, typename B, bool = IsVector<A>::value> struct Common {
  using Type = A;
};
template <typename A, typename B> struct Common<A, B, false> {
  using Type = std::conditional_t<std::is_integral<A>::value && std::is_integral<B>::value,
                                  decltype(std::declval<A>() + std::declval<B>()), float>;
};
template <typename A, typename B = A> using Common_t = typename Common<A, B>::Type;

template <typename T, typename F> inline T each(F f, T a) {
  if constexpr (IsVector<T>::value) {
    for (unsigned i = 0; i < lanes<T>(); ++i)
      a[i] = f(static_cast<float>(a[i]));
    return a;
  } else {
    return static_cast<T>(f(a));
  }
}
template <typename T, typename F> inline T each(F f, T a, T b) {
  if constexpr (IsVector<T>::value) {
    for (unsigned i = 0; i < lanes<T>(); ++i)
      a[i] = f(static_cast<float>(a[i]), static_cast<float>(b[i]));
    return a;
  } else {
    return static_cast<T>(f(a, b));
  }
}

template <std::size_t Bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <> struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <> struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <> struct UnsignedOf<8> {
  using Type = std::uint64_t;
};

/// f of the bits of a and b. T has 2, 4 or 8 bytes.
template <typename T, typename F> inline T bits(F f, T a, T b) {
  typename UnsignedOf<sizeof(T)>::Type x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  x = static_cast<decltype(x)>(f(x, y));
  std::memcpy(&a, &x, sizeof a);
  return a;
}

/// All ones or all zeros, in the type of a number.
template <typename T> inline T mask(bool set) {
  const typename UnsignedOf<sizeof(T)>::Type ones = static_cast<decltype(ones)>(set ? -1 : 0);
  T value;
  std::memcpy(&value, &ones, sizeof value);
  return value;
}
/// A comparison: a mask of floats; 0 or 1 of integers.
template <typename T, typename F> inline T compare(F f, T a, T b) {
  if constexpr (IsVector<T>::value) {
    for (unsigned i = 0; i < lanes<T>(); ++i)
      a[i] = mask<std::decay_t<decltype(a[0])>>(f(a[i], b[i]));
    return a;
  } else if constexpr (std::is_integral<T>::value) {
    return f(a, b);
  } else {
    return mask<T>(f(a, b));
  }
}

/// A test of floats: 0 or 1 of a number, a vector of integers with 0 or -1 of a vector.
template <typename T, typename F> inline auto test(F f, T a) {
  if constexpr (IsVector<T>::value) {
    auto result = a == a;
    for (unsigned i = 0; i < lanes<T>(); ++i)
      result[i] = f(static_cast<float>(a[i])) ? -1 : 0;
    return result;
  } else {
    return static_cast<int>(f(static_cast<float>(a)));
  }
}

} // namespace popc_detail

// Each name also with the types that assembly has in it: f32v2max, f16v4max, max_f32.
#define POPC_NAMES_OF_TWO(PREFIX, NAME, SUFFIX)                                                    \
  template <typename A, typename B> inline auto __builtin_ipu_##PREFIX##NAME##SUFFIX(A a, B b) {   \
    return __builtin_ipu_##NAME(a, b);                                                             \
  }
#define POPC_NAMES_OF_ONE(PREFIX, NAME, SUFFIX)                                                    \
  template <typename A> inline auto __builtin_ipu_##PREFIX##NAME##SUFFIX(A a) {                    \
    return __builtin_ipu_##NAME(a);                                                                \
  }
#define POPC_ALL_NAMES(ARITY, NAME)                                                                \
  POPC_NAMES_OF_##ARITY(f32, NAME, ) POPC_NAMES_OF_##ARITY(f32v2, NAME, )                          \
      POPC_NAMES_OF_##ARITY(f16v2, NAME, ) POPC_NAMES_OF_##ARITY(f16v4, NAME, )                    \
          POPC_NAMES_OF_##ARITY(, NAME, _f32)
#define POPC_FUNCTION_OF_TWO(NAME, HOW, EXPRESSION)                                                \
  template <typename A, typename B>                                                                \
  inline popc_detail::Common_t<A, B> __builtin_ipu_##NAME(A x, B y) {                              \
    using T = popc_detail::Common_t<A, B>;                                                         \
    return popc_detail::HOW([](auto a, auto b) { return EXPRESSION; }, T(x), T(y));                \
  }                                                                                                \
  POPC_ALL_NAMES(TWO, NAME)
#define POPC_FUNCTION_OF_ONE(NAME, HOW, EXPRESSION)                                                \
  template <typename A> inline auto __builtin_ipu_##NAME(A x) {                                    \
    return popc_detail::HOW([](auto a) { return EXPRESSION; }, popc_detail::Common_t<A>(x));       \
  }                                                                                                \
  POPC_ALL_NAMES(ONE, NAME)

namespace popc_detail {

// If one argument is not-a-number, the result is the other.
inline float larger(float a, float b) { return fmaxf(a, b); }
inline float smaller(float a, float b) { return fminf(a, b); }
inline float magnitude(float a) { return fabsf(a); }
template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
inline T smaller(T a, T b) {
  return a < b ? a : b;
}
template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
inline T magnitude(T a) {
  return a < 0 ? -a : a;
}

} // namespace popc_detail

POPC_FUNCTION_OF_TWO(max, each, popc_detail::larger(a, b))
POPC_FUNCTION_OF_TWO(min, each, popc_detail::smaller(a, b))
POPC_FUNCTION_OF_TWO(absadd, each, popc_detail::magnitude(a) + popc_detail::magnitude(b))
POPC_FUNCTION_OF_TWO(absmax, each,
                     popc_detail::larger(popc_detail::magnitude(a), popc_detail::magnitude(b)))
POPC_FUNCTION_OF_TWO(cmplt, compare, a < b)
POPC_FUNCTION_OF_TWO(cmple, compare, a <= b)
POPC_FUNCTION_OF_TWO(cmpgt, compare, a > b)
POPC_FUNCTION_OF_TWO(cmpge, compare, a >= b)
POPC_FUNCTION_OF_TWO(cmpeq, compare, a == b)
POPC_FUNCTION_OF_TWO(cmpne, compare, a != b)
POPC_FUNCTION_OF_TWO(and, bits, a &b)
POPC_FUNCTION_OF_TWO(andc, bits, a & ~b)
POPC_FUNCTION_OF_TWO(or, bits, a | b)
POPC_FUNCTION_OF_TWO(xor, bits, a ^ b)
POPC_FUNCTION_OF_ONE(abs, each, popc_detail::magnitude(a))
POPC_FUNCTION_OF_ONE(exp, each, expf(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(exp2, each, exp2f(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(ln, each, logf(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(log2, each, log2f(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(sqrt, each, sqrtf(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(oorx, each, 1.f / sqrtf(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(oox, each, 1.f / static_cast<float>(a))
POPC_FUNCTION_OF_ONE(sigm, each, 1.f / (1.f + expf(-static_cast<float>(a))))
POPC_FUNCTION_OF_ONE(tanh, each, tanhf(static_cast<float>(a)))
POPC_FUNCTION_OF_ONE(isnan, test, a != a)
POPC_FUNCTION_OF_ONE(isinf, test, a == HUGE_VALF || a == -HUGE_VALF)
POPC_FUNCTION_OF_ONE(isfinite, test, a - a == 0)
#undef POPC_FUNCTION_OF_ONE
#undef POPC_FUNCTION_OF_TWO
#undef POPC_ALL_NAMES
#undef POPC_NAMES_OF_ONE
#undef POPC_NAMES_OF_TWO

template <typename A> inline auto __builtin_ipu_not(A x) {
  using T = popc_detail::Common_t<A>;
  return popc_detail::bits([](auto a, auto) { return ~a; }, T(x), T(x));
}
/// x, or the bound that it is beyond: bounds has the lower and the upper one.
template <typename A, typename B> inline auto __builtin_ipu_clamp(A x, B bounds) {
  const float low = static_cast<float>(bounds[0]), high = static_cast<float>(bounds[1]);
  return popc_detail::each([=](float a) { return fminf(fmaxf(a, low), high); },
                           popc_detail::Common_t<A>(x));
}
template <typename T> inline unsigned __builtin_ipu_popc(T x) {
  return static_cast<unsigned>(__builtin_popcount(static_cast<unsigned>(x)));
}
template <typename T> inline unsigned __builtin_ipu_clz(T x) {
  return x ? static_cast<unsigned>(__builtin_clz(static_cast<unsigned>(x))) : 32u;
}
template <typename A, typename B> inline int __builtin_ipu_cmpltu(A a, B b) {
  return static_cast<unsigned>(a) < static_cast<unsigned>(b);
}
template <typename A, typename B> inline int __builtin_ipu_cmpslt(A a, B b) {
  return static_cast<int>(a) < static_cast<int>(b);
}
template <typename T> inline float __builtin_ipu_f16tof32(T x) { return static_cast<float>(x); }
template <typename T> inline poplar::half __builtin_ipu_f32tof16(T x) {
  return static_cast<poplar::half>(static_cast<float>(x));
}

#endif
