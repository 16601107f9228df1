// The constants of neurons, from ipulse_core.neurons.constants.
//
// Written by `python -m ipulse_ops.lif.cpu.constants_header`. Each macro applies X to the names of
// arrays, in the order of the structs in lif.h.
//
// decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the neuron
//   integrates and fires: its membrane keeps everything. (at least 0 and at most 1)
// scale: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
// synapse_decay: Fraction of the synaptic current kept from step to step: a second state between
//   input and membrane, as in NIR's CubaLIF; null: none. (at least 0 and less than 1)
// threshold: A neuron spikes where its membrane is above this value.
// second_threshold: Gradient flows only through neurons with a membrane above this value; null:
//   through all.
// adaptation_decay: Fraction of the rise kept from step to step, exp(-step / tau_adaptation). (at
//   least 0 and less than 1)
// adaptation_strength: Rise of the neuron's thresholds with each of its spikes. (at least 0)
#ifndef IPULSE_OPS_LIF_CPU_CONSTANTS_H
#define IPULSE_OPS_LIF_CPU_CONSTANTS_H

// clang-format off

// Of every layer; true: it may be NULL.
#define LIF_CONSTANTS_OF_ALL(X) \
  X(decay, false) \
  X(scale, false) \
  X(synapse_decay, true)

// Of layers that spike, likewise.
#define LIF_CONSTANTS_OF_SPIKING(X) \
  X(threshold, false) \
  X(second_threshold, true) \
  X(adaptation_decay, true) \
  X(adaptation_strength, true)

// Those of every layer with a gradient.
#define LIF_GRADIENTS_OF_ALL(X) \
  X(decay) \
  X(scale) \
  X(synapse_decay)

// Of layers that spike, likewise.
#define LIF_GRADIENTS_OF_SPIKING(X) \
  X(threshold) \
  X(adaptation_decay) \
  X(adaptation_strength)

#define LIF_GRADIENTS(X) LIF_GRADIENTS_OF_ALL(X) LIF_GRADIENTS_OF_SPIKING(X)

// Those that only the general kernels read.
#define LIF_GENERAL_CONSTANTS(X) \
  X(synapse_decay) \
  X(adaptation_decay) \
  X(adaptation_strength)

// The least and the largest float that they may be.
#define LIF_BOUNDED_CONSTANTS(X) \
  X(decay, 0.0f, 0x1.0000000000000p+0f, "at least 0 and at most 1") \
  X(synapse_decay, 0.0f, 0x1.fffffe0000000p-1f, "at least 0 and less than 1") \
  X(adaptation_decay, 0.0f, 0x1.fffffe0000000p-1f, "at least 0 and less than 1") \
  X(adaptation_strength, 0.0f, 0x1.fffffe0000000p+127f, "at least 0 and finite")

// clang-format on
#endif
