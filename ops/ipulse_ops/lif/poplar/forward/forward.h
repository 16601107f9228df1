#ifndef IPULSE_LIF_POPLAR_FORWARD_H
#define IPULSE_LIF_POPLAR_FORWARD_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "builders/network.h"
#include "builders/operands.h"
#include "layout/tile_plan.h"

namespace lif {

/// The plan for this graph. Raises poputil::poplibs_error.
TilePlan planFor(const poplar::Graph &graph, const Network &network, unsigned batch);

/// The layers of each of a step's stages: all at once if spikes take a step from layer to layer,
/// else one after another.
std::vector<std::vector<unsigned>> stagesOf(const Network &network);

/// The program that runs the network from rest; `outputs` become those of operands.h.
poplar::program::Program buildForward(poplar::Graph &graph, const Network &network,
                                      const Operands &operands,
                                      std::vector<poplar::Tensor> &outputs);

} // namespace lif

#endif
