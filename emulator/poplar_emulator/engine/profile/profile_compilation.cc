#include <algorithm>
#include <map>

#include "estimated_compute.h"
#include "graph/field_layout.h"
#include "memory/tile_memory.h"
#include "profile.h"
#include "session/engine_options.h"

namespace poplar::emulator {
namespace {

// A profile's size must not grow with the program: the remaining entries are added up.
constexpr std::size_t kLivenessSteps = 1000, kAlwaysLiveNamed = 100, kTileVariablesNamed = 20,
                      kLargestNamed = 20;

/// Describes all replicas; tiles, memory and the graph are those of one replica.
ProfileValue targetOf(const GraphState &graph, const OptionFlags &options) {
  const Machine m = withHostLink(graph.wholeMachine(), options);
  ProfileValue target =
      profileMap({{"type", toString(m.type)},
                  {"architecture", m.version},
                  {"numIPUs", m.numIPUs},
                  {"tilesPerIpu", m.tilesPerIPU},
                  {"numTiles", m.numTiles()},
                  {"bytesPerTile", m.bytesPerTile},
                  {"bytesPerIPU", profileNumber(std::uint64_t{m.bytesPerTile} * m.tilesPerIPU)},
                  {"totalMemory", profileNumber(std::uint64_t{m.bytesPerTile} * m.numTiles())},
                  {"clockFrequency", m.clockHz},
                  {"hostBytesPerSecond", m.hostBytesPerSecond},
                  {"hostLatencySeconds", m.hostLatencySeconds},
                  {"numReplicas", graph.replicas},
                  {"ipusPerReplica", graph.machine.numIPUs},
                  {"tilesPerReplica", graph.machine.numTiles()}});
  if (m.memoryElementOffsets.size() > 1)
    target.insert("interleavedMemoryStart", m.memoryElementOffsets[1]);
  return target;
}

ProfileValue total(std::uint64_t bytes) { return profileMap({{"total", profileNumber(bytes)}}); }
ProfileValue gaps(std::uint64_t bytes) {
  // The model has no placement, and so no gaps.
  return profileMap(
      {{"includingGaps", profileNumber(bytes)}, {"excludingGaps", profileNumber(bytes)}});
}

ProfileValue tileOf(const TileMemory &t, const Machine &m) {
  const std::uint64_t over = t.total() > m.bytesPerTile ? t.total() - m.bytesPerTile : 0;
  return profileMap(
      {{"memory", profileMap({{"total", gaps(t.total())},
                              {"overflowed", gaps(over)},
                              {"alwaysLiveBytes", profileNumber(t.total() - t.notAlwaysLive)},
                              {"notAlwaysLiveBytes", profileNumber(t.notAlwaysLive)},
                              {"category",
                               profileMap({{"variable", total(t.variable)},
                                           {"constant", total(t.constant)},
                                           {"message", total(t.message)},
                                           {"stack", total(t.stack)},
                                           {"controlCode", total(t.controlCode)},
                                           {"vertexCode", total(t.vertexCode)},
                                           {"internalExchangeCode", total(t.internalExchangeCode)},
                                           {"globalExchangeCode", total(t.globalExchangeCode)},
                                           {"hostExchangeCode", total(t.hostExchangeCode)},
                                           {"vertexInstanceState", total(t.vertexInstanceState)},
                                           {"vertexFieldData", total(t.vertexFieldData)}})}})}});
}

ProfileValue variableOf(const std::string &name, std::uint64_t bytes) {
  return profileMap({{"name", name}, {"size", profileNumber(bytes)}});
}

ProfileValue fullestTile(const Compiled &c) {
  const auto most = std::max_element(
      c.memory.begin(), c.memory.end(),
      [](const TileMemory &a, const TileMemory &b) { return a.total() < b.total(); });
  const auto tile = static_cast<unsigned>(most - c.memory.begin());
  ProfileValue variables = profileList();
  for (const auto &[bytes, v] : largestVariables(*c.graph, tile, kTileVariablesNamed))
    variables.append(variableOf(c.graph->variables[v].name, bytes));
  return profileMap({{"tile", tile}, {"variables", variables}});
}

/// Lists vertices by type; a list of all vertices would be most of a profile.
ProfileValue verticesOf(const GraphState &graph, const ComputeSetState &set) {
  std::map<const VertexType *, std::uint64_t> counts;
  for (const std::size_t v : set.vertices)
    ++counts[graph.vertices[v].type];
  std::map<std::string, ProfileValue> byName;
  for (const auto &[type, count] : counts) {
    const auto first =
        std::find_if(set.vertices.begin(), set.vertices.end(),
                     [&, type = type](std::size_t v) { return graph.vertices[v].type == type; });
    byName[type->table->name] = profileMap(
        {{"type", profileMap({{"name", type->table->name},
                              {"size", profileNumber(stateBytes(graph.vertices[*first]))}})},
         {"count", profileNumber(count)}});
  }
  ProfileValue vertices = profileList();
  for (const auto &entry : byName)
    vertices.append(entry.second);
  return vertices;
}

/// Returns the cycles of the tile that copies most within itself to make fields contiguous.
std::uint64_t rearrangementOf(const Compiled &c, unsigned computeSet) {
  std::uint64_t most = 0;
  const auto found = c.rearranged.find(computeSet);
  if (found != c.rearranged.end())
    for (const auto &tile : found->second)
      most = std::max(most, tile.second);
  return most;
}

ProfileValue computeSetsOf(const Compiled &c) {
  ProfileValue sets = profileList();
  for (unsigned id = 0; id < c.graph->computeSets.size(); ++id) {
    const ComputeSetState &set = c.graph->computeSets[id];
    ProfileValue one = profileMap({{"name", set.name},
                                   {"numVertices", profileNumber(set.vertices.size())},
                                   {"vertices", verticesOf(*c.graph, set)},
                                   {"rearrangementCycles", profileNumber(rearrangementOf(c, id))}});
    if (const auto estimated = estimatedCycles(c, id))
      one.insert("estimatedCycles", profileNumber(*estimated));
    sets.append(one);
  }
  return sets;
}

ProfileValue programsOf(const Compiled &c) {
  ProfileValue programs = profileList();
  for (const ProgramNode *node : c.nodes) {
    ProfileValue children = profileList();
    if (node->kind == ProgramNode::Kind::Call && c.graph->functions[node->id])
      children.append(c.ids.at(c.graph->functions[node->id].get()));
    for (const auto &child : node->children)
      children.append(c.ids.at(child.get()));
    ProfileValue program = profileMap({{"_id", c.ids.at(node)},
                                       {"name", stepName(c, *node)},
                                       {"type", stepType(*node)},
                                       {"children", children}});
    if (node->kind == ProgramNode::Kind::Execute)
      program.insert("computeset", node->id);
    if (node->kind == ProgramNode::Kind::Repeat)
      program.insert("count", node->id);
    programs.append(program);
  }
  return programs;
}

ProfileValue livenessStepOf(const Compiled &c, const LiveStep &step) {
  ProfileValue variables = profileList();
  for (const auto &[bytes, v] : step.variables)
    variables.append(variableOf(c.graph->variables[v].name, bytes));
  return profileMap(
      {{"program", c.ids.at(step.node)},
       {"notAlwaysLiveMemory", profileMap({{"bytes", profileNumber(step.bytes)},
                                           {"maxTileBytes", profileNumber(step.tileBytes)},
                                           {"tile", step.tile},
                                           {"variables", variables}})}});
}

/// If there are too many steps, each group of steps is represented by the one with the fullest
/// tile.
ProfileValue livenessOf(const Compiled &c) {
  const std::vector<LiveStep> &steps = c.liveness.steps;
  const std::size_t group = (steps.size() + kLivenessSteps - 1) / kLivenessSteps;
  ProfileValue list = profileList();
  for (std::size_t i = 0; i < steps.size(); i += group) {
    const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = steps.begin() + static_cast<std::ptrdiff_t>(std::min(i + group, steps.size()));
    list.append(
        livenessStepOf(c, *std::max_element(begin, end, [](const LiveStep &a, const LiveStep &b) {
                         return a.tileBytes < b.tileBytes;
                       })));
  }
  return list;
}

/// Returns the `most` largest of the entries.
template <typename F> ProfileValue largest(const Compiled &c, std::size_t most, F about) {
  std::vector<std::pair<std::uint64_t, unsigned>> found;
  for (unsigned v = 0; v < c.graph->variables.size(); ++v)
    if (about(v))
      found.emplace_back(c.graph->variables[v].bytes(), v);
  std::sort(found.rbegin(), found.rend());
  found.resize(std::min(found.size(), most));
  ProfileValue list = profileList();
  for (const auto &[bytes, v] : found)
    list.append(variableOf(c.graph->variables[v].name, bytes));
  return list;
}

ProfileValue alwaysLiveOf(const Compiled &c) {
  return largest(c, kAlwaysLiveNamed, [&](unsigned v) { return c.liveness.always[v]; });
}

ProfileValue largestOf(const Compiled &c) {
  return largest(c, kLargestNamed, [](unsigned) { return true; });
}

} // namespace

ProfileValue compilationOf(const Compiled &c) {
  const GraphState &graph = *c.graph;
  ProfileValue tiles = profileList();
  for (const TileMemory &tile : c.memory)
    tiles.append(tileOf(tile, graph.machine));
  return profileMap(
      {{"target", targetOf(graph, c.options)},
       {"graph", profileMap({{"numVars", profileNumber(graph.variables.size())},
                             {"numVertices", profileNumber(graph.vertices.size())},
                             {"numEdges", profileNumber(numEdges(graph))},
                             {"numComputeSets", profileNumber(graph.computeSets.size())}})},
       {"tiles", tiles},
       {"fullestTile", fullestTile(c)},
       {"computeSets", computeSetsOf(c)},
       {"programs", programsOf(c)},
       {"alwaysLiveVariables", alwaysLiveOf(c)},
       {"largestVariables", largestOf(c)},
       {"livenessProgramSteps", livenessOf(c)}});
}

} // namespace poplar::emulator
