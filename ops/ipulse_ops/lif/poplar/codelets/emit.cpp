// Spikes as dense rows of neurons (ops/ipulse_ops/keras/dense_cell.py), for the rows of a tile.
#include <poplar/Vertex.hpp>

#include "surrogate.h"

using namespace poplar;

// 1 where a membrane is above its threshold, else 0.
class EmitSpikes : public MultiVertex {
public:
  EmitSpikes();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> u;         // [rows, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> threshold; // [neurons]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> spikes;   // [rows, neurons]
  const unsigned rows, neurons;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers())
      for (unsigned i = 0; i < neurons; ++i)
        spikes[r * neurons + i] = u[r * neurons + i] > threshold[i] ? 1.0f : 0.0f;
    return true;
  }
};

// The gradient by the spikes times the surrogate, where a membrane is above one of its thresholds.
class EmittedGradient : public MultiVertex {
public:
  EmittedGradient();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> gradient;  // [rows, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> u;         // [rows, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> threshold; // [neurons]
  // [neurons] if gated; else every neuron carries gradient.
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold;
  Input<Vector<float, VectorLayout::SPAN, 4>> table;
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> byMembrane; // [rows, neurons]
  const unsigned rows, neurons, kind;
  const float parameter;
  const bool gated;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers())
      for (unsigned i = 0; i < neurons; ++i) {
        const unsigned at = r * neurons + i;
        const bool carries = !gated || u[at] > threshold[i] || u[at] > secondThreshold[i];
        const float slope =
            carries ? surrogate(kind, parameter, &table[0], table.size(), u[at] - threshold[i])
                    : 0.0f;
        byMembrane[at] = gradient[at] * slope;
      }
    return true;
  }
};
