// Sums over samples and steps, in the order of the kernel on CPUs.
#ifndef IPULSE_LIF_POPLAR_SAMPLE_GROUPS_H
#define IPULSE_LIF_POPLAR_SAMPLE_GROUPS_H

#include <string>
#include <utility>
#include <vector>

#include "conv_operands.h"

namespace lif {

/// The groups of samples whose sums are added: at most 16, as of spike_conv_reference.py.
Share groupsOf(const ConvOperands &operands);

/// The rows of a group in the order of its sums: samples ascending, steps descending.
std::vector<std::size_t> rowsOf(const ConvOperands &operands, std::size_t group);

/// Some rows of a tensor, one behind the other.
poplar::Tensor chosen(const poplar::Tensor &of, const std::vector<std::size_t> &rows,
                      std::size_t first, std::size_t end);

/// Compute sets that run one after the other.
class Passes {
public:
  Passes(poplar::Graph &graph, std::string name) : graph(graph), name(std::move(name)) {}
  poplar::ComputeSet operator[](std::size_t pass) {
    while (sets.size() <= pass)
      sets.push_back(graph.addComputeSet(name + "/" + std::to_string(sets.size())));
    return sets[pass];
  }
  poplar::program::Program program() const {
    poplar::program::Sequence found;
    for (const poplar::ComputeSet &set : sets)
      found.add(poplar::program::Execute(set));
    return std::move(found);
  }

private:
  poplar::Graph &graph;
  std::string name;
  std::vector<poplar::ComputeSet> sets;
};

/// A float variable [size] on a tile.
poplar::Tensor variableOn(poplar::Graph &graph, std::size_t size, const char *name, unsigned tile);

/// Adds the rows of a plane [rows, width] to sums on a tile, which begin at 0 or as they are.
void addRows(poplar::Graph &graph, poplar::ComputeSet set, const poplar::Tensor &plane,
             const poplar::Tensor &sums, std::size_t rows, bool begins, unsigned tile);

/// The sum of the groups' tensors of one shape, the first one first.
poplar::Tensor addGroups(poplar::Graph &graph, poplar::ComputeSet set,
                         const std::vector<poplar::Tensor> &groups, unsigned tile);

} // namespace lif

#endif
