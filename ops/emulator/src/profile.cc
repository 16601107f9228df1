#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <poplar/exceptions.hpp>

#include "session.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

ProfileValue map(std::initializer_list<std::pair<std::string, ProfileValue>> members) {
  ProfileValue value;
  for (const auto &member : members)
    value.insert(member.first, member.second);
  return value;
}

ProfileValue number(std::uint64_t n) { return ProfileValue(static_cast<double>(n)); }
ProfileValue list() { return ProfileValue(ProfileValue::Vector()); }

ProfileValue targetOf(const Machine &m) {
  return map({{"type", toString(m.type)},
              {"architecture", m.version},
              {"numIPUs", m.numIPUs},
              {"tilesPerIpu", m.tilesPerIPU},
              {"numTiles", m.numTiles()},
              {"bytesPerTile", m.bytesPerTile},
              {"bytesPerIPU", number(std::uint64_t{m.bytesPerTile} * m.tilesPerIPU)},
              {"totalMemory", number(std::uint64_t{m.bytesPerTile} * m.numTiles())},
              {"clockFrequency", m.clockHz},
              {"numReplicas", 1},
              {"ipusPerReplica", m.numIPUs},
              {"tilesPerReplica", m.numTiles()}});
}

ProfileValue total(std::uint64_t bytes) { return map({{"total", number(bytes)}}); }
ProfileValue gaps(std::uint64_t bytes) {
  // The model places nothing, so that it leaves no gaps.
  return map({{"includingGaps", number(bytes)}, {"excludingGaps", number(bytes)}});
}

ProfileValue tileOf(const TileMemory &t, const Machine &m) {
  const std::uint64_t over = t.total() > m.bytesPerTile ? t.total() - m.bytesPerTile : 0;
  return map(
      {{"memory", map({{"total", gaps(t.total())},
                       {"overflowed", gaps(over)},
                       {"alwaysLiveBytes", number(t.total() - t.message)},
                       {"notAlwaysLiveBytes", number(t.message)},
                       {"category", map({{"variable", total(t.variable)},
                                         {"constant", total(t.constant)},
                                         {"message", total(t.message)},
                                         {"stack", total(t.stack)},
                                         {"controlCode", total(t.controlCode)},
                                         {"vertexCode", total(t.vertexCode)},
                                         {"internalExchangeCode", total(t.internalExchangeCode)},
                                         {"vertexInstanceState", total(t.vertexInstanceState)},
                                         {"vertexFieldData", total(t.vertexFieldData)}})}})}});
}

std::uint64_t numEdges(const GraphState &graph) {
  std::uint64_t edges = 0;
  for (const VertexInstance &vertex : graph.vertices)
    for (const Connection &field : vertex.fields)
      edges += field.rows.size();
  return edges;
}

ProfileValue compilationOf(const Session &session) {
  const Compiled &c = session.getCompiled();
  const GraphState &graph = *c.graph;
  ProfileValue tiles = list(), sets = list(), programs = list();
  for (const TileMemory &tile : c.memory)
    tiles.append(tileOf(tile, graph.machine));
  for (const ComputeSetState &set : graph.computeSets)
    sets.append(map({{"name", set.name}, {"numVertices", number(set.vertices.size())}}));
  for (const auto &step : session.steps()) {
    ProfileValue children = list();
    for (const Step *child : step->children)
      children.append(child->id);
    programs.append(map({{"_id", step->id},
                         {"name", stepName(session, *step)},
                         {"type", stepType(*step)},
                         {"children", children}}));
  }
  return map({{"target", targetOf(graph.machine)},
              {"graph", map({{"numVars", number(graph.variables.size())},
                             {"numVertices", number(graph.vertices.size())},
                             {"numEdges", number(numEdges(graph))},
                             {"numComputeSets", number(graph.computeSets.size())}})},
              {"tiles", tiles},
              {"computeSets", sets},
              {"programs", programs}});
}

/// How evenly a step's tiles are used: mean over maximum of their compute cycles.
double balance(const StepCost &cost, std::uint64_t tiles) {
  return cost.compute && tiles
             ? static_cast<double>(cost.tileCycles) /
                   (static_cast<double>(cost.compute) * static_cast<double>(tiles))
             : 0;
}

ProfileValue stepOf(const StepRecord &record, const Machine &m) {
  const StepCost &cost = record.cost;
  const std::uint64_t end = record.start + cost.cycles();
  // IPUs advance together: a step's exchange and sync are everyone's.
  ProfileValue ipu = map(
      {{"cycles", number(cost.cycles())},
       {"tileBalance", balance(cost, m.numTiles())},
       {"activeTileBalance", balance(cost, cost.activeTiles)},
       {"activeCycles",
        map({{"cyclesFrom", map({{"min", number(record.start)}, {"max", number(record.start)}})},
             {"cyclesTo", map({{"min", number(end)}, {"max", number(end)}})}})}});
  ProfileValue ipus = list();
  for (unsigned i = 0; i < m.numIPUs; ++i)
    ipus.append(ipu);
  return map({{"program", record.step->id},
              {"ipus", ipus},
              {"syncCycles", number(cost.sync)},
              {"exchangeCycles", number(cost.exchange)},
              {"computeCycles", number(cost.compute)},
              {"hostCycles", number(cost.host)}});
}

ProfileValue executionOf(const Session &session) {
  const Machine &m = session.getCompiled().graph->machine;
  ProfileValue runs = list(), totals = list();
  for (const RunRecord &run : session.runs()) {
    ProfileValue steps = list();
    for (const StepRecord &record : run.steps)
      steps.append(stepOf(record, m));
    const auto microseconds = [&](std::uint64_t cycles) {
      return static_cast<double>(cycles) / m.clockHz * 1e6;
    };
    runs.append(map({{"name", run.name},
                     {"microseconds",
                      map({{"start", microseconds(run.start)}, {"end", microseconds(run.end)}})},
                     {"truncated", run.truncated},
                     {"steps", steps}}));
  }
  for (const auto &step : session.steps()) {
    if (step->executions == 0)
      continue;
    totals.append(map({{"program", step->id},
                       {"executions", number(step->executions)},
                       {"syncCycles", number(step->total.sync)},
                       {"exchangeCycles", number(step->total.exchange)},
                       {"computeCycles", number(step->total.compute)},
                       {"hostCycles", number(step->total.host)},
                       {"bytesBetweenIpus", number(step->total.bytesBetweenIpus)},
                       {"flops", number(step->total.flops)}}));
  }
  return map({{"runs", runs},
              {"totals", totals},
              {"totalCycles", map({{"total", number(session.cycles())}})}});
}

bool isOn(const OptionFlags &options, const std::string &name) {
  bool on = false;
  for (const auto &option : options)
    if (option.first == "autoReport.all" || option.first == name)
      on = option.second == "true" || on;
  return on;
}

} // namespace

const char *stepType(const Step &step) {
  switch (step.node->kind) {
  case Kind::Sequence:
    return "Sequence";
  case Kind::Execute:
    return "OnTileExecute";
  case Kind::Copy:
    return "DoExchange";
  case Kind::CopyFromStream:
  case Kind::CopyToStream:
  case Kind::CopyFromRemote:
  case Kind::CopyToRemote:
  case Kind::CallHost:
    return "StreamCopyMid";
  case Kind::WriteUndef:
    return "WriteUndef";
  case Kind::Repeat:
    return "Repeat";
  case Kind::RepeatWhile:
    return "RepeatWhile";
  case Kind::If:
    return "If";
  case Kind::Switch:
    return "Switch";
  case Kind::Call:
    return "Call";
  case Kind::Sync:
    return "Sync";
  case Kind::Print:
    return "PrintTensor";
  case Kind::AssumeEqual:
    return "AssumeEqualAcrossReplicas";
  case Kind::Abort:
    return "Abort";
  }
  return "";
}

std::string stepName(const Session &session, const Step &step) {
  if (!step.node->name.empty())
    return step.node->name;
  if (step.node->kind == Kind::Execute)
    return session.getCompiled().graph->computeSets[step.node->id].name;
  return step.node->text;
}

ProfileValue profileOf(const Session &session) {
  return map({{"emulated", true},
              {"compilation", compilationOf(session)},
              {"execution", executionOf(session)}});
}

void writeReports(const Session &session) {
  const OptionFlags &options = session.getCompiled().options;
  if (!isOn(options, "autoReport.outputGraphProfile") &&
      !isOn(options, "autoReport.outputExecutionProfile"))
    return;
  std::filesystem::path directory = ".";
  for (const auto &option : options)
    if (option.first == "autoReport.directory")
      directory = option.second;
  std::filesystem::create_directories(directory);
  const std::filesystem::path complete = directory / "profile.json";
  const std::filesystem::path partial = directory / "profile.json.partial";
  {
    std::ofstream out(partial);
    serializeToJSON(out, profileOf(session));
    if (!out.flush())
      throw poplar_error("cannot write " + partial.string());
  }
  std::filesystem::rename(partial, complete);
}

} // namespace poplar::emulator
