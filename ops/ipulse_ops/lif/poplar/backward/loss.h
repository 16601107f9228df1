// Losses on the device.
#ifndef IPULSE_LIF_POPLAR_LOSS_H
#define IPULSE_LIF_POPLAR_LOSS_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace lif {

/// Cross-entropies of the softmax of the membrane's mean over time, of the membrane at the last
/// step, or of that at each step, of which the loss is the mean.
enum class Loss { MeanMembrane, LastMembrane, StepMembrane };

/// What a loss compares the readout with: a label, targets, or targets of each step.
enum class Right { Label, Target, StepTarget };

/// A loss with equations. Its vertex, OwnLoss, is among the op's codelets, and needs so many rows
/// of one number per class, and of one per step, and so many numbers in rows of one per neuron.
struct OwnLoss {
  Right right;
  unsigned classes, classRows, stepRows, neuronValues;
};

/// An input of such a loss: the membranes of a layer [time, batch, neurons], or its spikes as ids
/// [time, batch, slots] with counts [time, batch, 2].
struct LayerValues {
  poplar::Tensor values;
  poplar::Tensor counts; // invalid for membranes
  std::size_t neurons;
};

struct LossResult {
  poplar::Tensor bySample; // [batch]
  poplar::Tensor gradient; // of the mean over samples, by the membrane, [time, batch, classes]
};

struct OwnLossResult {
  poplar::Tensor bySample; // [batch]
  poplar::Tensor penalty;  // [batch], the sum of the regularisers
  // By each of the LayerValues, in the shape of its `values`: those of the sum of both means.
  std::vector<poplar::Tensor> gradients;
};

/// Adds the loss of a membrane [time, batch, classes]. labels: int [batch]. mask: float [batch], 1
/// for the samples that count and 0 for padding.
LossResult addLoss(poplar::Graph &graph, Loss loss, const poplar::Tensor &membrane,
                   const poplar::Tensor &labels, const poplar::Tensor &mask,
                   poplar::program::Sequence &program);

/// Adds the loss and the regularisers with equations, by a vertex for each sample. right: int
/// [batch], or float [batch, classes], or of each step [batch, time, classes].
OwnLossResult addOwnLoss(poplar::Graph &graph, const OwnLoss &loss,
                         const std::vector<LayerValues> &read, const poplar::Tensor &right,
                         const poplar::Tensor &mask, poplar::program::Sequence &program);

} // namespace lif

#endif
