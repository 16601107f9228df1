// The vertices of multiply_op. popc compiles them for the tiles.
#include <poplar/Vertex.hpp>

class Multiply : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> a;
  poplar::Input<poplar::Vector<float>> b;
  poplar::Output<poplar::Vector<float>> product;

  bool compute() {
    for (unsigned i = 0; i < a.size(); ++i)
      product[i] = a[i] * b[i];
    return true;
  }
};
