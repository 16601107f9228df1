#ifndef poplar_Graph_hpp
#define poplar_Graph_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Assigned.hpp>
#include <poplar/CodeletFileType.hpp>
#include <poplar/ConnectionDesc.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Device.hpp>
#include <poplar/FieldData.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Interval.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/PerfEstimateFunc.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/Program.hpp>
#include <poplar/SerializationFormat.hpp>
#include <poplar/SyncType.hpp>
#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/TensorCloneMethod.hpp>
#include <poplar/Type.hpp>
#include <poplar/TypeTraits.hpp>
#include <poplar/VariableMappingMethod.hpp>
#include <poplar/Version.hpp>
#include <poplar/exceptions.hpp>
#include <poplar/replication_factor.hpp>

namespace poplar {

/// The variables, vertices and compute sets of a program, and their tiles.
class Graph {
public:
  using TileToTensorMapping = std::vector<std::vector<Interval>>;

  /// An empty graph, to which a graph is assigned.
  Graph();
  /// r: the number of replicas among which the target's IPUs are divided; the graph is that of one
  /// of them. Raises graph_replication_error if they cannot be divided.
  explicit Graph(const Target &target, replication_factor r = replication_factor(1));
  explicit Graph(const Device &device, replication_factor r = replication_factor(1));
  Graph(Graph &&) noexcept;
  Graph &operator=(Graph &&) noexcept;
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  ~Graph();

  /// The target of one replica.
  const Target &getTarget() const;
  unsigned getReplicationFactor() const;
  Graph createVirtualGraph(unsigned numTilesPerIPU);
  Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile);
  Graph createVirtualGraph(const std::vector<unsigned> &perIpuTiles);
  Graph getTopLevelGraph();

  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape,
                     const DebugContext &debugContext = {});
  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape,
                     VariableMappingMethod mappingMethod, const DebugContext &debugContext = {});
  Tensor addLinearlyTiledVariable(const Type &type, ArrayRef<std::size_t> shape,
                                  const DebugContext &debugContext = {}) {
    return addVariable(type, shape, VariableMappingMethod::LINEAR, debugContext);
  }
  template <typename T>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                     const DebugContext &debugContext = {"<const>"}) {
    const FieldData data(values);
    return addConstant(type, shape, data, debugContext);
  }
  /// One value for every element, or a pointer to a value for each.
  template <typename V, typename = typename std::enable_if<FieldData::holds<V>()>::type>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, V value,
                     const DebugContext &debugContext = {"<const>"}) {
    return addConstant(type, shape, FieldData::of(value, shape), debugContext);
  }
  /// The same, of values of another type than T: addConstant<unsigned>(UNSIGNED_INT, {}, 0).
  template <typename T, typename V,
            typename = typename std::enable_if<
                FieldData::holds<V>() && !std::is_same<T, V>::value &&
                (!std::is_pointer<V>::value || std::is_convertible<V, const T *>::value)>::type>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, V value,
                     const DebugContext &debugContext = {"<const>"}) {
    using Value = typename std::conditional<std::is_pointer<V>::value, V, T>::type;
    return addConstant(type, shape, FieldData::of(static_cast<Value>(value), shape), debugContext);
  }
  /// Numbers of a type that only its traits tell: one for every element if `broadcast` is true,
  /// else one for each.
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, const void *values,
                     const TypeTraits &traits, bool broadcast,
                     const DebugContext &debugContext = {"<const>"}) {
    return addConstant(type, shape, FieldData::of(values, traits, broadcast, shape), debugContext);
  }
  /// The values are binary16 bits.
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, std::uint16_t value,
                         const DebugContext &debugContext = {"<const>"});
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const std::uint16_t *values,
                         const DebugContext &debugContext = {"<const>"});

  /// Returns the number of the replica, UNSIGNED_INT {}. Like every constant, it has no tile yet.
  Tensor addReplicationIndexConstant(const DebugContext &debugContext = {});

  Tensor clone(const Type &type, const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor clone(const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

  /// n clones of t along a new first dimension.
  Tensor cloneN(const Type &type, const Tensor &t, unsigned n,
                const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor cloneN(const Tensor &t, unsigned n, const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

  void setTileMapping(VertexRef v, unsigned tileNum);
  void setTileMapping(const Tensor &t, unsigned tileNum);
  void setTileMapping(const Tensor &t, const TileToTensorMapping &mapping);
  TileToTensorMapping getTileMapping(const Tensor &t, bool requireComplete = true) const;
  TileToTensorMapping getTileMapping(const Tensor &t, bool *isComplete) const;
  std::vector<std::vector<Interval>>
  getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions,
                             bool removeAliasedIntervals = false,
                             std::vector<std::size_t> *aliases = nullptr) const;
  void reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool requireSimplestOrder = true) const;
  Tensor findUnbroadcastTensor(const Tensor &t) const;

  ComputeSet addComputeSet(const DebugContext &debugContext = {});
  using ConnectionDesc = poplar::ConnectionDesc;
  VertexRef addVertex(ComputeSet cs, StringRef vertexType);
  VertexRef addVertex(ComputeSet cs, StringRef vertexType, ArrayRef<ConnectionDesc> connections);
  void connect(FieldRef field, const Tensor &tensor);
  void connect(FieldRef field, ArrayRef<Tensor> tensors);
  /// Creates a constant for this field, on the tile of the vertex.
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>() &&
                                                           !std::is_pointer<T>::value>::type>
  void connect(FieldRef field, T value) {
    connectValue(field, FieldData(value));
  }
  void setFieldSize(FieldRef field, std::size_t size);
  /// Values are binary16 bits.
  void setInitialValueHalf(FieldRef field, std::uint16_t bits);
  void setInitialValueHalf(const Tensor &t, std::uint16_t bits);
  void setInitialValueHalf(const Tensor &t, ArrayRef<std::uint16_t> bits);
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>()>::type>
  void setInitialValue(FieldRef field, T value) {
    setInitialFieldValue(field, FieldData(value));
  }
  template <typename T> void setInitialValue(FieldRef field, ArrayRef<T> values) {
    setInitialFieldValue(field, FieldData(values));
  }
  template <typename T, typename A>
  void setInitialValue(FieldRef field, const std::vector<T, A> &values) {
    setInitialFieldValue(field, FieldData(values));
  }
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>()>::type>
  void setInitialValue(const Tensor &t, T value) {
    setInitialTensorValue(t, FieldData::of(value, t.shape()));
  }
  template <typename T> void setInitialValue(const Tensor &t, ArrayRef<T> values) {
    setInitialTensorValue(t, FieldData(values));
  }
  template <typename T, typename A>
  void setInitialValue(const Tensor &t, const std::vector<T, A> &values) {
    setInitialTensorValue(t, FieldData(values));
  }

  void setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops = 0);
  void setCycleEstimate(const VertexRef &v, std::uint64_t cycles) { setPerfEstimate(v, cycles); }
  VertexPerfEstimate getPerfEstimate(const VertexRef &v) const;
  void registerPerfEstimator(StringRef vertexTypeName, PerfEstimateFunc f);

  /// Compiles codelets and adds their vertices. `src` is a path. Raises file_load_error, link_error
  /// (with the compiler's output), graph_object_load_error.
  bool addCodelets(StringRef src, CodeletFileType type = CodeletFileType::Auto,
                   StringRef compileFlags = "", StringRef targetName = "");
  bool addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags,
                   std::ostream &compileOutput, StringRef targetName = "");
  bool addCodelets(ArrayRef<std::string> xs, StringRef compileFlags = "");
  void addCodelets(std::stringstream &stream, StringRef compileFlags = "",
                   CodeletFileType type = CodeletFileType::CppSource, StringRef targetName = "");
  void addCodelets(std::stringstream &stream, StringRef compileFlags, std::ostream &compileOutput,
                   CodeletFileType type = CodeletFileType::CppSource, StringRef targetName = "");
  bool hasCodelet(StringRef codeletName) const;

  DataStream
  addHostToDeviceFIFO(StringRef handle, const Type &elementType, std::size_t numElements,
                      ReplicatedStreamMode replicatedMode = ReplicatedStreamMode::REPLICATE,
                      const OptionFlags &options = {});
  DataStream addDeviceToHostFIFO(StringRef handle, const Type &elementType, std::size_t numElements,
                                 const OptionFlags &options = {});
  RemoteBuffer addRemoteBuffer(StringRef handle, const Type &elementType, std::size_t numElements,
                               std::size_t repeats = 1, bool rearrangeOnHost = false,
                               bool optimiseMemory = false);
  void createHostWrite(StringRef handle, const Tensor &t, bool rearrangeOnHost = false);
  void createHostRead(StringRef handle, const Tensor &t, bool rearrangeOnHost = false);
  Function addFunction(const program::Program &program);
  /// Type and number of elements of an argument of a host function.
  using HostFunctionArgument = std::tuple<Type, std::size_t>;
  HostFunction addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                               ArrayRef<HostFunctionArgument> outputs);

  /// Writes graphs in the dot language: of vertices and their connections, and of the compute sets
  /// that the programs execute, in order.
  void outputVertexGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const;
  void outputComputeGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const;
  /// Writes an executable of this emulator; JSON is not emulated and raises poplar_error.
  void serialize(std::ostream &out, ArrayRef<program::Program> progs,
                 SerializationFormat format) const;
  void serialize(std::ostream &out, SerializationFormat format) const;

  // For internal use.
  const std::shared_ptr<emulator::GraphState> &getState() const;
  /// Returns the machine's tile of tile `t` of this graph. Raises invalid_tile_mapping.
  unsigned physicalTile(unsigned t) const;

private:
  Graph(std::shared_ptr<emulator::GraphState> state, std::vector<unsigned> tiles, Target target);
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, const FieldData &values,
                     const DebugContext &debugContext);
  void connectValue(const FieldRef &field, const FieldData &value);
  void setInitialFieldValue(const FieldRef &field, const FieldData &value);
  void setInitialTensorValue(const Tensor &t, const FieldData &value);

  emulator::Assigned<emulator::GraphState> state;
  std::vector<unsigned> tiles; // by tile of this graph: tile of the machine
  Target target;
};

} // namespace poplar

#endif
