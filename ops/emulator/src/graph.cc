#include <poplar/Graph.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <numeric>
#include <ostream>
#include <sstream>
#include <tuple>

#include <poplar/Program.hpp>

#include "codelet_cache.h"
#include "conversion.h"
#include "graph_state.h"
#include "program_node.h"

namespace poplar {

using emulator::convert;
using emulator::GraphState;
using emulator::kNoTile;
using emulator::Piece;
using emulator::product;
using emulator::Variable;
using emulator::View;

Graph::Graph(const Target &target, replication_factor r)
    : state(std::make_shared<GraphState>(target.getMachine())), tiles(target.getNumTiles()),
      target(target) {
  if (r.value != 1)
    throw graph_replication_error("replicated graphs are not emulated: use a replication factor "
                                  "of 1");
  if (tiles.empty())
    throw invalid_machine_model("a graph needs a target of at least one tile");
  std::iota(tiles.begin(), tiles.end(), 0u);
}
Graph::Graph(const Device &device, replication_factor r) : Graph(device.getTarget(), r) {}
Graph::Graph(std::shared_ptr<GraphState> state, std::vector<unsigned> tiles, Target target)
    : state(std::move(state)), tiles(std::move(tiles)), target(std::move(target)) {}
Graph::Graph(Graph &&) noexcept = default;
Graph &Graph::operator=(Graph &&) noexcept = default;
Graph::~Graph() = default;

const Target &Graph::getTarget() const { return target; }

unsigned Graph::physicalTile(unsigned t) const {
  if (t >= tiles.size())
    throw invalid_tile_mapping("tile " + std::to_string(t) + " is out of range: the graph has " +
                               std::to_string(tiles.size()) + " tiles");
  return tiles[t];
}

Graph Graph::createVirtualGraph(unsigned lowerTile, unsigned upperTile) {
  if (lowerTile >= upperTile || upperTile > tiles.size())
    throw invalid_tile_mapping("a virtual graph of tiles [" + std::to_string(lowerTile) + "," +
                               std::to_string(upperTile) + ") of a graph of " +
                               std::to_string(tiles.size()) + " tiles");
  const unsigned n = upperTile - lowerTile, perIpu = target.getTilesPerIPU();
  // Whole IPUs stay IPUs of the virtual target; any other choice of tiles is one IPU of them.
  const unsigned ipus = n % perIpu == 0 && lowerTile % perIpu == 0 ? n / perIpu : 1;
  return Graph(state, {tiles.begin() + lowerTile, tiles.begin() + upperTile},
               target.createVirtualTarget(ipus, n / ipus));
}

Graph Graph::createVirtualGraph(unsigned numTilesPerIPU) {
  std::vector<unsigned> perIpuTiles(numTilesPerIPU);
  std::iota(perIpuTiles.begin(), perIpuTiles.end(), 0u);
  return createVirtualGraph(perIpuTiles);
}

Graph Graph::createVirtualGraph(const std::vector<unsigned> &perIpuTiles) {
  std::vector<unsigned> chosen;
  for (unsigned ipu = 0; ipu < target.getNumIPUs(); ++ipu) {
    for (const unsigned tile : perIpuTiles) {
      if (tile >= target.getTilesPerIPU())
        throw invalid_tile_mapping("tile " + std::to_string(tile) +
                                   " is out of range: an IPU of "
                                   "the graph has " +
                                   std::to_string(target.getTilesPerIPU()));
      chosen.push_back(tiles[ipu * target.getTilesPerIPU() + tile]);
    }
  }
  return Graph(
      state, std::move(chosen),
      target.createVirtualTarget(target.getNumIPUs(), static_cast<unsigned>(perIpuTiles.size())));
}

Graph Graph::getTopLevelGraph() {
  std::vector<unsigned> all(state->machine.numTiles());
  std::iota(all.begin(), all.end(), 0u);
  return Graph(state, std::move(all), Target(std::make_shared<emulator::Machine>(state->machine)));
}

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape,
                          const DebugContext &debugContext) {
  return state->addVariable(type, shape.cloneAsVector(), debugContext.getPathName());
}

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape,
                          VariableMappingMethod mappingMethod, const DebugContext &debugContext) {
  const Tensor t = addVariable(type, shape, debugContext);
  if (mappingMethod == VariableMappingMethod::LINEAR) {
    const std::size_t n = t.numElements(), perTile = (n + tiles.size() - 1) / tiles.size();
    for (std::size_t i = 0; i * perTile < n; ++i)
      setTileMapping(t.flatten().slice(i * perTile, std::min(n, (i + 1) * perTile)),
                     static_cast<unsigned>(i));
  }
  return t;
}

Tensor Graph::addConstant(const Type &type, ArrayRef<std::size_t> shape, Type valueType,
                          const void *values, std::size_t n, const DebugContext &debugContext) {
  const Tensor t = addVariable(type, shape, debugContext);
  const std::size_t elements = t.numElements();
  if (n != elements && n != 1)
    throw tensor_creation_error("a constant of " + std::to_string(elements) + " elements and " +
                                std::to_string(n) + " values");
  Variable &variable = state->variables.back();
  variable.constant = true;
  const std::vector<char> bytes = convert(valueType, values, n, type);
  while (variable.initial.size() < elements * emulator::sizeOf(type))
    variable.initial.insert(variable.initial.end(), bytes.begin(), bytes.end());
  return t;
}

Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, std::uint16_t value,
                              const DebugContext &debugContext) {
  return addConstant(type, shape, HALF, &value, 1, debugContext);
}
Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                              const std::uint16_t *values, const DebugContext &debugContext) {
  return addConstant(type, shape, HALF, values, product(shape.cloneAsVector()), debugContext);
}

Tensor Graph::clone(const Type &type, const Tensor &t, const DebugContext &debugContext,
                    TensorCloneMethod method) {
  const View &from = t.view();
  const bool fresh =
      method == TensorCloneMethod::CREATE_NEW_ORDER ||
      (method == TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES && t.containsAliases());
  // The new variable holds the elements of `order`, a view without aliases.
  std::vector<Piece> order = from.pieces();
  if (!fresh) {
    std::sort(order.begin(), order.end(), [](const Piece &a, const Piece &b) {
      return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
    });
    std::vector<Piece> merged;
    for (const Piece &p : order) {
      if (!merged.empty() && merged.back().variable == p.variable && p.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, p.end);
      else
        merged.push_back(p);
    }
    order = std::move(merged);
  }
  std::size_t total = 0;
  std::vector<std::size_t> begins;
  for (const Piece &p : order) {
    begins.push_back(total);
    total += p.end - p.begin;
  }
  const Tensor whole = addVariable(type, {total}, debugContext);
  const unsigned id = whole.view().runs().empty() ? 0 : whole.view().runs()[0].variable;
  for (std::size_t i = 0; i < order.size(); ++i)
    state->variables[order[i].variable].tiles.forEach(
        order[i].begin, order[i].end, [&](std::size_t b, std::size_t e, unsigned tile) {
          const std::size_t shift = begins[i] - order[i].begin;
          state->variables[id].tiles.assign(b + shift, e + shift, tile);
        });
  if (fresh)
    return whole.reshape(t.shape());
  View result;
  from.forEachPiece([&](const Piece &p) {
    const auto at =
        std::upper_bound(order.begin(), order.end(), p,
                         [](const Piece &a, const Piece &b) {
                           return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
                         }) -
        order.begin() - 1;
    const std::size_t i = static_cast<std::size_t>(at);
    result.append({id, begins[i] + p.begin - order[i].begin, p.end - p.begin, 1});
  });
  return {state.get(), type, t.shape(), std::make_shared<View>(std::move(result))};
}

Tensor Graph::clone(const Tensor &t, const DebugContext &debugContext, TensorCloneMethod method) {
  return clone(t.elementType(), t, debugContext, method);
}

void Graph::setTileMapping(VertexRef v, unsigned tileNum) {
  state->vertices.at(v.getId()).tile = physicalTile(tileNum);
}

void Graph::setTileMapping(const Tensor &t, unsigned tileNum) {
  const unsigned tile = physicalTile(tileNum);
  t.view().forEachPiece(
      [&](const Piece &p) { state->variables[p.variable].tiles.assign(p.begin, p.end, tile); });
}

void Graph::setTileMapping(const Tensor &t, const TileToTensorMapping &mapping) {
  const Tensor flat = t.flatten();
  for (std::size_t tile = 0; tile < mapping.size(); ++tile) {
    for (const Interval &i : mapping[tile]) {
      if (i.end() > flat.numElements())
        throw invalid_tile_mapping("the mapping has an interval that ends at " +
                                   std::to_string(i.end()) + " and the tensor " +
                                   std::to_string(flat.numElements()) + " elements");
      setTileMapping(flat.slice(i), static_cast<unsigned>(tile));
    }
  }
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &t, bool *isComplete) const {
  std::vector<unsigned> virtualTile(state->machine.numTiles(), kNoTile);
  for (unsigned i = 0; i < tiles.size(); ++i)
    virtualTile[tiles[i]] = i;
  TileToTensorMapping mapping(tiles.size());
  std::size_t at = 0;
  bool complete = true;
  t.view().forEachPiece([&](const Piece &p) {
    state->variables[p.variable].tiles.forEach(
        p.begin, p.end, [&](std::size_t b, std::size_t e, unsigned physical) {
          const unsigned tile = physical == kNoTile ? kNoTile : virtualTile[physical];
          if (tile == kNoTile) {
            complete = false;
          } else {
            std::vector<Interval> &regions = mapping[tile];
            if (!regions.empty() && regions.back().end() == at)
              regions.back() = Interval(regions.back().begin(), at + (e - b));
            else
              regions.emplace_back(at, at + (e - b));
          }
          at += e - b;
        });
  });
  if (isComplete)
    *isComplete = complete;
  return mapping;
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &t, bool requireComplete) const {
  bool complete = true;
  TileToTensorMapping mapping = getTileMapping(t, &complete);
  if (requireComplete && !complete)
    throw invalid_tile_mapping("tensor " + t.getDebugStr() +
                               " has no complete tile mapping in "
                               "this graph");
  return mapping;
}

std::vector<std::vector<Interval>>
Graph::getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions,
                                  bool removeAliasedIntervals,
                                  std::vector<std::size_t> *aliases) const {
  struct Placed {
    Piece piece;
    std::size_t at;
  };
  std::vector<Placed> placed;
  const Tensor flat = t.flatten();
  for (const Interval &region : regions) {
    std::size_t at = region.begin();
    flat.slice(region).view().forEachPiece([&](const Piece &p) {
      placed.push_back({p, at});
      at += p.end - p.begin;
    });
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed &a, const Placed &b) {
    return std::tie(a.piece.variable, a.piece.begin) < std::tie(b.piece.variable, b.piece.begin);
  });
  if (aliases)
    aliases->assign(flat.numElements(), 0);
  std::vector<std::vector<Interval>> result;
  const Piece *last = nullptr;
  for (Placed &p : placed) {
    const bool same = last && last->variable == p.piece.variable;
    if (removeAliasedIntervals && same && p.piece.end <= last->end)
      continue;
    if (removeAliasedIntervals && same && p.piece.begin < last->end) {
      p.at += last->end - p.piece.begin;
      p.piece.begin = last->end;
    }
    const Interval interval(p.at, p.at + (p.piece.end - p.piece.begin));
    if (!same || last->end != p.piece.begin)
      result.emplace_back();
    std::vector<Interval> &group = result.back();
    if (!group.empty() && group.back().end() == interval.begin())
      group.back() = Interval(group.back().begin(), interval.end());
    else
      group.push_back(interval);
    last = &p.piece;
  }
  return result;
}

void Graph::reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool) const {
  const Tensor flat = t->flatten();
  std::vector<Interval> order;
  for (const std::vector<Interval> &group :
       getSortedContiguousRegions(flat, {Interval(0, flat.numElements())}))
    order.insert(order.end(), group.begin(), group.end());
  const auto reorder = [&](Tensor &one) {
    if (!order.empty())
      one = concat(one.flatten().slices(ArrayRef<Interval>(order)));
  };
  reorder(*t);
  for (Tensor *other : ts)
    reorder(*other);
}

Tensor Graph::findUnbroadcastTensor(const Tensor &t) const {
  const View &view = t.view();
  return view.runs().size() == 1 && view.runs()[0].stride == 0
             ? t.flatten().slice(0, 1).reshape(std::vector<std::size_t>(t.rank(), 1))
             : t;
}

ComputeSet Graph::addComputeSet(const DebugContext &debugContext) {
  state->computeSets.push_back({debugContext.getPathName(), {}});
  return ComputeSet(static_cast<unsigned>(state->computeSets.size()) - 1);
}

void Graph::setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops) {
  state->vertices.at(v.getId()).estimate = VertexPerfEstimate(cycles, flops);
}

VertexPerfEstimate Graph::getPerfEstimate(const VertexRef &v) const {
  const auto &estimate = state->vertices.at(v.getId()).estimate;
  if (!estimate)
    throw missing_perf_estimate("the vertex has no estimate; give it one with setPerfEstimate");
  return *estimate;
}

void Graph::registerPerfEstimator(StringRef vertexTypeName, PerfEstimateFunc f) {
  state->vertexTypes[vertexTypeName].estimator = std::move(f);
}

bool Graph::addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags,
                        StringRef targetName) {
  return addCodelets(src, type, compileFlags, std::cerr, targetName);
}

bool Graph::addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags,
                        std::ostream &compileOutput, StringRef) {
  const std::string path = src;
  if (type == CodeletFileType::Auto)
    type = getCodeletFileType(src);
  state->addLibrary(emulator::CodeletLibrary::load(
      type == CodeletFileType::Object
          ? emulator::cachedObject(path)
          : emulator::cachedCodelets({path}, type, compileFlags, compileOutput)));
  return true;
}

bool Graph::addCodelets(ArrayRef<std::string> xs, StringRef compileFlags) {
  for (const std::string &path : xs)
    addCodelets(path, CodeletFileType::Auto, compileFlags);
  return true;
}

void Graph::addCodelets(std::stringstream &stream, StringRef compileFlags, CodeletFileType type,
                        StringRef targetName) {
  addCodelets(stream, compileFlags, std::cerr, type, targetName);
}

void Graph::addCodelets(std::stringstream &stream, StringRef compileFlags,
                        std::ostream &compileOutput, CodeletFileType type, StringRef) {
  state->addLibrary(emulator::CodeletLibrary::load(
      emulator::cachedCodeletText(stream.str(), type, compileFlags, compileOutput)));
}

bool Graph::hasCodelet(StringRef codeletName) const {
  const auto found = state->vertexTypes.find(codeletName);
  return found != state->vertexTypes.end() && found->second.table;
}

DataStream Graph::addHostToDeviceFIFO(StringRef handle, const Type &elementType,
                                      std::size_t numElements, ReplicatedStreamMode,
                                      const OptionFlags &) {
  const DataStream stream(handle, elementType, numElements, DataStreamType::HostToDeviceFIFO);
  if (!state->streams.emplace(handle, stream).second)
    throw stream_connection_error("stream '" + handle.cloneAsString() + "' exists already");
  return stream;
}

DataStream Graph::addDeviceToHostFIFO(StringRef handle, const Type &elementType,
                                      std::size_t numElements, const OptionFlags &) {
  const DataStream stream(handle, elementType, numElements, DataStreamType::DeviceToHostFIFO);
  if (!state->streams.emplace(handle, stream).second)
    throw stream_connection_error("stream '" + handle.cloneAsString() + "' exists already");
  return stream;
}

RemoteBuffer Graph::addRemoteBuffer(StringRef handle, const Type &elementType,
                                    std::size_t numElements, std::size_t repeats, bool, bool) {
  const RemoteBuffer buffer(handle, elementType, numElements, repeats);
  if (!state->remoteBuffers.emplace(handle, buffer).second)
    throw stream_connection_error("remote buffer '" + handle.cloneAsString() + "' exists already");
  return buffer;
}

void Graph::createHostWrite(StringRef handle, const Tensor &t, bool) {
  t.view();
  if (!state->hostWrites.emplace(handle, t).second)
    throw stream_connection_error("host write '" + handle.cloneAsString() + "' exists already");
}

void Graph::createHostRead(StringRef handle, const Tensor &t, bool) {
  t.view();
  if (!state->hostReads.emplace(handle, t).second)
    throw stream_connection_error("host read '" + handle.cloneAsString() + "' exists already");
}

Function Graph::addFunction(const program::Program &program) {
  state->functions.push_back(program.getNode());
  return Function(static_cast<unsigned>(state->functions.size()) - 1);
}

HostFunction Graph::addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                                    ArrayRef<HostFunctionArgument> outputs) {
  if (!state->hostFunctions
           .emplace(handle,
                    emulator::HostFunctionState{inputs.cloneAsVector(), outputs.cloneAsVector()})
           .second)
    throw stream_connection_error("host function '" + handle.cloneAsString() + "' exists already");
  return HostFunction(handle);
}

void Graph::setInitialTensorValue(const Tensor &t, const FieldData &value) {
  const std::size_t n = t.numElements();
  if (value.size() != n && !value.isScalar())
    throw graph_connection_error("setInitialValue: " + std::to_string(value.size()) +
                                 " values for tensor " + t.getDebugStr());
  const std::vector<char> bytes =
      convert(value.type(), value.bytes().data(), value.size(), t.elementType());
  const std::size_t size = emulator::sizeOf(t.elementType());
  std::size_t at = 0;
  t.view().forEachPiece([&](const Piece &p) {
    Variable &variable = state->variables[p.variable];
    variable.initial.resize(variable.bytes());
    for (std::size_t e = p.begin; e < p.end; ++e, at += value.isScalar() ? 0 : size)
      std::memcpy(variable.initial.data() + e * size, bytes.data() + at, size);
  });
}

void Graph::outputVertexGraph(std::ostream &out, ArrayRef<program::Program>) const {
  out << "digraph vertices {\n";
  for (std::size_t v = 0; v < state->vertices.size(); ++v)
    out << "  v" << v << " [label=\"" << state->vertices[v].type->table->name << "\"];\n";
  out << "}\n";
}

} // namespace poplar
