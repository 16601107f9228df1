#ifndef pva_Compilation_hpp
#define pva_Compilation_hpp

// libpva's headers are closed. Names are those of its published Python API, as methods; what each
// returns is [M]: from memory.

#include <string>
#include <vector>

#include <pva/Program.hpp>

namespace pva {

class Target : public ReportNode {
public:
  enum class Type { Cpu, Ipu, IpuModel, Unknown };
  using ReportNode::ReportNode;
  Type type() const;
  std::string architecture() const { return text("architecture"); }
  unsigned numIPUs() const { return static_cast<unsigned>(number("numIPUs")); }
  unsigned tilesPerIpu() const { return static_cast<unsigned>(number("tilesPerIpu")); }
  unsigned numTiles() const { return static_cast<unsigned>(number("numTiles")); }
  std::uint64_t bytesPerTile() const { return number("bytesPerTile"); }
  std::uint64_t bytesPerIPU() const { return number("bytesPerIPU"); }
  std::uint64_t totalMemory() const { return number("totalMemory"); }
  double clockFrequency() const { return real("clockFrequency"); } ///< in Hz
  unsigned numReplicas() const { return static_cast<unsigned>(number("numReplicas")); }
  unsigned ipusPerReplica() const { return static_cast<unsigned>(number("ipusPerReplica")); }
  unsigned tilesPerReplica() const { return static_cast<unsigned>(number("tilesPerReplica")); }
  std::uint64_t memoryPerReplica() const { return totalMemory() / numReplicas(); }
  std::uint64_t interleavedMemoryStart() const { return number("interleavedMemoryStart"); }
};

class Graph : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t numComputeSets() const { return number("numComputeSets"); }
  std::uint64_t numVars() const { return number("numVars"); }
  std::uint64_t numEdges() const { return number("numEdges"); }
  std::uint64_t numVertices() const { return number("numVertices"); }
};

/// Bytes; the emulator's memory has no gaps.
class MemorySize : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t includingGaps() const { return number("includingGaps"); }
  std::uint64_t excludingGaps() const { return number("excludingGaps"); }
};

class MemoryCategory : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t total() const { return number("total"); }
};

class MemoryCategories : public ReportNode {
public:
  using ReportNode::ReportNode;
#define PVA_CATEGORY(NAME)                                                                         \
  MemoryCategory NAME() const { return member<MemoryCategory>(#NAME); }
  PVA_CATEGORY(variable)
  PVA_CATEGORY(constant)
  PVA_CATEGORY(message)
  PVA_CATEGORY(stack)
  PVA_CATEGORY(controlCode)
  PVA_CATEGORY(vertexCode)
  PVA_CATEGORY(internalExchangeCode)
  PVA_CATEGORY(globalExchangeCode)
  PVA_CATEGORY(hostExchangeCode)
  PVA_CATEGORY(vertexInstanceState)
  PVA_CATEGORY(vertexFieldData)
#undef PVA_CATEGORY
};

class TileMemory : public ReportNode {
public:
  using ReportNode::ReportNode;
  MemorySize total() const { return member<MemorySize>("total"); }
  MemorySize overflowed() const { return member<MemorySize>("overflowed"); }
  std::uint64_t alwaysLiveBytes() const { return number("alwaysLiveBytes"); }
  std::uint64_t notAlwaysLiveBytes() const { return number("notAlwaysLiveBytes"); }
  MemoryCategories category() const { return member<MemoryCategories>("category"); }
};

class Tile : public ReportNode {
public:
  using ReportNode::ReportNode;
  TileMemory memory() const { return member<TileMemory>("memory"); }
};

class Variable : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::string name() const { return text("name"); }
  std::uint64_t size() const { return number("size"); }
};

class VertexType {
public:
  VertexType(std::string name, std::uint64_t bytes) : words(std::move(name)), bytes(bytes) {}
  const std::string &name() const { return words; }
  std::uint64_t size() const { return bytes; } ///< of its state on the tile, in bytes

private:
  std::string words;
  std::uint64_t bytes;
};

class Vertex {
public:
  Vertex(VertexType type, unsigned tile) : kind(std::move(type)), place(tile) {}
  const VertexType &type() const { return kind; }
  unsigned tile() const { return place; }

private:
  VertexType kind;
  unsigned place;
};

class ComputeSet : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::string name() const { return text("name"); }
  std::vector<Vertex> vertices() const;
};

class NotAlwaysLiveMemory : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t bytes() const { return number("bytes"); }
  /// The largest.
  std::vector<Variable> variables() const { return list<Variable>("variables"); }
};

class LivenessProgramStep : public ReportNode {
public:
  using ReportNode::ReportNode;
  ProgramPointer program() const { return compiled<ProgramPointer>("programs", number("program")); }
  NotAlwaysLiveMemory notAlwaysLiveMemory() const {
    return member<NotAlwaysLiveMemory>("notAlwaysLiveMemory");
  }
};

/// The report of the compiler.
class CompilationReport : public ReportNode {
public:
  using ReportNode::ReportNode;
  Target target() const { return member<Target>("target"); }
  Graph graph() const { return member<Graph>("graph"); }
  std::vector<Tile> tiles() const { return list<Tile>("tiles"); }
  std::vector<ComputeSet> computeSets() const { return list<ComputeSet>("computeSets"); }
  std::vector<ProgramPointer> programs() const { return list<ProgramPointer>("programs"); }
  std::vector<LivenessProgramStep> livenessProgramSteps() const {
    return list<LivenessProgramStep>("livenessProgramSteps");
  }
  /// The largest.
  std::vector<Variable> alwaysLiveVariables() const {
    return list<Variable>("alwaysLiveVariables");
  }
};

inline ComputeSet OnTileExecuteProgram::computeset() const {
  return compiled<ComputeSet>("computeSets", number("computeset"));
}

} // namespace pva

#endif
