// One vertex of every style of the files styles_*.cpp, and what it computes.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>
#include <sstream>
using namespace poplar;
using namespace poplar::program;
int main() {
  IPUModel ipuModel;
  ipuModel.numIPUs = 1;
  ipuModel.tilesPerIPU = 16;
  auto device = ipuModel.createDevice();
  Graph graph(device);
  popops::addCodelets(graph);
  graph.addCodelets({"styles_codelets.cpp"}, "-O3");
  graph.addCodelets("styles_registers.cpp");
  graph.addCodelets("styles_vectors.cpp");
  Sequence prog;
  auto show = [&](const std::string &n, Tensor t) { prog.add(PrintTensor(n, t)); };
  auto var = [&](Type ty, std::vector<size_t> s, std::string n) {
    auto t = graph.addVariable(ty, s, n);
    poputil::mapTensorLinearly(graph, t, 1, 1);
    return t;
  };
  auto cs = graph.addComputeSet("cs");
  for (auto type : {FLOAT, HALF, INT}) {
    auto x = var(type, {8}, "x"), y = var(type, {8}, "y");
    graph.setInitialValue(x, ArrayRef<float>{1, 2, 3, 4, 5, 6, 7, 8});
    graph.setInitialValue(y, 1);
    auto v = graph.addVertex(cs, poputil::templateVertex("Axpy", type), {{"x", x}, {"y", y}});
    if (type == HALF)
      graph.setInitialValue(v["a"], 2.5f);
    else
      graph.setInitialValue(v["a"], 3);
    graph.setTileMapping(v, 2);
    show("axpy", y);
  }
  for (auto type : {FLOAT, HALF}) {
    auto x = var(type, {4}, "x"), y = var(type, {4}, "y");
    graph.setInitialValue<float>(x, {-1, 2, -3, 200});
    auto v = graph.addVertex(cs, poputil::templateVertex("Relu", type), {{"in", x}, {"out", y}});
    graph.setTileMapping(v, 1);
    show("relu", y);
  }
  {
    auto x = var(FLOAT, {6}, "x"), y = var(FLOAT, {6}, "y");
    graph.setInitialValue(x, std::vector<float>{0, 1, 2, 3, 4, 5});
    graph.setInitialValue(y, 10.0f);
    auto v = graph.addVertex(cs, "VectorAxpy", {{"x", x}, {"y", y}, {"n", 6u}, {"a", 2.f}});
    graph.setTileMapping(v, 3);
    show("vaxpy", y);
  }
  {
    auto x = var(HALF, {8}, "x"), y = var(HALF, {8}, "y"), o = var(HALF, {8}, "o");
    graph.setInitialValue(x, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    graph.setInitialValue(y, -0.25f);
    auto v = graph.addVertex(cs, "HalfVec", {{"a", x}, {"b", y}, {"out", o}});
    graph.setTileMapping(v, 3);
    show("halfvec", o);
  }
  {
    auto x = var(FLOAT, {13}, "x"), y = var(FLOAT, {13}, "y");
    graph.setInitialValue(x, 9.f);
    auto v = graph.addVertex(cs, "Split", {{"in", x}, {"out", y}});
    graph.setTileMapping(v, 0);
    show("split", y);
  }
  {
    auto x = var(INT, {5}, "x"), y = var(INT, {}, "y");
    graph.setInitialValue(x, ArrayRef<int>({3, 9, -1, 4, 5}));
    auto v = graph.addVertex(cs, "Super", {{"in", x}, {"out", y}});
    graph.setTileMapping(v, 0);
    show("super", y);
  }
  {
    auto rows = var(FLOAT, {2, 3}, "rows"), out = var(FLOAT, {2, 3}, "out");
    graph.setInitialValue(rows, 2.f);
    auto v = graph.addVertex(cs, poputil::templateVertex("nested::deep::Poly", FLOAT, true, 3));
    graph.connect(v["rows"], rows);
    graph.connect(v["lists"], {out[0], out[1]});
    graph.connect(v["which"], 1u);
    graph.setInitialValue<unsigned short>(v["counts"], {4, 5});
    graph.setTileMapping(v, 5);
    show("poly", out);
  }
  for (auto type : {FLOAT, HALF}) {
    auto out = var(type, {3}, "out");
    auto name = type == HALF ? poputil::templateVertex("Lists", "half", 2, false)
                             : poputil::templateVertex("Lists", type);
    auto v = graph.addVertex(cs, name, {{"out", out}});
    graph.setFieldSize(v["indices"], 3);
    graph.setInitialValue(v["indices"][0], std::vector<unsigned>{1, 2, 3});
    graph.setInitialValue(v["indices"][2], ArrayRef<unsigned>({7}));
    graph.setInitialValue<float>(v["weights"][0], {1, 0.5f, 0.25f});
    graph.setInitialValue(v["weights"][2], std::vector<float>{2});
    graph.setTileMapping(v, 8);
    show("lists", out);
  }
  {
    auto in = var(BOOL, {3}, "in"), any = var(BOOL, {}, "any"),
         bytes = var(UNSIGNED_CHAR, {3}, "bytes");
    graph.setInitialValue(in, ArrayRef<bool>({false, true, false}));
    auto v = graph.addVertex(cs, "Flags", {{"in", in}, {"any", any}, {"bytes", bytes}});
    graph.setInitialValue(v["mode"], 1);
    graph.setTileMapping(v, 6);
    show("any", any);
    show("bytes", bytes);
  }
  {
    auto hits = var(UNSIGNED_INT, {}, "hits");
    auto v = graph.addVertex(cs, "MonteCarlo", {{"hits", hits}, {"iterations", 10000}});
    graph.setTileMapping(v, 7);
    show("hits", hits);
  }
  {
    auto t = var(UNSIGNED_INT, {2}, "t"), w = var(FLOAT, {10}, "w"), s = var(FLOAT, {}, "s");
    graph.setInitialValue(w, 0.f);
    auto v = graph.addVertex(cs, "Timed", {{"t", t}, {"work", w}, {"sum", s}});
    graph.setTileMapping(v, 9);
    show("t", t);
    show("s", s);
  }
  {
    auto t = var(UNSIGNED_INT, {9}, "registers");
    graph.setTileMapping(graph.addVertex(cs, "Registers", {{"t", t}}), 8);
    show("registers", t);
  }
  {
    auto out = var(FLOAT, {4}, "pairs"), bits = var(UNSIGNED_INT, {}, "bits");
    auto v = graph.addVertex(cs, "TypelessLists", {{"out", out}, {"bits", bits}, {"word", 6}});
    graph.setTileMapping(v, 8);
    show("pairs", out);
    show("bits", bits);
  }
  auto ok = var(BOOL, {}, "ok");
  Engine engine(graph, Sequence({Execute(cs, ok), prog, PrintTensor("ok", ok)}));
  engine.setPrintTensorStream(std::cout);
  engine.load(device);
  engine.run();
  std::ostringstream dot;
  graph.outputVertexGraph(dot, {});
  graph.outputComputeGraph(dot, {prog});
  std::cout << (dot.str().size() > 100) << "\n";
}
