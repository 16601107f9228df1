#include "compiled.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <poplar/exceptions.hpp>

#include "checks.h"
#include "tile_memory.h"
#include "traffic.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

void checkOptions(const OptionFlags &options) {
  static const char *const families[] = {
      "autoReport.", "debug.",  "exchange.",        "gcl.",    "opt.",           "prng.",
      "profiler.",   "report.", "streamCallbacks.", "target.", "makeFunctions.", "version."};
  for (const auto &option : options) {
    const bool known = std::any_of(std::begin(families), std::end(families), [&](const char *f) {
      return option.first.compare(0, std::string(f).size(), f) == 0;
    });
    if (!known)
      throw invalid_option("unrecognised engine option '" + option.first + "'");
  }
}

void checkTensor(const GraphState &graph, const Tensor &t, const ProgramNode &node,
                 const char *what) {
  if (t.valid())
    checkMapped(graph, t.view(),
                std::string(what) + (node.name.empty() ? "" : " '" + node.name + "'"));
}

/// Raises control_program_error when a function calls itself.
void checkRecursion(const GraphState &graph, const ProgramNode &node, std::set<unsigned> &calling) {
  if (node.kind == Kind::Call) {
    if (node.id >= graph.functions.size())
      throw control_program_error("Call of a function that is none of this graph's");
    if (!calling.insert(node.id).second)
      throw graph_recursion_error("a function of the graph calls itself");
    if (graph.functions[node.id])
      checkRecursion(graph, *graph.functions[node.id], calling);
    calling.erase(node.id);
  }
  for (const auto &child : node.children)
    checkRecursion(graph, *child, calling);
}

void costComputeSet(Compiled &compiled, unsigned id, MemoryModel &memory) {
  const GraphState &graph = *compiled.graph;
  Traffic in(graph), out(graph);
  for (const std::size_t v : graph.computeSets[id].vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    memory.addVertex(vertex);
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
      const field::Direction direction = vertex.type->table->fields[f].direction;
      for (const auto &row : vertex.fields[f].rows) {
        if (direction != field::Direction::Output)
          in.read(*row, vertex.tile);
        if (direction != field::Direction::Input)
          out.write(*row, vertex.tile);
      }
    }
  }
  compiled.computeSetIn[id] = in.cost();
  compiled.computeSetOut[id] = out.cost();
  memory.addExchange(in);
  memory.addExchange(out);
}

} // namespace

std::shared_ptr<Compiled> compile(std::shared_ptr<GraphState> graph,
                                  std::vector<std::shared_ptr<ProgramNode>> programs,
                                  OptionFlags options) {
  if (const char *named = std::getenv("POPLAR_ENGINE_OPTIONS"))
    readJSON(named, options);
  checkOptions(options);
  auto compiled = std::make_shared<Compiled>();
  compiled->graph = std::move(graph);
  compiled->programs = std::move(programs);
  compiled->options = std::move(options);
  const GraphState &g = *compiled->graph;
  for (auto &program : compiled->programs) {
    if (!program)
      program = std::make_shared<ProgramNode>(
          ProgramNode{Kind::Sequence, {}, {}, 0, true, {}, {}, {}, {}, {}, {}});
    std::set<unsigned> calling;
    checkRecursion(g, *program, calling);
  }
  MemoryModel memory(g);
  std::set<unsigned> costed;
  forEachNode(g, compiled->programs, [&](const ProgramNode &node) {
    memory.addStep(node);
    checkTensor(g, node.source, node, "a program that reads it");
    checkTensor(g, node.destination, node, "a program that writes it");
    for (const Tensor &t : node.inputs)
      checkTensor(g, t, node, "a host function");
    for (const Tensor &t : node.outputs)
      checkTensor(g, t, node, "a host function");
    if (node.kind == Kind::Execute) {
      if (node.id >= g.computeSets.size())
        throw control_program_error("Execute of a compute set that is none of this graph's");
      if (!costed.insert(node.id).second)
        return;
      checkComputeSet(g, node.id);
      costComputeSet(*compiled, node.id, memory);
    } else if (node.kind == Kind::Copy) {
      Traffic traffic(g);
      traffic.copy(node.source.view(), node.destination.view());
      compiled->copies[&node] = traffic.cost();
      compiled->copyCycles[&node] = traffic.localCycles();
      memory.addExchange(traffic);
    }
  });
  for (const auto &host : g.hostWrites)
    checkMapped(g, host.second.view(), "host write '" + host.first + "'");
  for (const auto &host : g.hostReads)
    checkMapped(g, host.second.view(), "host read '" + host.first + "'");
  compiled->memory = memory.tiles();
  bool allow = false;
  for (const auto &option : compiled->options)
    allow |= option.first == "debug.allowOutOfMemory" && option.second == "true";
  if (!allow)
    memory.checkFits();
  return compiled;
}

} // namespace poplar::emulator
