#include "layer_plan.h"

#include "passes/strassen/strassen.h"

namespace lif {
namespace {

bool is_plain(const BackwardCall &call, int number, bool has_next) {
  const LifNetwork &n = call.n;
  const LifLayer &layer = n.layer[number];
  return (has_next || is_sparse(layer)) && !layer.recurrent && !cuts_gradients(n) &&
         !is_general(layer) && !call.grad_u_of(number) && !call.wants_constants(number) &&
         n.reset == LIF_RESET_ZERO && n.reset_gradient != LIF_RESET_GRADIENT_NONE &&
         n.surrogate.kind == LIF_SUPERSPIKE;
}

} // namespace

LayerPlan plan_layer(const BackwardCall &call, int number, bool may_defer) {
  using Strategy = LayerPlan::Strategy;
  using Deferral = LayerPlan::Deferral;
  using Storage = LayerPlan::Storage;
  const LifNetwork &n = call.n;
  const LifLayer &layer = n.layer[number];
  bool has_next = number + 1 < n.layers || n.leaky_readout;
  LayerPlan plan;
  plan.sparse = is_sparse(layer);
  plan.plain = is_plain(call, number, has_next);
  if (layer.recurrent)
    plan.strategy = Strategy::STEPS;
  else if (plan.sparse || !has_next)
    plan.strategy = Strategy::SLOTS;
  else if (Strassen::pays(n, cut(call.kernel, n, number), cut(call.kernel, n, number + 1)))
    plan.strategy = Strategy::STRASSEN;
  else
    plan.strategy = Strategy::DENSE;
  plan.deferral = Deferral::NONE;
  if (may_defer && !call.wants_constants(number)) {
    if (plan.strategy == Strategy::SLOTS && !number)
      plan.deferral = Deferral::NOT_STORED;
    else if (plan.strategy == Strategy::SLOTS || plan.strategy == Strategy::DENSE)
      plan.deferral = Deferral::STORED; // the layer before reads it, too
  }
  plan.storage = Storage::OWN;
  if (plan.deferral == Deferral::NOT_STORED)
    plan.storage = Storage::NONE;
  else if (!plan.sparse && n.store == LIF_STORE_SPIKES)
    plan.storage = Storage::REPLAYED_MEMBRANES;
  else if (!plan.sparse && call.gradient.record[number].last_use)
    plan.storage = Storage::RECORDED_MEMBRANES;
  return plan;
}

} // namespace lif
