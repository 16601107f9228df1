#include <map>

#include "archived_graph.h"
#include "program/program_node.h"

namespace poplar::emulator {
namespace {

/// Lists the reachable nodes, each once; references among them become indices.
class Nodes {
public:
  Nodes(Archive &a, GraphState &graph) : a(a), graph(graph) {}

  void put(std::shared_ptr<ProgramNode> &node) {
    std::uint64_t index = ~std::uint64_t{0};
    if (!a.reading() && node)
      index = known.emplace(node.get(), known.size()).first->second;
    a(index);
    if (index == ~std::uint64_t{0})
      return;
    const bool first = index >= seen.size();
    if (first)
      seen.push_back(a.reading() ? std::make_shared<ProgramNode>() : node);
    node = seen.at(index);
    if (first)
      content(*node);
  }

private:
  void content(ProgramNode &node) {
    a(node.kind)(node.name)(node.id)(node.block)(node.expected)(node.text)(node.cases)(node.routes);
    emulator::put(a, graph, node.source);
    emulator::put(a, graph, node.destination);
    emulator::put(a, graph, node.inputs);
    emulator::put(a, graph, node.outputs);
    a.size(node.children);
    for (auto &child : node.children)
      put(child);
  }

  Archive &a;
  GraphState &graph;
  std::map<const ProgramNode *, std::uint64_t> known;
  std::vector<std::shared_ptr<ProgramNode>> seen;
};

} // namespace

void put(Archive &a, GraphState &graph, std::vector<std::shared_ptr<ProgramNode>> &programs) {
  Nodes nodes(a, graph);
  a.size(graph.functions);
  for (auto &f : graph.functions)
    nodes.put(f);
  a.size(programs);
  for (auto &p : programs)
    nodes.put(p);
}

} // namespace poplar::emulator
