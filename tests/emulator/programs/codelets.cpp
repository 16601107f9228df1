// Vertices of the kinds that the rules and the engine are tested with.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Sum : public Vertex {
public:
  Input<Vector<float>> in;
  Output<float> out;
  bool compute() {
    float sum = 0;
    for (const float x : in)
      sum += x;
    *out = sum;
    return true;
  }
};

// Writes half of its output: what it leaves must not be what was there before.
class WriteHalf : public Vertex {
public:
  Output<Vector<float>> out;
  void compute() {
    for (unsigned i = 0; i < out.size() / 2; ++i)
      out[i] = 1;
  }
};

class Positive : public Vertex {
public:
  Input<float> in;
  bool compute() { return *in > 0; }
};

class Short : public Vertex {
public:
  Input<Vector<float, VectorLayout::SHORT_SPAN>> in;
  Output<float> out;
  bool compute() { return *out = static_cast<float>(in.size()), true; }
};

// The same work on fields that take more and less to unpack.
template <VectorLayout Layout, unsigned Align> class First : public Vertex {
public:
  Input<Vector<float, Layout, Align>> in;
  Output<float> out;
  bool compute() { return *out = in[0], true; }
};
template class First<VectorLayout::ONE_PTR, 4>;
template class First<VectorLayout::SHORT_SPAN, 4>;
template class First<VectorLayout::SCALED_PTR32, 4>;
template class First<VectorLayout::SCALED_PTR64, 8>;
template class First<VectorLayout::SCALED_PTR128, 16>;

// Scalars side by side, each a field of its own.
class Scalars : public Vertex {
public:
  Vector<Input<float>> in;
  Vector<Output<float>> doubled;
  Vector<InOut<int>> counts;
  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      doubled[i] = 2 * in[i];
      *counts[i] += static_cast<int>(*in[i]);
    }
    return true;
  }
};

class FirstOfRows : public Vertex {
public:
  Vector<Input<Vector<float>>> in;
  Output<float> out;
  bool compute() { return *out = in[0][0], true; }
};

class FirstOfList : public Vertex {
public:
  Input<VectorList<float, VectorListLayout::DELTANELEMENTS>> in;
  Output<float> out;
  bool compute() { return *out = in[0][0], true; }
};

// Reads 16 bytes at a time on a tile, which only interleaved memory gives.
class SumWide : public Vertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 16, true>> in;
  Output<float> out;
  bool compute() { return *out = in[0], true; }
};

namespace tests {

template <typename T, bool Double>
class [[poplar::constraint("elem(*in) != elem(*out)")]] Scale : public MultiVertex {
  Scale();
  const unsigned n;

public:
  Input<Vector<T, VectorLayout::ONE_PTR, 8>> in;
  Output<Vector<T, VectorLayout::ONE_PTR, 8>> out;
  const float factor;
  bool compute(unsigned worker) {
    for (unsigned i = worker; i < n; i += numWorkers())
      out[i] = static_cast<T>(static_cast<float>(in[i]) * factor * (Double ? 2 : 1));
    return true;
  }
};
template class Scale<float, false>;
template class Scale<float, true>;
template class Scale<half, false>;

} // namespace tests

// Adds one element of each row, chosen by an initial value.
struct Pick : public Vertex {
  Vector<Input<Vector<float, VectorLayout::ONE_PTR>>> rows;
  InOut<float> sum;
  Vector<unsigned> column;
  bool compute() {
    for (unsigned i = 0; i < rows.size(); ++i)
      *sum += rows[i][column[i]];
    return true;
  }
};

struct PickFromList : public Vertex {
  Input<VectorList<float, VectorListLayout::COMPACT_DELTAN, 8>> rows;
  Output<float> sum;
  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < rows.size(); ++i)
      total += rows[i][rows[i].size() - 1];
    *sum = total;
    return true;
  }
};

// The cost depends on the data: one addition for each unit of `count`.
class Loop : public Vertex {
public:
  Input<Vector<float>> in;
  Input<unsigned> count;
  Output<float> out;
  bool compute() {
    float sum = 0;
    for (unsigned i = 0; i < *count; ++i)
      sum += in[i];
    *out = sum;
    return true;
  }
};
