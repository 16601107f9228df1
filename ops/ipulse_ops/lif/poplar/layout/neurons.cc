#include "neurons.h"

#include <limits>

#include <poputil/VertexTemplates.hpp>

#include "new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::Tensor;

Neurons::Neurons(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                 const Operands &operands, unsigned l, Arrivals &arrivals)
    : layer(&network.layers[l]), number(l), plan(&plan), parts(&plan.layers[l]) {
  const auto bring = [&](Role role) {
    return arrivals.neurons(operands.get(role, l), *parts, plan.names[l] + "/" + nameOf(role));
  };
  weights.push_back(bring(Role::Weights));
  if (layer->recurrent)
    weights.push_back(bring(Role::Recurrent));
  decay = bring(Role::Decay);
  scale = bring(Role::Scale);
  if (layer->synapse)
    synapseDecay = bring(Role::SynapseDecay);
  if (layer->adapts) {
    adaptationStrength = bring(Role::AdaptationStrength);
    adaptationDecay = bring(Role::AdaptationDecay);
  }
  threshold = layer->spiking ? bring(Role::Threshold)
                             : constantNeurons(graph, *parts, std::numeric_limits<float>::max());
}

std::vector<const SpikeSource *> sourcesOf(const Neurons &neurons,
                                           const std::vector<SpikeSource> &sources) {
  std::vector<const SpikeSource *> found{&sources[neurons.number]};
  if (neurons.layer->recurrent)
    found.push_back(&sources[neurons.number + 1]);
  return found;
}

NeuronTensor constantNeurons(IpuGraphs &graph, const std::vector<TilePart> &parts, float value) {
  std::vector<Tensor> constants;
  for (const TilePart &part : parts) {
    constants.push_back(
        graph.addConstant<float>(poplar::FLOAT, {1, part.row()}, value, part.place));
  }
  return NeuronTensor(std::move(constants), parts);
}

void integrate(IpuGraphs &graph, ComputeSet set, const Network &network, const Neurons &neurons,
               const std::vector<SpikeSource> &sources, unsigned batch, const NeuronState &state,
               const StepNumber &step, const StepNumber &drawn, const SeedCopies &seed) {
  const Layer &layer = *neurons.layer;
  const std::vector<const SpikeSource *> from = sourcesOf(neurons, sources);
  const bool onEmission = layer.spiking && network.resetOnEmission;
  const SpikeSource *own = onEmission ? &sources[neurons.number + 1] : nullptr;
  std::vector<unsigned> slots;
  const bool isRandom = network.states == States::HalfStochastic;
  double spikes = 0;
  for (const SpikeSource *source : from) {
    slots.push_back(source->stride);
    spikes += source->slots;
  }
  for (std::size_t p = 0; p < neurons.parts->size(); ++p) {
    const TilePart &part = (*neurons.parts)[p];
    const unsigned ipu = part.place.ipu;
    std::vector<Tensor> ids, counts, weights;
    for (const SpikeSource *source : from) {
      ids.push_back(source->ids.on(ipu).flatten());
      counts.push_back(source->counts.on(ipu).flatten());
    }
    for (const NeuronTensor &matrix : neurons.weights)
      weights.push_back(matrix.field(p));
    const bool recorded = !state.carried.empty();
    std::vector<Tensor> drive =
        recorded ? std::vector<Tensor>{state.carried.field(p), state.current.field(p)}
                 : std::vector<Tensor>{unwrittenField(graph, part.place)};
    if (recorded && layer.adapts)
      drive.push_back(state.raised.field(p));
    const std::string type =
        poputil::templateVertex(layer.adapts    ? "IntegrateAdaptive"
                                : layer.synapse ? "IntegrateSynapse"
                                                : "Integrate",
                                weights[0].elementType(), state.u.part(p).elementType());
    NewVertex vertex(graph, set, type, part.place);
    vertex.connect("ids", ids)
        .connect("counts", counts)
        .connect("weights", weights)
        .set("slots", slots)
        .connect("bias", state.bias.field(p))
        .connect("decay", neurons.decay.field(p))
        .connect("scale", neurons.scale.field(p))
        .connect("threshold", neurons.threshold.field(p))
        .connect("ownIds", own ? own->ids.on(ipu).flatten()
                               : unusedField(graph, poplar::UNSIGNED_SHORT, part.place))
        .connect("ownCounts", own ? own->counts.on(ipu).flatten()
                                  : unusedField(graph, poplar::UNSIGNED_INT, part.place))
        .connect("u", state.u.field(p))
        .connect("seed",
                 isRandom ? seed.on(part.place) : unusedField(graph, poplar::INT, part.place))
        .set("isRandom", isRandom)
        .set("layer", neurons.number)
        .connect("step", recorded ? step.on(part.place)
                                  : unusedField(graph, poplar::UNSIGNED_INT, part.place)[0])
        .connect("drawn", isRandom ? drawn.on(part.place)
                                   : unusedField(graph, poplar::UNSIGNED_INT, part.place)[0])
        .connect("drive", drive)
        .set("recordsDrive", recorded)
        .set("samples", batch)
        .set("pairCount", part.pairs())
        .set("firstNeuron", part.begin)
        .set("ownSlots", own ? own->stride : 0)
        .set("reset", static_cast<unsigned>(layer.spiking ? network.reset : Reset::None))
        .set("resetOnEmission", onEmission)
        .estimate(batch * (20.0 + part.pairs() * (62 + (isRandom ? 1500 : 0) + 3.75 * spikes)));
    if (layer.synapse)
      vertex.connect("synapseDecay", neurons.synapseDecay.field(p)).connect("i", state.i.field(p));
    else if (layer.adapts)
      vertex.connect("synapseDecay", neurons.decay.field(p))
          .connect("i", unwrittenField(graph, part.place, state.u.part(p).elementType()));
    if (layer.adapts)
      vertex.connect("strength", neurons.adaptationStrength.field(p))
          .connect("rate", neurons.adaptationDecay.field(p))
          .connect("rise", state.rise.field(p))
          .connect("shifted", state.shifted.field(p))
          .set("hasSynapse", layer.synapse);
  }
}

} // namespace lif
