// The vertex of a loss with equations: all steps of one sample, and the gradients by what it reads.
#include <cmath>
#include <poplar/Vertex.hpp>

namespace own_loss {

[[maybe_unused]] inline float absolute(float x) { return x < 0.0f ? -x : x; }
[[maybe_unused]] inline float root(float x) { return std::sqrt(x); }
[[maybe_unused]] inline float exponential(float x) { return std::exp(x); }
[[maybe_unused]] inline float logarithm(float x) { return std::log(x); }
[[maybe_unused]] inline float tangent(float x) { return std::tanh(x); }

} // namespace own_loss

class OwnLoss : public poplar::Vertex {
public:
  /*FIELDS*/
  poplar::Input<poplar::Vector</*RIGHT*/>> right;   // label [1], targets [classes], or of each step
  poplar::Input<poplar::Vector<float>> share;       // [1], of the sample in the mean; 0 for padding
  poplar::Output<poplar::Vector<float>> bySample;   // [1], the loss
  poplar::Output<poplar::Vector<float>> penalty;    // [1], the sum of the regularisers
  poplar::Output<poplar::Vector<float>> classRows;  // [rows][classes], values of the equations
  poplar::Output<poplar::Vector<float>> stepRows;   // [rows][steps]
  poplar::Output<poplar::Vector<float>> neuronRows; // rows of any length
  unsigned steps;
  unsigned classes;

  bool compute() {
    using namespace own_loss;
    /*LOSS*/
    return true;
  }
};
