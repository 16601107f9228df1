// The network that an attribute string describes, without the steps and samples.
#ifndef IPULSE_LIF_POPLAR_NETWORK_H
#define IPULSE_LIF_POPLAR_NETWORK_H

#include <string>
#include <vector>

namespace lif {

// The numbers are those of codelets/.
enum class Reset : unsigned { Zero = 0, Subtract = 1, None = 2 };
enum class ResetGradient { Mask, Term, None };
enum class States { Float, Half, HalfStochastic }; // and how half ones are rounded
enum class Mapping { Capacity, Neurons, Linear };
enum class Policy {
  Index,
  Cyclic,
  Top
}; // who gets the slots, as in ops/ipulse_ops/reference/select_spikes.py

/// One LIF layer, or the readout, which is the last one and may be leaky: then it never spikes.
struct Layer {
  bool spiking = true;
  unsigned neurons = 0;
  unsigned slots = 0; // of a sample and step, 1 to neurons; 0 for a leaky readout
  bool gated = false; // has a second threshold
  bool recurrent = false;
  bool bias = false;
  bool synapse = false;
  bool membrane = false; // is an output, with a gradient; the readout's always is
  bool adapts = false;   // its thresholds rise with every reset
  bool detaches = false; // no gradient passes through what made them rise
  Policy policy = Policy::Index;
};

struct Surrogate {
  unsigned kind = 0; // SurrogateKind of codelets/surrogate.h
  float parameter = 10;
  std::vector<float> table;
};

struct Network {
  unsigned inputs = 0;
  unsigned inputSlots = 0; // of a sample and step
  std::vector<Layer> layers;
  Reset reset = Reset::Zero;
  ResetGradient resetGradient = ResetGradient::Mask;
  bool resetOnEmission = false;
  unsigned delay = 0;
  Surrogate surrogate;
  States states = States::Float; // of membranes and synapses between steps
  Mapping mapping = Mapping::Capacity;
  unsigned ipus = 1;
  bool splitsNeurons = false;     // every layer over all IPUs; else a layer lies on one
  bool inputGradients = false;    // by the input's spikes, besides those by the weights
  bool constantGradients = false; // and by every constant that has one
  bool countsIgnored = true;      // whether input slots that are no spikes are an output
  // Steps between two checkpoints, from which the backward pass runs the steps again; 0: the
  // forward pass stores all that the backward pass reads.
  unsigned recompute = 0;
  unsigned truncate = 0; // no gradient passes from a step that is a multiple of it; 0: all pass

  /// Returns the number of neurons that send spikes to a layer.
  unsigned senders(unsigned layer) const { return layer == 0 ? inputs : layers[layer - 1].neurons; }
  /// Returns the number of neurons in a range; each range is on its own IPU, the last may be
  /// smaller.
  unsigned rangeSize(const Layer &layer) const {
    return splitsNeurons ? 2 * (((layer.neurons + 1) / 2 + ipus - 1) / ipus) : layer.neurons;
  }
  unsigned rangesOf(const Layer &layer) const {
    return (layer.neurons + rangeSize(layer) - 1) / rangeSize(layer);
  }
  /// Returns the number of segments that checkpoints divide `steps` steps into.
  unsigned segments(unsigned steps) const {
    return recompute == 0 ? 1 : (steps + recompute - 1) / recompute;
  }
  /// Returns true if the backward pass multiplies by 1 - r and thus needs every r.
  bool maskedReset() const { return reset == Reset::Zero && resetGradient != ResetGradient::Term; }
  /// Returns true if the backward pass also needs dv/dr.
  bool resetTerm() const { return reset != Reset::None && resetGradient == ResetGradient::None; }
  /// Returns true if resets are recorded because the slots do not determine them.
  bool recordsResets(const Layer &layer) const {
    const bool asked = maskedReset() || thresholdInReset() || raisedReset(layer);
    return layer.spiking && asked && !resetOnEmission && layer.slots < layer.neurons;
  }
  /// Returns true if the gradient of the threshold includes that of the reset.
  bool thresholdInReset() const {
    return constantGradients && reset == Reset::Subtract && resetGradient != ResetGradient::Term;
  }
  /// Returns true if the gradient of a threshold that rises includes that of the reset.
  bool raisedReset(const Layer &layer) const {
    return layer.adapts && reset == Reset::Subtract && resetGradient != ResetGradient::Term;
  }
  /// Returns true if the membranes in the slots are an output.
  bool recordsMembranes(const Layer &layer) const {
    return layer.spiking && resetTerm() && reset == Reset::Zero;
  }
  /// Returns true if the inputs include a seed: random bits depend on it and on the time step.
  bool needsSeed() const { return drawsOffsets() || states == States::HalfStochastic; }
  /// Returns true if a layer draws random offsets.
  bool drawsOffsets() const {
    for (const Layer &layer : layers)
      if (layer.policy == Policy::Cyclic)
        return true;
    return false;
  }
};

/// Pieces of attribute strings; both raise poputil::poplibs_error for another text.
unsigned parseWhole(const std::string &name, const std::string &text, unsigned least);
Surrogate parseSurrogate(const std::string &text);
Reset parseReset(const std::string &text);
ResetGradient parseResetGradient(const std::string &text);

/// Raises poputil::poplibs_error, which says what was expected, if the text is not such a string:
///
///     ipulse-lif/1 reset=zero reset_gradient=mask reset_on=state delay=0 surrogate=superspike:10
///     mapping=capacity ipus=1 split=layers gradients=weights input(neurons=2312,slots=32)
///     lif(neurons=1466,slots=14,second_threshold,policy=top) leaky(neurons=10)
///
/// in one line. Every key must be there but split, which is layers then, recompute=, the steps
/// between checkpoints, without which nothing is recomputed, truncate=, without which gradients
/// pass through all steps, and states=, which are float then, half or half_stochastic; the order of
/// the keys is free, that of the layers counts.
Network parseNetwork(const std::string &attributes);

} // namespace lif

#endif
