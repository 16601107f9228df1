// The op's inputs and outputs: which tensor stands where, and what shape it must have.
#ifndef IPULSE_LIF_POPLAR_OPERANDS_H
#define IPULSE_LIF_POPLAR_OPERANDS_H

#include <cstddef>
#include <string>
#include <vector>

#include <poplar/Tensor.hpp>

#include "network.h"

namespace lif {

enum class Role {
  Ids,
  Counts,
  Seed,      // [2], low word first, if Network::needsSeed()
  Weights,   // [senders, neurons]
  Recurrent, // [neurons, neurons]
  Bias,      // [neurons], and so are all after it
  Decay,
  Scale, // of the input current: gain * (1 - decay), applied once
  SynapseDecay,
  Threshold,
  AdaptationStrength,
  AdaptationDecay,
  SecondThreshold,
};

struct Operand {
  Role role;
  unsigned layer; // of Ids, Counts and Seed 0
};

/// The sequence of inputs: ids [time, batch, slots] and counts [time, batch] of the input spikes
/// (or [time, batch, 2], spikes and filled slots), the seed if there is one, then of every layer
/// what it has of the other roles, in the order of Role.
std::vector<Operand> operandsOf(const Network &network);
/// Those that the network asks gradients by, in the same order.
std::vector<Operand> operandsWithGradients(const Network &network);
std::string nameOf(Role role);
/// With the layer's index where there are several of the role: "weights[0]".
std::string nameOf(const Operand &operand);

/// The inputs by role, checked.
class Operands {
public:
  /// Raises poputil::poplibs_error if number, types or shapes do not fit the network.
  Operands(const Network &network, const std::vector<poplar::Tensor> &inputs);

  unsigned steps, batch;
  /// The same for other steps, of which the inputs are not those.
  Operands over(unsigned steps) const {
    Operands found = *this;
    found.steps = steps;
    return found;
  }
  /// An invalid tensor where the layer has none.
  poplar::Tensor get(Role role, unsigned layer = 0) const;

private:
  std::vector<Operand> operands;
  std::vector<poplar::Tensor> tensors;
};

enum class Result {
  Membrane,
  Ignored,
  SpikeIds,
  SpikeCounts,
  Dropped,
  Surrogate,
  SlotMembrane,
  Resets,
  Carried,           // v[t] of ops/ipulse_ops/lif/reference/network_pass.py
  Current,           // i[t]
  Rise,              // b[t]
  Checkpoint,        // u after the last step of each segment but the last
  SynapseCheckpoint, // i
};

struct Outcome {
  Result result;
  unsigned layer;
};

/// The sequence of outputs, all of them float32 but states of half: the readout's membrane [time,
/// batch, neurons]; of the input how many slots were ignored [time, batch]; of every spiking layer
/// the ids [time, batch, slots], counts [time, batch, 2], dropped [time, batch], surrogates [time,
/// batch, slots] and, where the backward pass needs them, the membranes [time, batch, slots] and
/// the resets [time, ceil(batch / 24), neurons]. In a layer that is split over IPUs, surrogates and
/// membranes are [time, batch, ranges, slots], 0 where a slot's neuron is not in the range. Then
/// the layer's membrane on request and, for gradients of constants, v and the current of each step
/// and layer [time, batch, neurons], and b of one that adapts. If steps are recomputed, the states
/// at the checkpoints [checkpoints, batch, neurons] take the place of surrogates, membranes in
/// slots, resets, v and currents; there is at least one, zeros if there is a single segment.
std::vector<Outcome> outcomesOf(const Network &network);
std::vector<std::size_t> shapeOf(const Network &network, const Outcome &outcome, unsigned steps,
                                 unsigned batch);
std::string nameOf(Result result);
/// The place of an outcome. Raises std::out_of_range if the network has no such.
std::size_t placeOf(const Network &network, Result result, unsigned layer);

/// Raises poputil::poplibs_error unless the tensor has this shape.
void checkShape(const std::string &name, const poplar::Tensor &t,
                const std::vector<std::size_t> &shape);

} // namespace lif

#endif
