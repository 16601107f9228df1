#include "pva_report.h"

#include <map>
#include <stdexcept>

#include "estimated_compute.h"
#include "graph/field_layout.h"
#include "profile.h"
#include "session/session.h"

namespace poplar::emulator {

/// The data that the objects of a report refer to.
struct ReportData {
  ProfileValue profile;
  bool fromFile = false; // which has no more than the profile
  std::vector<pva::VertexType> vertexTypes;
  struct Vertex {
    std::size_t type;
    unsigned tile;
  };
  std::vector<std::vector<Vertex>> vertices; // by compute set
  struct TileCycles {
    unsigned tile;
    std::uint64_t cycles;
  };
  std::map<std::uint64_t, std::vector<TileCycles>> estimates; // by compute set that has them
  std::map<const ProfileValue *, std::shared_ptr<const std::vector<std::uint64_t>>> cyclesByTile;
};

namespace {

/// Listed one by one, unlike in a profile.
void addVertices(ReportData &data, const GraphState &graph) {
  std::map<std::pair<const VertexType *, std::uint64_t>, std::size_t> known;
  for (const ComputeSetState &set : graph.computeSets) {
    auto &vertices = data.vertices.emplace_back();
    for (const std::size_t v : set.vertices) {
      const VertexInstance &vertex = graph.vertices[v];
      const std::uint64_t bytes = stateBytes(vertex);
      const auto added = known.emplace(std::pair(vertex.type, bytes), data.vertexTypes.size());
      if (added.second)
        data.vertexTypes.emplace_back(vertex.type->table->name, bytes);
      vertices.push_back({added.first->second, static_cast<unsigned>(vertex.tile)});
    }
  }
}

void addEstimates(ReportData &data, const Compiled &compiled) {
  for (unsigned id = 0; id < compiled.graph->computeSets.size(); ++id)
    if (const auto tiles = estimatedTileCycles(compiled, id)) {
      auto &estimates = data.estimates[id];
      for (const auto &[tile, cycles] : *tiles)
        estimates.push_back({tile, cycles});
    }
}

void addTileCycles(ReportData &data, const Session &session) {
  const ProfileValue &runs = data.profile["execution"]["runs"];
  for (std::size_t r = 0; r < session.runs().size(); ++r) {
    const auto &steps = session.runs()[r].steps;
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (steps[s].cyclesByTile)
        data.cyclesByTile[&runs[r]["steps"][s]] = steps[s].cyclesByTile;
  }
}

} // namespace

pva::Report reportOf(const Compiled &compiled, const Session *session) {
  auto data = std::make_shared<ReportData>();
  data->profile = profileOf(compiled, session);
  addVertices(*data, *compiled.graph);
  if (session) {
    addEstimates(*data, compiled);
    addTileCycles(*data, *session);
  }
  const ProfileValue *root = &data->profile;
  return pva::Report(std::move(data), root);
}

} // namespace poplar::emulator

namespace pva {

std::uint64_t ReportNode::number(const char *name) const { return (*value)[name].asUint(); }
double ReportNode::real(const char *name) const { return (*value)[name].asDouble(); }
std::string ReportNode::text(const char *name) const { return (*value)[name].asString(); }
ReportNode ReportNode::at(const char *name) const { return {data, &(*value)[name]}; }

std::vector<ReportNode> ReportNode::elements(const char *name) const {
  std::vector<ReportNode> list;
  for (const poplar::ProfileValue &element : (*value)[name].asVector())
    list.emplace_back(data, &element);
  return list;
}

ReportNode ReportNode::ofCompilation(const char *name, std::uint64_t i) const {
  return {data, &data->profile["compilation"][name][static_cast<std::size_t>(i)]};
}

Target::Type Target::type() const {
  const std::string words = text("type");
  return words == "IPU"         ? Type::Ipu
         : words == "IPU_MODEL" ? Type::IpuModel
         : words == "CPU"       ? Type::Cpu
                                : Type::Unknown;
}

Report openReport(const std::string &profilePath, const std::string &) {
  auto data = std::make_shared<poplar::emulator::ReportData>();
  data->profile = poplar::emulator::readProfile(profilePath);
  data->fromFile = true;
  const poplar::ProfileValue *root = &data->profile;
  return Report(std::move(data), root);
}

std::vector<Vertex> ComputeSet::vertices() const {
  if (data->fromFile)
    throw std::out_of_range("a profile's file has no vertices one by one: Engine::getReport has");
  const auto &sets = data->profile["compilation"]["computeSets"].asVector();
  std::vector<Vertex> list;
  for (const auto &vertex : data->vertices.at(static_cast<std::size_t>(value - sets.data())))
    list.emplace_back(data->vertexTypes[vertex.type], vertex.tile);
  return list;
}

std::vector<BlockExecution> ExecutionReport::blocks(unsigned tile) const {
  const std::size_t tiles = data->profile["compilation"]["target"]["numTiles"].asUint();
  if (tile >= tiles)
    throw std::out_of_range("blocks of tile " + std::to_string(tile) + ": the target has " +
                            std::to_string(tiles) + " tiles");
  return list<BlockExecution>("blocks");
}

std::vector<std::uint64_t> ExecutionStep::cyclesByTile() const {
  const auto found = data->cyclesByTile.find(value);
  if (found != data->cyclesByTile.end())
    return *found->second;
  if (data->fromFile)
    throw std::out_of_range("a profile's file has no cycles by tile: Engine::getReport has");
  return std::vector<std::uint64_t>(data->profile["compilation"]["target"]["numTiles"].asUint());
}

std::vector<ExecutedComputeSet> ExecutionStep::computeSets() const {
  std::vector<ExecutedComputeSet> list;
  if (program()->type() == Program::Type::OnTileExecute)
    list.emplace_back(data, value);
  return list;
}

std::string ExecutedComputeSet::name() const {
  return OnTileExecuteProgram(*ExecutionStep(data, value).program()).computeset().name();
}

std::vector<std::uint64_t> ExecutedComputeSet::cyclesByTile() const {
  return ExecutionStep(data, value).cyclesByTile();
}

std::vector<std::uint64_t> ExecutedComputeSet::estimatedCyclesByTile() const {
  if (data->fromFile)
    throw std::out_of_range("a profile's file has no estimates by tile: Engine::getReport has");
  const poplar::ProfileValue &compilation = data->profile["compilation"];
  const std::size_t program = number("program");
  const auto found = data->estimates.find(compilation["programs"][program]["computeset"].asUint());
  if (found == data->estimates.end())
    return {};
  std::vector<std::uint64_t> cycles(compilation["target"]["numTiles"].asUint());
  for (const auto &estimate : found->second)
    cycles.at(estimate.tile) += estimate.cycles;
  return cycles;
}

std::vector<ProgramPointer> Program::children() const {
  std::vector<ProgramPointer> list;
  for (const poplar::ProfileValue &id : (*value)["children"].asVector())
    list.push_back(compiled<ProgramPointer>("programs", id.asUint()));
  return list;
}

Version Report::poplarVersion() const { return {3, 3, 0, poplar::versionString()}; }

// Maps the emulator's programs to those of libpva.
#define PVA_PROGRAMS(DO)                                                                           \
  DO(OnTileExecute)                                                                                \
  DO(DoExchange)                                                                                   \
  DO(StreamCopyMid)                                                                                \
  DO(Sync)                                                                                         \
  DO(Call)                                                                                         \
  DO(Sequence)                                                                                     \
  DO(Repeat)                                                                                       \
  DO(RepeatWhile)                                                                                  \
  DO(If)                                                                                           \
  DO(Switch)

Program::Type Program::type() const {
  const std::string words = text("type");
#define PVA_TYPE(TYPE)                                                                             \
  if (words == #TYPE)                                                                              \
    return Type::TYPE;
  PVA_PROGRAMS(PVA_TYPE)
#undef PVA_TYPE
  return Type::Unknown;
}

void Program::accept(ProgramVisitor &visitor) const {
  switch (type()) {
#define PVA_VISIT(TYPE)                                                                            \
  case Type::TYPE:                                                                                 \
    return visitor.visit##TYPE(TYPE##Program(*this));
    PVA_PROGRAMS(PVA_VISIT)
#undef PVA_VISIT
  default:
    return;
  }
}

} // namespace pva
