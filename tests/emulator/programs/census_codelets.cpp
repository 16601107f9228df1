// Fields, intrinsics and types as in public codelets; census.cpp runs them.
#include <arch/gc_tile_defines.h>
#include <ipuvectormath>
#include <limits>
#include <poplar/Alignment.hpp>
#include <poplar/InOutTypes.hpp>
#include <poplar/Loops.hpp>
#include <poplar/Vertex.hpp>

using namespace poplar;

namespace {

float firstAndSize(const Vector<float> &v) { return v[0] + static_cast<float>(v.size()); }

template <typename T> float largest() { return static_cast<float>(std::numeric_limits<T>::max()); }

} // namespace

// A codelet may define an intrinsic itself.
static unsigned __builtin_ipu_get_tile_id() { return 77; }

class Intrinsics : public Vertex {
public:
  Output<Vector<float>> out;
  bool compute() {
    const half4 h{1, 2, 4, 8};
    const float2 sums = ipu::sum(h);
    const half2 most = ipu::maxc(h);
    const auto finite = __builtin_ipu_isfinite(float2{1, INFINITY});
    const float values[] = {
        __builtin_ipu_max(0.25f, 0.75f),
        __builtin_ipu_min(-0.25f, 0.75f),
        __builtin_ipu_max(float2{1, 5}, float2{3, 2})[0],
        __builtin_ipu_f32v2min(float2{1, 5}, float2{3, 2})[1],
        static_cast<float>(__builtin_ipu_max(half2{1, 0.5f}, half2{3, 0.25f})[1]),
        sums[0] + 10 * sums[1],
        ipu::sum(half2{1, 2}),
        static_cast<float>(most[0]) + 10 * static_cast<float>(most[1]),
        ipu::andc(-2.f, -0.f),
        __builtin_ipu_and(3.f, __builtin_ipu_cmplt(1.f, 1.5f)),
        __builtin_ipu_and(3.f, __builtin_ipu_cmplt(1.5f, 1.f)),
        __builtin_ipu_clamp(5.f, float2{0, 1}) + __builtin_ipu_clamp(-5.f, float2{2, 4}),
        static_cast<float>(__builtin_ipu_isnan(1.f) + 2 * __builtin_ipu_isnan(NAN)),
        static_cast<float>(finite[0] + 2 * finite[1]),
        static_cast<float>(__builtin_ipu_get_tile_id()),
        static_cast<float>(__builtin_ipu_max(3, 4)),
    };
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; ++i)
      out[i] = values[i];
    return true;
  }
};

class Limits : public Vertex {
public:
  Output<Vector<float>> out;
  bool compute() {
    using L = std::numeric_limits<half>;
    const float values[] = {largest<half>(),
                            static_cast<float>(L::lowest()),
                            static_cast<float>(L::epsilon() * 1024.0_h),
                            float(L::digits),
                            float(L::min_exponent),
                            static_cast<float>(1.5_h)};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; ++i)
      out[i] = values[i];
    return true;
  }
};

class Fields : public Vertex {
public:
  Input<Vector<float>> in;
  Vector<Input<Vector<float>>> rows;
  Input<Vector<float, VectorLayout::ONE_PTR>> bare;
  InOut<unsigned> n;
  InOut<unsigned> m;
  Output<float> o;
  Output<Vector<float>> out;
  bool compute() {
    const float values[] = {static_cast<float>(in->size()),
                            *in.data(),
                            *rows[1].data(),
                            *bare.data(),
                            firstAndSize(in),
                            CTXT_WORKERS};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; ++i)
      out.data()[i] = values[i];
    asm volatile("" ::: "memory");
    n += 3;
    ++n;
    n = n * 2;
    m = n;
    o = 2.f;
    o += 1;
    return true;
  }
};

// A function that is always inlined, without the word inline.
__attribute__((always_inline)) float2 swapped(const float2 x) noexcept {
  return float2{x[1], x[0]};
}

class Swap : public Vertex {
public:
  Output<Vector<float>> out;
  bool compute() {
    const float2 found = swapped(float2{3, 4});
    out[0] = found[0];
    out[1] = found[1];
    return true;
  }
};

// Vectors of clang's attribute: members and swizzles.
typedef float Pair __attribute__((ext_vector_type(2)));
using Quad = float __attribute__((ext_vector_type(4)));

class ExtVectors : public Vertex {
public:
  Output<Vector<float>> out;
  bool compute() {
    Pair a{1, 2};
    Quad q = {1, 2, 3, 4};
    q.lo = a * 10.f;
    const Pair b = a + q.zw;
    const float values[] = {a.x + a.y, float(sizeof(Pair)), q.x, q.w, b.y, float((a < b).x), b[0]};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; ++i)
      out[i] = values[i];
    return true;
  }
};
