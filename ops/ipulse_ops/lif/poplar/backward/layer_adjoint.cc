#include "layer_adjoint.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;

namespace {

constexpr unsigned kConstants = 4, kAdaptiveConstants = 6;            // ByConstant of adjoint.h
enum ResetTerm : unsigned { kNoTerm, kMembraneTerm, kThresholdTerm }; // as in adjoint.h

} // namespace

LayerAdjoint::LayerAdjoint(IpuGraphs &graph, const Network &net, const TilePlan &plan,
                           const Operands &operands, unsigned l, LayerRecord given,
                           Arrivals &arrivals)
    : neurons(graph, net, plan, operands, l, arrivals), record(std::move(given)), network(&net),
      steps(operands.steps), batch(operands.batch) {
  const std::vector<TilePart> &parts = plan.layers[l];
  const Layer &layer = net.layers[l];
  const std::string &name = plan.names[l];
  gradCurrent = arrivals.zeros(batch, parts, name + "/grad_current");
  kappa = arrivals.zeros(batch, parts, name + "/kappa");
  if (layer.synapse)
    gradSynapse = arrivals.zeros(batch, parts, name + "/grad_synapse");
  if (layer.adapts) {
    gradRise = arrivals.zeros(batch, parts, name + "/grad_rise");
    gradThreshold = arrivals.zeros(batch, parts, name + "/grad_threshold");
  }
  gradWeights.push_back(arrivals.zeros(net.senders(l), parts, name + "/grad_weights"));
  if (layer.recurrent)
    gradWeights.push_back(arrivals.zeros(layer.neurons, parts, name + "/grad_recurrent"));
  if (layer.bias)
    gradBias = arrivals.zeros(1, parts, name + "/grad_bias");
  const unsigned constants = layer.adapts ? kAdaptiveConstants : kConstants;
  for (unsigned c = 0; net.constantGradients && c < constants; ++c) {
    byConstants.push_back(arrivals.zeros(batch, parts, name + "/by_constant"));
    gradConstants.emplace_back(graph, 1, parts, name + "/grad_constant");
  }
  if (!layer.spiking)
    return;
  const std::size_t stride = layer.slots + layer.slots % 2;
  for (const Range &range : plan.ranges[l]) {
    const auto bySlot = [&](const char *what) {
      const SampleTiles tiles = plan.samples(l + 1, range.ipu);
      return sampleTensor(graph, FLOAT, batch, 1, stride, tiles, name + what).squeeze({1});
    };
    gradients.push_back(bySlot("/slot_gradients"));
    if (net.resetTerm() || (layer.adapts && !layer.detaches))
      coefficients.push_back(bySlot("/reset_coefficients"));
  }
}

void LayerAdjoint::addWeightGradients(IpuGraphs &graph, ComputeSet set, std::size_t matrix,
                                      const SpikeSource &source, const SentTensor &starts) const {
  for (std::size_t p = 0; p < neurons.parts->size(); ++p) {
    const TilePart &part = (*neurons.parts)[p];
    const std::size_t senders = gradWeights[matrix].part(p).dim(0);
    const double mine = std::min<double>(source.slots, shareOf(senders)); // of a worker's senders
    const double row = 7.2 + 6.2 * part.pairs();
    NewVertex(graph, set, "WeightGradients", part.place)
        .connect("ids", source.ids.on(part.place.ipu).flatten())
        .connect("counts", source.counts.on(part.place.ipu).flatten())
        .connect("gradCurrent", gradCurrent.field(p))
        .connect("gradWeights", gradWeights[matrix].field(p))
        .set("samples", batch)
        .set("slots", source.stride)
        .set("pairCount", part.pairs())
        .set("senders", static_cast<unsigned>(senders))
        .connect("starts", starts.valid() ? starts.on(part.place.ipu).flatten()
                                          : unusedField(graph, poplar::UNSIGNED_INT, part.place))
        .set("located", starts.valid())
        .estimate(6.0 * (140 + batch * (24 + mine * (part.pairs() == 1 ? 5.3 : row)) +
                         (starts.valid() ? 0.0 : batch * 4.0 * source.slots)));
  }
}

void LayerAdjoint::addBiasGradients(IpuGraphs &graph, ComputeSet set) const {
  if (gradBias.empty())
    return;
  for (std::size_t p = 0; p < neurons.parts->size(); ++p) {
    const TilePart &part = (*neurons.parts)[p];
    NewVertex(graph, set, "BiasGradients", part.place)
        .connect("gradCurrent", gradCurrent.field(p))
        .connect("gradBias", gradBias.field(p))
        .set("samples", batch)
        .set("pairCount", part.pairs())
        .estimate(6.0 * (20 + 2 * batch * ((part.pairs() + 5) / 6)));
  }
}

void LayerAdjoint::slotGradients(IpuGraphs &graph, ComputeSet set, const SpikeSource &own,
                                 const std::vector<const SlotSums *> &sums,
                                 const StepNumber &step) const {
  for (std::size_t r = 0; r < gradients.size(); ++r) {
    const unsigned ipu = neurons.plan->ranges[neurons.number][r].ipu;
    for (unsigned b = 0; b < batch; ++b) {
      const Place place = neurons.plan->samples(own.number, ipu)[b];
      const Tensor phi = record.phi[r][b].flatten(), counts = own.counts.on(ipu)[b];
      // A readout's spikes go nowhere: its vertices have no group of sums to read.
      const Tensor summed =
          sums.empty() ? phi.reshape({1, phi.numElements()}) : sumsOfSample(sums, b);
      const auto groups = static_cast<unsigned>(sums.empty() ? 0 : summed.dim(0));
      const auto ofOwn = static_cast<unsigned>(neurons.layer->recurrent ? sums.back()->sums().dim(0)
                                                                        : std::size_t{0});
      NewVertex(graph, set, "SlotGradients", place)
          .connect("sums", summed.flatten())
          .connect("direct", record.gradSlots[r][b].flatten())
          .connect("phi", phi)
          .connect("counts", counts)
          .connect("step", step.on(place))
          .connect("gradients", gradients[r][b])
          .set("steps", steps)
          .set("slots", own.slots)
          .set("groups", groups)
          .set("ownGroups", ofOwn)
          .set("truncate", network->truncate)
          .set("width", own.stride)
          .estimate(6.0 * 140 + own.slots * (11.0 + 2 * groups));
      if (coefficients.empty())
        continue;
      const bool membranes = !record.membranes.empty();
      NewVertex(graph, set, "ResetCoefficients", place)
          .connect("phi", phi)
          .connect("u", membranes ? record.membranes[r][b].flatten() : phi)
          .connect("counts", counts)
          .connect("step", step.on(place))
          .connect("coefficients", coefficients[r][b])
          .set("steps", steps)
          .set("slots", own.slots)
          .set("timesMembrane", membranes)
          .estimate(6.0 * 30 + own.slots * 4.0);
    }
  }
}

void LayerAdjoint::stepBack(IpuGraphs &graph, ComputeSet set, const SpikeSource *own,
                            const StepNumber &step) const {
  const Layer &layer = *neurons.layer;
  const bool spiking = own != nullptr, hasDirect = !record.direct.empty();
  const bool ofConstants = !byConstants.empty();
  unsigned resetTerm = kNoTerm;
  if (spiking && network->resetTerm())
    resetTerm = network->reset == Reset::Zero ? kMembraneTerm : kThresholdTerm;
  const double perPair = (!spiking                ? 14
                          : record.resets.empty() ? 68
                                                  : 80) +
                         (ofConstants ? 20 : 0) + (layer.synapse ? 12 : 0);
  for (std::size_t p = 0; p < neurons.parts->size(); ++p) {
    const TilePart &part = (*neurons.parts)[p];
    // Fields that a vertex does not use are connected to any existing tensor.
    const Tensor unused = neurons.decay.field(p);
    const unsigned ipu = part.place.ipu;
    const std::size_t range = neurons.plan->rangeOn(neurons.number, ipu);
    const Tensor slots = spiking ? gradients[range].flatten() : unused;
    std::vector<Tensor> drive{unused}, sums;
    if (ofConstants)
      drive = {record.carried.field(p), record.current.field(p)};
    if (ofConstants && layer.adapts)
      drive.push_back(record.raised.field(p));
    for (const NeuronTensor &one : byConstants)
      sums.push_back(one.field(p));
    if (sums.empty())
      sums.push_back(unwrittenField(graph, part.place));
    const std::string type = layer.adapts    ? "AdjointAdaptive"
                             : layer.synapse ? "AdjointSynapse"
                                             : "Adjoint";
    NewVertex vertex(graph, set, type, part.place);
    vertex
        .connect("ids", spiking ? own->ids.on(ipu).flatten()
                                : unusedField(graph, poplar::UNSIGNED_SHORT, part.place))
        .connect("counts", spiking ? own->counts.on(ipu).flatten()
                                   : unusedField(graph, poplar::UNSIGNED_INT, part.place))
        .connect("slotGradients", slots)
        .connect("coefficients", coefficients.empty() ? slots : coefficients[range].flatten())
        .connect("decay", neurons.decay.field(p))
        .connect("scale", neurons.scale.field(p))
        .connect("threshold", neurons.threshold.field(p))
        .connect("resets", record.resets.empty() ? unused : record.resets.field(p))
        .connect("direct", hasDirect ? record.direct.field(p) : unused)
        .connect("step", step.on(part.place))
        .connect("kappa", kappa.field(p))
        .connect("gradCurrent", gradCurrent.field(p))
        .set("steps", steps)
        .set("samples", batch)
        .set("slots", spiking ? own->stride : 0)
        .set("pairCount", part.pairs())
        .set("firstNeuron", part.begin)
        .connect("drive", drive)
        .connect("byConstants", sums)
        .set("ofConstants", ofConstants)
        .set("masked", spiking && network->maskedReset())
        .set("resetsInHistory", !record.resets.empty())
        .set("resetsByThreshold", spiking && network->thresholdInReset())
        .set("resetTerm", resetTerm)
        .set("truncate", network->truncate)
        .set("hasDirect", hasDirect)
        .estimate(980 + 6 * shareOf(batch) *
                            (55 + perPair * part.pairs() +
                             (record.resets.empty() ? 4 : 15) *
                                 std::log2(1.0 + (spiking ? own->slots : 0))));
    if (layer.synapse)
      vertex.connect("synapseDecay", neurons.synapseDecay.field(p))
          .connect("gradSynapse", gradSynapse.field(p));
    if (layer.synapse && !layer.adapts) // which is not run by segments
      vertex.connect("before", record.before.empty() ? unused : record.before.field(p))
          .set("continues", !record.before.empty());
    if (layer.adapts && !layer.synapse)
      vertex.connect("synapseDecay", unused)
          .connect("gradSynapse", unwrittenField(graph, part.place));
    if (layer.adapts)
      vertex.connect("strength", neurons.adaptationStrength.field(p))
          .connect("rate", neurons.adaptationDecay.field(p))
          .connect("gradRise", gradRise.field(p))
          .connect("gradThreshold", gradThreshold.field(p))
          .set("hasSynapse", layer.synapse)
          .set("raises", !layer.detaches)
          .set("raisedReset", network->raisedReset(layer));
  }
}

void LayerAdjoint::sumConstants(IpuGraphs &graph, ComputeSet set) const {
  for (std::size_t c = 0; c < byConstants.size(); ++c) {
    for (std::size_t p = 0; p < neurons.parts->size(); ++p) {
      const TilePart &part = (*neurons.parts)[p];
      NewVertex(graph, set, "SumRows", part.place)
          .connect("rows", byConstants[c].field(p))
          .connect("sum", gradConstants[c].field(p))
          .set("rowCount", batch)
          .set("pairCount", part.pairs())
          .estimate(6.0 * (20 + shareOf(part.pairs()) * (10 + 5.0 * batch)));
    }
  }
}

} // namespace lif
