// Codelets in the styles that programs for the device are written in: kinds, layouts, templates,
// vector types, intrinsics. Registers and vectors of the compiler are in the other files
// styles_*.cpp.
#include <cmath>
#include <cstddef>
#include <ipu_memory_intrinsics>
#include <ipu_vector_math>
#include <ipudef.h>
#include <poplar/AvailableVTypes.h>
#include <poplar/HalfFloat.hpp>
#include <poplar/StackSizeDefs.hpp>
#include <poplar/Vertex.hpp>
#include <print.h>
#include <type_traits>

using namespace poplar;
static constexpr auto SPAN = VectorLayout::SPAN;
static constexpr auto ONE_PTR = VectorLayout::ONE_PTR;
#ifdef VECTOR_AVAIL_SCALED_PTR64
static constexpr auto PTR64 = VectorLayout::SCALED_PTR64;
#endif
#ifdef __IPU__
#error "the emulator is no tile"
#endif

class SumVertex : public Vertex {
public:
  Input<Vector<float>> in;
  Output<float> out;
  bool compute() {
    *out = 0;
    for (const auto &v : in)
      *out += v;
    return true;
  }
};

template <typename T> class [[poplar::constraint("elem(*x) != elem(*y)")]] Axpy : public Vertex {
public:
  Axpy();
  Input<Vector<T, ONE_PTR, 8>> x;
  InOut<Vector<T, SPAN, 8>> y;
  const T a;
  bool compute() {
    for (unsigned i = 0; i < y.size(); ++i)
      y[i] = a * x[i] + y[i];
    return true;
  }
};
template class Axpy<float>;
template class Axpy<half>;
template class Axpy<int>;

// relu that mixes half with literals
template <typename T> struct Relu : Vertex {
  Input<Vector<T>> in;
  Output<Vector<T>> out;
  bool compute() {
    for (size_t i = 0; i < in.size(); ++i) {
      T v = in[i];
      out[i] = v > 0 ? v : 0;
      if (v > 100.0f)
        out[i] = v * 0.5f + 1;
    }
    return true;
  }
};
template struct Relu<float>;
template struct Relu<half>;

class VectorAxpy : public Vertex {
public:
  Input<Vector<float, ONE_PTR, 8>> x;
  InOut<Vector<float, ONE_PTR, 8>> y;
  unsigned n;
  float a;
  bool compute() {
    const float2 *xp = reinterpret_cast<const float2 *>(&x[0]);
    float2 *yp = reinterpret_cast<float2 *>(&y[0]);
    __builtin_ipu_put_tas(a);
    for (rptsize_t i = 0; i < n / 2; ++i) {
      float2 v = ipu::load_postinc(&xp, 1);
      float2 w = *yp;
      ipu::store_postinc(&yp, __builtin_ipu_f32v2axpy(v, w), 1);
    }
    return true;
  }
};

class HalfVec : public Vertex {
public:
  Input<Vector<half, ONE_PTR, 8>> a;
  Input<Vector<half, ONE_PTR, 8>> b;
  Output<Vector<half, SPAN, 8>> out;
  bool compute() {
    auto pa = reinterpret_cast<const half4 *>(&a[0]);
    auto pb = reinterpret_cast<const half4 *>(&b[0]);
    auto po = reinterpret_cast<half4 *>(&out[0]);
    half4 zero = {0, 0, 0, 0};
    for (unsigned i = 0; i < out.size() / 4; ++i)
      po[i] = ipu::fmax(pa[i] * pb[i] + half(1), zero);
    return true;
  }
};

class Split : public MultiVertex {
public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute(unsigned workerId) {
    for (unsigned i = workerId; i < in.size(); i += numWorkers())
      out[i] = std::sqrt(in[i]);
    return true;
  }
};

class Super : public SupervisorVertex {
public:
  Input<Vector<int>> in;
  Output<int> out;
  __attribute__((target("supervisor"))) bool compute() {
    int m = in[0];
#pragma unroll 4
    for (unsigned i = 1; i < in.size(); ++i)
      m = __builtin_ipu_max(m, in[i]);
    *out = m;
    return true;
  }
};

namespace nested {
namespace deep {
template <typename T, bool Flag, unsigned N> class Poly : public Vertex {
  static const bool needsAlignWorkers = false;
  static constexpr unsigned degree = N;
  Vector<Input<Vector<T, PTR64, 8>>> rows;
  Output<VectorList<T, VectorListLayout::DELTANELEMENTS>> lists;
  Input<unsigned> which;
  Vector<unsigned short, ONE_PTR> counts;

public:
  void compute() {
    for (unsigned r = 0; r < lists.size(); ++r)
      for (unsigned i = 0; i < lists[r].size(); ++i)
        lists[r][i] = Flag ? rows[r][i] * T(counts[r]) + T(N) : rows[*which][i];
  }
};
template class Poly<float, true, 3>;
template class Poly<int, false, 0>;
} // namespace deep
} // namespace nested

class Flags : public Vertex {
public:
  Input<Vector<bool>> in;
  Output<bool> any;
  Output<Vector<unsigned char>> bytes;
  enum class Mode : unsigned char { A, B };
  Mode mode;
  bool compute() {
    bool found = false;
    for (bool b : in)
      found |= b;
    *any = found;
    for (auto &b : bytes)
      b = mode == Mode::B ? 7 : 3;
    return !found;
  }
};

// Values in two levels, set row by row, and a template with a default for its last argument.
template <typename T, unsigned Scale = 1, bool Negative = false> class Lists : public Vertex {
public:
  Vector<Vector<unsigned>> indices;
  Vector<Vector<T, ONE_PTR>, ONE_PTR> weights;
  Output<Vector<T>> out;
  bool compute() {
    for (unsigned r = 0; r < indices.size(); ++r) {
      T sum = 0;
      for (unsigned i = 0; i < indices[r].size(); ++i)
        sum += weights[r][i] * T(indices[r][i]);
      out[r] = (Negative ? -sum : sum) * T(Scale);
    }
    return true;
  }
};
template class Lists<float>;
template class Lists<half, 2>;

// Lattice style: nine directions, three tensors in and out.
template <typename T> class Stencil : public Vertex {
public:
  Input<Vector<T, SPAN, 4>> up, down, left, right;
  Vector<Input<Vector<T, SPAN, 4>>, SPAN> in;
  Vector<Output<Vector<T, SPAN, 4>>, SPAN> out;
  bool compute() {
    const auto H = in.size(), W = in[0].size();
    auto at = [&](int r, int c) -> T {
      if (r < 0)
        return up[c];
      if (r >= int(H))
        return down[c];
      if (c < 0)
        return left[r];
      if (c >= int(W))
        return right[r];
      return in[r][c];
    };
    for (int r = 0; r < int(H); ++r)
      for (int c = 0; c < int(W); ++c)
        out[r][c] = T(0.25f) * (at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1));
    return true;
  }
};
template class Stencil<float>;

class MonteCarlo : public Vertex {
public:
  Output<unsigned> hits;
  unsigned iterations;
  bool compute() {
    unsigned n = 0;
    for (unsigned i = 0; i < iterations; ++i) {
      float x = __builtin_ipu_urand_f32() + 0.5f, y = __builtin_ipu_urand_f32() + 0.5f;
      n += x * x + y * y < 1.f;
    }
    *hits = n;
    return true;
  }
};

// Names that are a program's own to give: none of them is the library's in a codelet.
enum Precision { FLOAT, HALF, INT };
static_assert(INT == 2, "not poplar::INT");
#define T float
#define V 3
#define F 0.5f
#define min(a, b) ((a) < (b) ? (a) : (b))
#define name name_of_it
#define fields 9
