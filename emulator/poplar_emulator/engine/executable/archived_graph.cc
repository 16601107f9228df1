#include "archived_graph.h"

#include <poplar/exceptions.hpp>

#include "codelets/builtin_vertices.h"
#include "codelets/codelet_cache.h"
#include "popc/shell.h"

namespace poplar::emulator {
namespace {

void put(Archive &a, View &view) {
  std::vector<Run> runs = view.runs();
  a(runs);
  if (a.reading())
    for (const Run &run : runs)
      view.append(run);
}

void put(Archive &a, std::shared_ptr<const View> &view) {
  auto own = std::make_shared<View>(view && !a.reading() ? *view : View());
  put(a, *own);
  if (a.reading())
    view = own;
}

void put(Archive &a, Variable &v) {
  a(v.type)(v.elements)(v.name)(v.constant)(v.replicaIndex)(v.initial);
  std::vector<std::size_t> ends;
  std::vector<unsigned> tiles;
  if (!a.reading())
    v.tiles.forEach(0, v.elements, [&](std::size_t, std::size_t end, unsigned tile) {
      ends.push_back(end);
      tiles.push_back(tile);
    });
  a(ends)(tiles);
  for (std::size_t i = 0, begin = 0; a.reading() && i < ends.size(); begin = ends[i++])
    v.tiles.assign(begin, ends[i], tiles[i]);
}

void put(Archive &a, GraphState &graph, VertexInstance &v) {
  std::string type = a.reading() ? "" : v.type->table->name;
  bool estimated = v.estimate.has_value();
  VertexPerfEstimate estimate = v.estimate.value_or(VertexPerfEstimate());
  a(type)(v.computeSet)(v.tile)(estimated)(estimate);
  if (a.reading()) {
    const auto found = graph.vertexTypes.find(type);
    if (found == graph.vertexTypes.end())
      throw parse_error("the executable uses vertex type '" + type + "', which it does not hold");
    v.type = &found->second;
    if (estimated)
      v.estimate = estimate;
  }
  a.size(v.fields);
  for (Connection &c : v.fields) {
    a(c.set);
    a.size(c.values);
    for (std::vector<char> &row : c.values)
      a(row);
    a.size(c.rows);
    for (auto &row : c.rows)
      put(a, row);
  }
}

void putLibraries(Archive &a, GraphState &graph) {
  std::vector<std::string> names, objects;
  if (!a.reading()) {
    for (const auto &library : graph.libraries) {
      names.push_back(library->isBuiltin() ? library->path() : "");
      objects.push_back(library->isBuiltin() ? "" : popc::readFile(library->path()));
    }
  }
  a.size(names);
  a.size(objects);
  for (std::size_t i = 0; i < names.size(); ++i)
    a(names[i])(objects[i]);
  for (std::size_t i = 0; a.reading() && i < names.size(); ++i) {
    if (names[i].empty())
      graph.addLibrary(
          CodeletLibrary::load(cachedBytes(objects[i]), "a codelet file in this executable"));
    else
      addBuiltinLibrary(graph, names[i]);
  }
}

void putStreams(Archive &a, GraphState &graph) {
  std::vector<DataStream> streams;
  std::vector<RemoteBuffer> remotes;
  for (const auto &s : graph.streams)
    streams.push_back(s.second);
  for (const auto &r : graph.remoteBuffers)
    remotes.push_back(r.second);
  a.size(streams);
  for (DataStream &s : streams) {
    std::string handle = s.handle();
    Type type = s.elementType();
    std::size_t n = s.numElements();
    DataStreamType direction = s.type();
    ReplicatedStreamMode mode = s.replicatedMode();
    a(handle)(type)(n)(direction)(mode);
    graph.streams[handle] = DataStream(handle, type, n, direction, graph.replicas, mode);
  }
  a.size(remotes);
  for (RemoteBuffer &r : remotes) {
    std::string handle = r.handle();
    Type type = r.elementType();
    std::size_t n = r.numElements(), rows = r.getRepeats();
    a(handle)(type)(n)(rows);
    graph.remoteBuffers[handle] = RemoteBuffer(handle, type, n, rows);
  }
  std::vector<std::string> functions;
  for (const auto &f : graph.hostFunctions)
    functions.push_back(f.first);
  a.size(functions);
  for (std::string &handle : functions) {
    a(handle);
    for (auto *arguments :
         {&graph.hostFunctions[handle].inputs, &graph.hostFunctions[handle].outputs}) {
      a.size(*arguments);
      for (auto &[type, elements] : *arguments)
        a(type)(elements);
    }
  }
}

void putHandles(Archive &a, GraphState &graph, std::map<std::string, Tensor> &handles) {
  std::vector<std::string> names;
  for (const auto &h : handles)
    names.push_back(h.first);
  a.size(names);
  for (std::string &name : names) {
    a(name);
    put(a, graph, handles[name]);
  }
}

} // namespace

void put(Archive &a, Machine &m) {
  a(m.version)(m.type)(m.numIPUs)(m.tilesPerIPU)(m.workers)(m.bytesPerTile)(m.clockHz);
  a(m.exchangeBytesPerCycle)(m.memcpyBytesPerCycle)(m.dataPathWidth)(m.minSyncDelay);
  a(m.maxSyncDelay)(m.globalSyncCycles)(m.atomicStoreGranularity)(m.interleavedElement);
  a(m.memoryElementOffsets)(m.rptCountMax)(m.syncCycles)(m.exchangeOverheadCycles);
  a(m.vertexOverheadBundles)(m.superviseCycles)(m.listRowBundles)(m.innerLoopBundles)(
      m.copyFixedCycles)(m.copyCyclesPerByte8);
  a(m.copyCyclesPerByte4)(m.copyCyclesPerByte2)(m.linkBytesPerSecond)(m.linksWithinCard)(
      m.linksBetweenCards)(m.hostBytesPerSecond);
  a(m.hostLatencySeconds)(m.hopSeconds)(m.stackBytesPerWorker)(m.supervisorStackBytes);
  a(m.exchangeCodeBytesPerPiece)(m.controlCodeBytesPerStep);
}

void put(Archive &a, GraphState &graph, Tensor &t) {
  bool valid = t.valid();
  a(valid);
  if (!valid)
    return;
  Type type = t.elementType();
  std::vector<std::size_t> shape = t.shape();
  View view = a.reading() ? View() : t.view();
  a(type)(shape);
  put(a, view);
  if (a.reading())
    t = Tensor(&graph, type, std::move(shape), std::make_shared<View>(std::move(view)));
}

void put(Archive &a, GraphState &graph, std::vector<Tensor> &tensors) {
  a.size(tensors);
  for (Tensor &t : tensors)
    put(a, graph, t);
}

void put(Archive &a, GraphState &graph) {
  a(graph.replicas);
  putLibraries(a, graph);
  a.size(graph.variables);
  for (Variable &v : graph.variables)
    put(a, v);
  a.size(graph.computeSets);
  for (ComputeSetState &set : graph.computeSets)
    a(set.name)(set.vertices);
  a.size(graph.vertices);
  for (VertexInstance &v : graph.vertices)
    put(a, graph, v);
  putStreams(a, graph);
  putHandles(a, graph, graph.hostWrites);
  putHandles(a, graph, graph.hostReads);
}

} // namespace poplar::emulator
