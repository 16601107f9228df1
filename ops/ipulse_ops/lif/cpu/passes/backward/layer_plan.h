// How dL/dI of a layer is computed, decided before any of it is.
#ifndef IPULSE_OPS_LIF_CPU_LAYER_PLAN_H
#define IPULSE_OPS_LIF_CPU_LAYER_PLAN_H

#include "backward_call.h"

namespace lif {

struct LayerPlan {
  enum class Strategy {
    SLOTS,    // sample by sample, from dL/ds of the neurons in slots, or without a next layer
    DENSE,    // sample by sample, after the plain product of all neurons
    STRASSEN, // the same after Strassen's product, and DENSE for a sample that is left over
    STEPS     // a recurrent layer: step by step, all neurons of a step together
  };
  // Deferral of dL/dI until the weight gradient reads it.
  enum class Deferral { NONE, NOT_STORED, STORED };
  // Where dL/dI is stored. Where every neuron carries gradient it has the size of the membranes,
  // each of which is read for the last time just before its dL/dI is written.
  enum class Storage { NONE, REPLAYED_MEMBRANES, RECORDED_MEMBRANES, OWN };

  bool sparse; // only neurons in slots carry gradient
  bool plain;  // the loops of panel_backward.h compute the layer, not those of general_backward.h
  Strategy strategy;
  Deferral deferral;
  Storage storage;
};

// may_defer: the weight gradient can compute dL/dI, and nothing else reads it before.
LayerPlan plan_layer(const BackwardCall &call, int number, bool may_defer);

} // namespace lif

#endif
