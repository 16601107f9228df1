// Programs of the kind that research repositories have, small: prints their results.
#include <cstdint>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <popops/AllTrue.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr unsigned kTiles = 8;

struct Machine {
  Device device;
  Graph graph;
  static Device model() {
    IPUModel m;
    m.tilesPerIPU = kTiles;
    return m.createDevice();
  }
  Machine() : device(model()), graph(device) {
    graph.addCodelets("academic_codelets.cpp", CodeletFileType::Auto, "-O3 -DUNUSED=1");
    popops::addCodelets(graph);
    poprand::addCodelets(graph);
  }
  template <typename T> std::vector<T> run(const Program &prog, const Tensor &t) {
    graph.createHostRead("result", t);
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::vector<T> values(t.numElements());
    engine.readTensor("result", values.data(), values.data() + values.size());
    return values;
  }
};

template <typename T> void print(const std::vector<T> &values) {
  for (const T &v : values)
    std::cout << v << ' ';
  std::cout << '\n';
}

/// Two grids in turn, a block of rows a tile; a hot top edge.
void stencil() {
  Machine m;
  constexpr unsigned kRows = 16, kWidth = 5, kSteps = 40;
  const std::size_t block = kRows / kTiles;
  Tensor a = m.graph.addVariable(FLOAT, {kRows, kWidth}, "a");
  Tensor b = m.graph.addVariable(FLOAT, {kRows, kWidth}, "b");
  const Tensor hot = m.graph.addConstant<float>(FLOAT, {kWidth}, 1.f, "hot");
  const Tensor cold = m.graph.addConstant<float>(FLOAT, {kWidth}, 0.f, "cold");
  m.graph.setTileMapping(hot, 0);
  m.graph.setTileMapping(cold, kTiles - 1);
  m.graph.setInitialValue(a, 0.f);
  for (unsigned t = 0; t < kTiles; ++t)
    for (const Tensor &grid : {a, b})
      m.graph.setTileMapping(grid.slice(t * block, (t + 1) * block), t);
  const auto step = [&](const Tensor &from, const Tensor &to) {
    const ComputeSet cs = m.graph.addComputeSet("jacobi");
    for (unsigned t = 0; t < kTiles; ++t) {
      const std::size_t r = t * block;
      const VertexRef v = m.graph.addVertex(cs, "Jacobi",
                                            {{"above", r ? from[r - 1] : hot},
                                             {"block", from.slice(r, r + block).flatten()},
                                             {"below", r + block < kRows ? from[r + block] : cold},
                                             {"next", to.slice(r, r + block).flatten()}});
      m.graph.setInitialValue(v["width"], kWidth);
      m.graph.setTileMapping(v, t);
    }
    return Execute(cs);
  };
  print(m.run<float>(Repeat(kSteps / 2, Sequence({step(a, b), step(b, a)})), a));
}

/// Breadth-first search over a ring with chords, until no tile changes anything.
void search() {
  Machine m;
  constexpr unsigned kNodes = 24, kPerTile = kNodes / kTiles;
  const Tensor known = m.graph.addVariable(UNSIGNED_INT, {kNodes}, "known");
  const Tensor next = m.graph.clone(known, "next");
  std::vector<unsigned> start(kNodes, ~0u);
  start[5] = 0;
  m.graph.setInitialValue<unsigned>(known, start);
  const ComputeSet cs = m.graph.addComputeSet("relax");
  for (unsigned t = 0; t < kTiles; ++t) {
    std::vector<unsigned> first{0}, source;
    for (unsigned n = t * kPerTile; n < (t + 1) * kPerTile; ++n) {
      source.push_back((n + kNodes - 1) % kNodes);
      if (n % 4 == 0)
        source.push_back((n + 9) % kNodes);
      first.push_back(static_cast<unsigned>(source.size()));
    }
    const auto constant = [&](const std::vector<unsigned> &values) {
      const Tensor c = m.graph.addConstant<unsigned>(UNSIGNED_INT, {values.size()}, values);
      m.graph.setTileMapping(c, t);
      return c;
    };
    const Tensor own = next.slice(t * kPerTile, (t + 1) * kPerTile);
    m.graph.setTileMapping(own, t);
    m.graph.setTileMapping(known.slice(t * kPerTile, (t + 1) * kPerTile), t);
    const VertexRef v = m.graph.addVertex(cs, "Relax");
    m.graph.connect(v["first"], constant(first));
    m.graph.connect(v["source"], constant(source));
    m.graph.connect(v["known"], known);
    m.graph.connect(v["next"], own);
    m.graph.setInitialValue(v["base"], t * kPerTile);
    m.graph.setTileMapping(v, t);
  }
  const Tensor settled = m.graph.addVariable(BOOL, {}, VariableMappingMethod::LINEAR, "settled");
  print(m.run<unsigned>(RepeatWhileFalse(Execute(cs, settled), settled, Copy(next, known)), known));
}

/// Leaky sums of sparse events, two types of weights.
void events() {
  for (const Type &type : {FLOAT, HALF}) {
    Machine m;
    const Tensor weights = m.graph.addVariable(type, {4, 6}, "weights");
    const Tensor sums = m.graph.addVariable(type, {4}, "sums");
    const Tensor ids = m.graph.addVariable(FLOAT, {6}, "ids");
    const Tensor count = m.graph.addVariable(FLOAT, {1}, "count");
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 0.f);
    m.graph.setInitialValue(weights, ArrayRef<float>(values));
    m.graph.setInitialValue(sums, 8.0f);
    m.graph.setInitialValue(ids, ArrayRef<float>({5.f, 2.f, 0.f, 0.f, 0.f, 0.f}));
    m.graph.setInitialValue(count, 2.f);
    const ComputeSet cs = m.graph.addComputeSet("sum");
    for (unsigned i = 0; i < 2; ++i) {
      const Tensor rows = weights.slice(2 * i, 2 * i + 2), own = sums.slice(2 * i, 2 * i + 2);
      m.graph.setTileMapping(rows, 3 + i);
      m.graph.setTileMapping(own, 3 + i);
      const VertexRef v = m.graph.addVertex(cs, poputil::templateVertex("SparseSum", type),
                                            {{"ids", ids}, {"count", count[0]}, {"sums", own}});
      m.graph.setFieldSize(v["weights"], 2);
      for (unsigned r = 0; r < 2; ++r)
        m.graph.connect(v["weights"][r], rows[r]);
      m.graph.setInitialValue(v["decay"], 0.5f);
      m.graph.setTileMapping(v, 3 + i);
    }
    m.graph.setTileMapping(ids, 0);
    m.graph.setTileMapping(count, 0);
    const Tensor out = m.graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "out");
    Sequence prog({Execute(cs)});
    popops::mapWithOutput(m.graph, popops::expr::Cast(popops::expr::_1, FLOAT), {sums}, out, prog);
    print(m.run<float>(prog, out));
  }
}

/// Odd-even transposition: two compute sets in a loop, and a test that it is sorted.
void sorting() {
  Machine m;
  constexpr unsigned kN = 9;
  const Tensor t = m.graph.addVariable(INT, {kN}, "numbers");
  m.graph.setInitialValue<int>(t, {9, -3, 7, 0, 5, 5, -8, 2, 1});
  for (unsigned i = 0; i < kN; ++i)
    m.graph.setTileMapping(t[i], i % kTiles);
  Sequence round;
  for (const unsigned odd : {0u, 1u}) {
    const ComputeSet cs = m.graph.addComputeSet(odd ? "odd" : "even");
    for (unsigned i = odd; i + 1 < kN; i += 2) {
      const VertexRef v = m.graph.addVertex(cs, "CompareExchange");
      m.graph.connect(v["low"], t[i]);
      m.graph.connect(v["high"], t[i + 1]);
      m.graph.setTileMapping(v, i % kTiles);
    }
    round.add(Execute(cs));
  }
  Sequence test;
  const Tensor ordered = popops::allTrue(
      m.graph, popops::lteq(m.graph, t.slice(0, kN - 1), t.slice(1, kN), test), test);
  print(m.run<int>(RepeatWhileFalse(test, ordered, round), t));
}

/// Matrix by vector: a partial product of a part of the columns on each tile, then a reduction.
void product() {
  Machine m;
  constexpr unsigned kRows = 3, kColumns = 16;
  const Tensor matrix = m.graph.addVariable(FLOAT, {kRows, kColumns}, "matrix");
  const Tensor in = m.graph.addVariable(FLOAT, {kColumns}, "in");
  const Tensor partial = m.graph.addVariable(FLOAT, {kTiles, kRows}, "partial");
  std::vector<float> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), 0.f);
  m.graph.setInitialValue(matrix, ArrayRef<float>(values));
  m.graph.setInitialValue(in, ArrayRef<float>(values.data(), kColumns));
  const ComputeSet cs = m.graph.addComputeSet("dot");
  for (unsigned t = 0; t < kTiles; ++t) {
    const Interval columns(2 * t, 2 * t + 2);
    m.graph.setTileMapping(matrix.slice(columns, 1), t);
    m.graph.setTileMapping(in.slice(columns), t);
    m.graph.setTileMapping(partial[t], t);
    for (unsigned r = 0; r < kRows; ++r) {
      const VertexRef v = m.graph.addVertex(
          cs, "Dot",
          {{"a", matrix[r].slice(columns)}, {"b", in.slice(columns)}, {"out", partial[t][r]}});
      m.graph.setTileMapping(v, t);
      m.graph.setPerfEstimate(v, 40, 4);
    }
  }
  Sequence prog({Execute(cs, "dot")}, {"product"});
  const Tensor out = popops::reduce(m.graph, partial, FLOAT, {0}, popops::Operation::ADD, prog,
                                    "reduce", {{"accumType.interTile", "float"}});
  print(m.run<float>(prog, out));
}

/// Points in a quarter circle, by the generators of the tiles: each round other points.
void circle() {
  Machine m;
  const Tensor hits = m.graph.addVariable(FLOAT, {}, VariableMappingMethod::LINEAR, "hits");
  const Tensor like = m.graph.addVariable(FLOAT, {2, 400}, VariableMappingMethod::LINEAR, "like");
  m.graph.setInitialValue(hits, 0.f);
  using namespace popops::expr;
  Sequence round;
  const Tensor p = poprand::uniform(m.graph, nullptr, 0, like, FLOAT, 0., 1., round, "points");
  const Tensor inside =
      popops::map(m.graph, Cast(_1 * _1 + _2 * _2 < 1.f, FLOAT), {p[0], p[1]}, round);
  popops::reduceWithOutput(m.graph, inside, hits, {0}, {popops::Operation::ADD, true}, round);
  print(m.run<float>(Repeat(50, round), hits));
}

const std::map<std::string, void (*)()> cases{{"stencil", stencil}, {"search", search},
                                              {"events", events},   {"sorting", sorting},
                                              {"product", product}, {"circle", circle}};

} // namespace

int main(int argc, char **argv) {
  for (const auto &one : cases)
    if (argc < 2 || one.first == argv[1])
      one.second();
}
