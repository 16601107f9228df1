// Vertices of a layer with equations: some neurons of one sample, in all steps.
#include <cmath>
#include <poplar/Vertex.hpp>

namespace {

[[maybe_unused]] inline float absolute(float x) { return x < 0.0f ? -x : x; }
[[maybe_unused]] inline float root(float x) { return std::sqrt(x); }
[[maybe_unused]] inline float exponential(float x) { return std::exp(x); }
[[maybe_unused]] inline float logarithm(float x) { return std::log(x); }
[[maybe_unused]] inline float tangent(float x) { return std::tanh(x); }

constexpr unsigned kStates = /*STATES*/;
constexpr unsigned kParameters = /*PARAMETERS*/;
constexpr unsigned kTruncate = /*TRUNCATE*/;
/*WINDOW*/

} // namespace

class EquationsForward : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> current;    // [steps][neurons]
  poplar::Input<poplar::Vector<float>> parameters; // [parameters][neurons]
  poplar::Output<poplar::Vector<float>> x;         // [steps][neurons]
  poplar::Output<poplar::Vector<float>> states;    // [steps + 1][states][neurons]
  /*FORWARD_FIELDS*/
  unsigned steps;
  unsigned neurons;

  bool compute() {
    const float initial[kStates] = {/*INITIAL*/};
    for (unsigned k = 0; k < kStates; ++k)
      for (unsigned n = 0; n < neurons; ++n)
        states[k * neurons + n] = initial[k];
    for (unsigned step = 0; step < steps; ++step) {
      const unsigned before = step * kStates * neurons;
      const unsigned after = before + kStates * neurons;
      /*SENT*/
      for (unsigned n = 0; n < neurons; ++n) {
        const unsigned at = step * neurons + n;
        /*FORWARD*/
      }
    }
    return true;
  }
};

class EquationsBackward : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> current;
  poplar::Input<poplar::Vector<float>> parameters;
  poplar::Input<poplar::Vector<float>> states;
  poplar::Input<poplar::Vector<float>> bySpikes;      // [steps][neurons]
  poplar::Output<poplar::Vector<float>> byCurrent;    // [steps][neurons]
  poplar::Output<poplar::Vector<float>> byParameters; // [parameters][neurons]
  poplar::Output<poplar::Vector<float>> carry;        // [states][neurons]
  /*BACKWARD_FIELDS*/
  unsigned steps;
  unsigned neurons;

  bool compute() {
    for (unsigned place = 0; place < kParameters * neurons; ++place)
      byParameters[place] = 0.0f;
    for (unsigned place = 0; place < kStates * neurons; ++place)
      carry[place] = 0.0f;
    /*NOTHING_RECEIVED*/
    for (unsigned step = steps; step-- > 0;) {
      if (kTruncate != 0 && (step + 1) % (kTruncate == 0 ? 1 : kTruncate) == 0)
        for (unsigned place = 0; place < kStates * neurons; ++place)
          carry[place] = 0.0f;
      const unsigned before = step * kStates * neurons;
      for (unsigned n = 0; n < neurons; ++n) {
        const unsigned at = step * neurons + n;
        /*BACKWARD*/
      }
      /*RECEIVED*/
    }
    return true;
  }
};
