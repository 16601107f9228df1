#ifndef IPULSE_EMULATOR_GRAPH_STATE_H
#define IPULSE_EMULATOR_GRAPH_STATE_H

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poplar/DataStream.hpp>
#include <poplar/Graph.hpp>
#include <poplar/PerfEstimateFunc.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/Type.hpp>

#include "codelets/codelet_library.h"
#include "device/machine.h"
#include "memory/tile_map.h"
#include "tensor/view.h"

namespace poplar::emulator {

struct ProgramNode;

struct Variable {
  Type type;
  std::size_t elements = 0;
  std::string name;
  bool constant = false;
  // A constant that is mapped to the tile of the vertex it is connected to. Only the construction
  // of the graph needs it; executables do not contain it.
  bool withVertex = false;
  bool replicaIndex = false; // a constant that holds the number of its replica
  TileMap tiles;
  std::vector<char> initial; // empty, or the bytes of all elements
  std::size_t bytes() const { return elements * sizeOf(type); }
};

/// The tensors or the values of a vertex field.
struct Connection {
  std::vector<std::shared_ptr<const View>> rows; // one for a scalar or a vector
  std::vector<std::vector<char>> values;         // of an initial-value field: by row, as `rows`
  bool set = false;
};

struct VertexInstance {
  const VertexType *type = nullptr;
  unsigned computeSet = 0;
  unsigned tile = kNoTile;
  std::vector<Connection> fields; // in the order of the type's table
  std::optional<VertexPerfEstimate> estimate;
};

struct ComputeSetState {
  std::string name;
  std::vector<std::size_t> vertices;
};

struct HostFunctionState {
  std::vector<Graph::HostFunctionArgument> inputs, outputs;
};

/// A graph with all its content, shared by its virtual graphs and its executables.
class GraphState {
public:
  static constexpr const char *kPublicClass = "Graph";

  explicit GraphState(Machine machine, unsigned replicas = 1)
      : machine(std::move(machine)), replicas(replicas) {}

  Machine machine;   // of one replica
  unsigned replicas; // they run the same programs, each in its own memory
  std::vector<Variable> variables;
  std::vector<VertexInstance> vertices;
  std::vector<ComputeSetState> computeSets;
  std::vector<std::shared_ptr<ProgramNode>> functions;
  std::map<std::string, DataStream> streams;
  std::map<std::string, RemoteBuffer> remoteBuffers;
  std::map<std::string, HostFunctionState> hostFunctions;
  std::map<std::string, Tensor> hostWrites, hostReads;
  Tensor randomGenerators; // of the tiles; invalid until an operation draws without a seed
  std::map<std::string, VertexType> vertexTypes;
  std::vector<std::shared_ptr<CodeletLibrary>> libraries;

  /// The machine of all replicas: replica r has the r-th share of its IPUs.
  Machine wholeMachine() const;
  Tensor addVariable(Type type, std::vector<std::size_t> shape, std::string name);
  /// Adds the vertex types of a library; raises graph_object_load_error for a name that exists
  /// already.
  void addLibrary(std::shared_ptr<CodeletLibrary> library);
};

std::size_t product(const std::vector<std::size_t> &shape);
/// Raises graph_connection_error for a tensor of another graph; virtual graphs share one.
void checkOwn(const GraphState &graph, const Tensor &t);
/// Bytes of the elements of a tensor.
std::size_t bytesOf(const Tensor &t);
/// The index of a field in the type's table; raises unknown_field.
unsigned fieldIndex(const VertexType &type, const std::string &name);

} // namespace poplar::emulator

#endif
