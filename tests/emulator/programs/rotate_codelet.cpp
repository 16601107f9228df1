#include <cmath>
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
using namespace poplar;
template <typename FPType> class Rotate : public Vertex {
public:
  Output<Vector<FPType>> x_out;
  Output<Vector<FPType>> y_out;
  Input<Vector<FPType>> x_in;
  Input<Vector<FPType>> y_in;
  Input<Vector<FPType>> angle;
  bool compute() {
    for (unsigned i = 0; i < angle.size(); ++i) {
      float a = angle[i];
      const FPType x = x_in[i];
      const FPType y = y_in[i];
      x_out[i] = x * std::cos(a) - y * std::sin(a);
      y_out[i] = x * sin(a) + y * cos(a);
    }
    return true;
  }
};
template class Rotate<float>;
template class Rotate<half>;
