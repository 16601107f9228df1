#include "compiled.h"

#include <set>

#include <poplar/exceptions.hpp>

#include "graph/checks.h"
#include "memory/tile_memory.h"
#include "profile/report_files.h"
#include "profile/traffic.h"
#include "program/rearrangement.h"
#include "session/engine_options.h"
#include "session/replica_exchange.h"
#include "support/log.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

void checkTensor(const GraphState &graph, const Tensor &t, const ProgramNode &node,
                 const char *what) {
  if (!t.valid())
    return;
  checkOwn(graph, t);
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

void costComputeSet(Compiled &compiled, unsigned id, TileAddresses &addresses,
                    MemoryModel &memory) {
  const GraphState &graph = *compiled.graph;
  Traffic in(graph, addresses), out(graph, addresses);
  Rearrangement rearrangement(graph, addresses);
  for (const std::size_t v : graph.computeSets[id].vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    memory.addVertex(vertex);
    rearrangement.add(vertex);
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
  compiled.rearranged[id] = rearrangement.cycles();
  memory.addExchange(in);
  memory.addExchange(out);
  memory.addBuffers(id, {&in.buffered(), &out.buffered(), &rearrangement.buffered()});
}

/// Converts every program to a tree that can be traversed.
void completePrograms(Compiled &compiled) {
  for (auto &program : compiled.programs) {
    if (!program)
      program = makeNode(Kind::Sequence, {});
    std::set<unsigned> calling;
    checkRecursion(*compiled.graph, *program, calling);
  }
}

/// Lists the reachable nodes, each once: before its children, and a function at its first call.
void listNodes(const ProgramNode &node, Compiled &compiled) {
  if (!compiled.ids.emplace(&node, compiled.nodes.size()).second)
    return;
  compiled.nodes.push_back(&node);
  if (node.kind == Kind::Call && compiled.graph->functions[node.id])
    listNodes(*compiled.graph->functions[node.id], compiled);
  for (const auto &child : node.children)
    listNodes(*child, compiled);
}

void checkNode(const GraphState &graph, const ProgramNode &node) {
  checkTensor(graph, node.source, node, "a program that reads it");
  checkTensor(graph, node.destination, node, "a program that writes it");
  for (const Tensor &t : node.inputs)
    checkTensor(graph, t, node, "a host function");
  for (const Tensor &t : node.outputs)
    checkTensor(graph, t, node, "a host function");
  if (node.kind == Kind::Execute && node.id >= graph.computeSets.size())
    throw control_program_error("Execute of a compute set that is none of this graph's");
}

void costNode(Compiled &compiled, const ProgramNode &node, TileAddresses &addresses,
              MemoryModel &memory) {
  const GraphState &graph = *compiled.graph;
  memory.addStep(node);
  if (node.kind == Kind::Execute && !compiled.computeSetIn.count(node.id)) {
    checkComputeSet(graph, node.id);
    costComputeSet(compiled, node.id, addresses, memory);
  } else if (node.kind == Kind::Copy) {
    Traffic traffic(graph, addresses);
    traffic.copy(node.source.view(), node.destination.view());
    compiled.copies[&node] = traffic.cost();
    compiled.copyCycles[&node] = traffic.localCycles();
    memory.addExchange(traffic);
  } else if (node.kind == Kind::CrossReplica) {
    Traffic traffic(graph, addresses, graph.wholeMachine());
    addRoutes(node, traffic);
    compiled.copies[&node] = traffic.cost();
    compiled.copyCycles[&node] = traffic.localCycles();
    memory.addExchange(traffic);
  } else if (node.kind == Kind::If || node.kind == Kind::Switch || node.kind == Kind::RepeatWhile) {
    Traffic traffic(graph, addresses);
    for (unsigned tile = 0; tile < graph.machine.numTiles(); ++tile)
      traffic.read(node.source.view(), tile);
    compiled.copies[&node] = traffic.cost();
    memory.addExchange(traffic);
  }
}

void checkHandles(const GraphState &graph) {
  for (const auto &host : graph.hostWrites)
    checkMapped(graph, host.second.view(), "host write '" + host.first + "'");
  for (const auto &host : graph.hostReads)
    checkMapped(graph, host.second.view(), "host read '" + host.first + "'");
}

} // namespace

std::shared_ptr<Compiled> compile(std::shared_ptr<GraphState> graph,
                                  std::vector<std::shared_ptr<ProgramNode>> programs,
                                  OptionFlags options,
                                  const std::function<void(int step, int total)> &progress) {
  auto compiled = std::make_shared<Compiled>();
  compiled->options = completeOptions(std::move(options));
  compiled->graph = std::move(graph);
  compiled->programs = std::move(programs);
  completePrograms(*compiled);
  for (const auto &program : compiled->programs)
    listNodes(*program, *compiled);
  // One step for each program, one for the liveness of variables, one for the memory.
  const int total = static_cast<int>(compiled->nodes.size()) + 2;
  const auto tell = [&](int step) {
    if (progress)
      progress(step, total);
  };
  MemoryModel memory(*compiled->graph);
  TileAddresses addresses(*compiled->graph);
  for (std::size_t i = 0; i < compiled->nodes.size(); ++i) {
    tell(static_cast<int>(i));
    checkNode(*compiled->graph, *compiled->nodes[i]);
    costNode(*compiled, *compiled->nodes[i], addresses, memory);
  }
  tell(total - 2);
  checkHandles(*compiled->graph);
  compiled->liveness = livenessOf(*compiled->graph, compiled->programs, memory.messages());
  tell(total - 1);
  memory.addVariables(compiled->liveness);
  compiled->memory = memory.tiles();
  log(LogModule::Engine, LogLevel::Info, "compiled ", compiled->nodes.size(), " program steps, ",
      compiled->graph->vertices.size(), " vertices, ", compiled->graph->variables.size(),
      " variables");
  try {
    checkFits(*compiled);
  } catch (graph_memory_allocation_error &error) {
    error.profilePath = writeReports(*compiled, nullptr);
    throw;
  }
  tell(total);
  return compiled;
}

} // namespace poplar::emulator
