// Kernels with published cycles on IPUs, in our own words; published.py compares. A line per
// figure: its name and cycles, or bytes.
#include <cstdlib>
#include <iostream>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using program::Execute;
using program::Sequence;

namespace {

const char *const kCodelets = R"(
  #include <ipudef.h>
  #include <poplar/Vertex.hpp>
  using namespace poplar;

  // The sum of 4 / (1 + x^2) over the middles of slices: a division and a few operations each.
  class QuarterCircle : public Vertex {
  public:
    Input<unsigned> slices;
    Input<float> width;
    Output<float> sum;
    Output<unsigned> cycles;
    bool compute() {
      const unsigned begin = __builtin_ipu_get_scount_l();
      float total = 0;
      for (unsigned i = 0; i < slices; ++i) {
        const float x = (i - 0.5f) * width;
        total += 4.0f / (1.0f + x * x);
      }
      *cycles = __builtin_ipu_get_scount_l() - begin;
      *sum = total;
      return true;
    }
  };

  // The same, several slices a turn of the loop.
  template <unsigned Turn> class UnrolledCircle : public Vertex {
  public:
    Input<unsigned> slices;
    Input<float> width;
    Output<float> sum;
    Output<unsigned> cycles;
    bool compute() {
      const unsigned begin = __builtin_ipu_get_scount_l();
      float total = 0;
      for (unsigned i = 0; i < slices; i += Turn) {
        #pragma GCC unroll 12
        for (unsigned k = 0; k < Turn; ++k) {
          const float x = (i + k - 0.5f) * width;
          total += 4.0f / (1.0f + x * x);
        }
      }
      *cycles = __builtin_ipu_get_scount_l() - begin;
      *sum = total;
      return true;
    }
  };
  template class UnrolledCircle<2>;
  template class UnrolledCircle<12>;

  // One step of the heat equation in three dimensions, by rows of the mesh.
  class Heat : public Vertex {
  public:
    Vector<Input<Vector<float>>> in;
    Vector<Output<Vector<float>>> out;
    const unsigned planes, rows, cells;
    const float part;
    bool compute() {
      const unsigned pitch = rows + 2;
      for (unsigned p = 1; p <= planes; ++p)
        for (unsigned r = 1; r <= rows; ++r)
          for (unsigned c = 1; c <= cells; ++c) {
            const unsigned here = p * pitch + r;
            out[(p - 1) * rows + r - 1][c - 1] =
                (1.0f - 6.0f * part) * in[here][c] +
                part * (in[here + pitch][c] + in[here - pitch][c] + in[here + 1][c] +
                        in[here - 1][c] + in[here][c + 1] + in[here][c - 1]);
          }
      return true;
    }
  };

  // a = b + q c, two numbers at a time.
  class Triad : public Vertex {
  public:
    Output<Vector<float, VectorLayout::SPAN, 8>> a;
    Input<Vector<float, VectorLayout::ONE_PTR, 8>> b, c;
    const float q;
    bool compute() {
      const float2 *x = reinterpret_cast<const float2 *>(&b[0]);
      const float2 *y = reinterpret_cast<const float2 *>(&c[0]);
      float2 *to = reinterpret_cast<float2 *>(&a[0]);
      const float2 factor = {q, q};
      for (unsigned i = 0; i < a.size() / 2; ++i)
        to[i] = x[i] + factor * y[i];
      return true;
    }
  };
)";

/// Returns a variable on a tile.
Tensor variable(Graph &graph, const Type &type, const std::vector<std::size_t> &shape,
                unsigned tile) {
  const Tensor t = graph.addVariable(type, shape);
  graph.setTileMapping(t, tile);
  graph.setInitialValue(t, 1.0f);
  return t;
}

std::uint32_t runOf(const Device &device, Graph &graph, const Sequence &prog,
                    const Tensor &cycles) {
  graph.createHostRead("cycles", cycles);
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  std::uint32_t read[2] = {0, 0};
  engine.readTensor("cycles", read, read + cycles.numElements());
  return read[0];
}

std::uint32_t quarterCircle(const Device &device, unsigned slices,
                            const std::string &type = "QuarterCircle") {
  Graph graph(device.getTarget());
  std::stringstream codelets(kCodelets);
  graph.addCodelets(codelets);
  const ComputeSet cs = graph.addComputeSet();
  const Tensor sum = variable(graph, FLOAT, {}, 0), cycles = variable(graph, UNSIGNED_INT, {1}, 0);
  const Tensor count = graph.addConstant(UNSIGNED_INT, {}, slices);
  const Tensor width = graph.addConstant(FLOAT, {}, 1.0f / static_cast<float>(slices));
  graph.setTileMapping(count, 0);
  graph.setTileMapping(width, 0);
  const VertexRef v = graph.addVertex(
      cs, type, {{"slices", count}, {"width", width}, {"sum", sum}, {"cycles", cycles[0]}});
  graph.setTileMapping(v, 0);
  return runOf(device, graph, Sequence(Execute(cs)), cycles);
}

/// Six workers of a tile, each with planes x rows x cells.
std::uint32_t heat(const Device &device, std::size_t planes, std::size_t rows, std::size_t cells) {
  Graph graph(device.getTarget());
  std::stringstream codelets(kCodelets);
  graph.addCodelets(codelets);
  const ComputeSet cs = graph.addComputeSet();
  for (unsigned worker = 0; worker < device.getTarget().getNumWorkerContexts(); ++worker) {
    const Tensor in = variable(graph, FLOAT, {(planes + 2) * (rows + 2), cells + 2}, 0);
    const Tensor out = variable(graph, FLOAT, {planes * rows, cells}, 0);
    const VertexRef v = graph.addVertex(cs, "Heat", {{"in", in}, {"out", out}});
    graph.setInitialValue(v["planes"], static_cast<unsigned>(planes));
    graph.setInitialValue(v["rows"], static_cast<unsigned>(rows));
    graph.setInitialValue(v["cells"], static_cast<unsigned>(cells));
    graph.setInitialValue(v["part"], 0.1f);
    graph.setTileMapping(v, 0);
  }
  Sequence prog{Execute(cs)};
  const Tensor cycles = cycleCount(graph, prog, 0, SyncType::INTERNAL);
  return runOf(device, graph, prog, cycles);
}

/// Six workers of a tile, each with `elements`.
std::uint32_t triad(const Device &device, std::size_t elements) {
  Graph graph(device.getTarget());
  std::stringstream codelets(kCodelets);
  graph.addCodelets(codelets);
  const ComputeSet cs = graph.addComputeSet();
  for (unsigned worker = 0; worker < device.getTarget().getNumWorkerContexts(); ++worker) {
    const VertexRef v = graph.addVertex(cs, "Triad",
                                        {{"a", variable(graph, FLOAT, {elements}, 0)},
                                         {"b", variable(graph, FLOAT, {elements}, 0)},
                                         {"c", variable(graph, FLOAT, {elements}, 0)}});
    graph.setInitialValue(v["q"], 3.0f);
    graph.setTileMapping(v, 0);
  }
  Sequence prog{Execute(cs)};
  const Tensor cycles = cycleCount(graph, prog, 0, SyncType::INTERNAL);
  return runOf(device, graph, prog, cycles);
}

/// Every tile sends `elements` to the next one.
std::uint32_t exchange(const Device &device, std::size_t elements) {
  Graph graph(device.getTarget());
  const std::size_t tiles = device.getTarget().getNumTiles();
  const Tensor from = graph.addVariable(FLOAT, {tiles, elements}),
               to = graph.addVariable(FLOAT, {tiles, elements});
  for (unsigned tile = 0; tile < tiles; ++tile) {
    graph.setTileMapping(from[tile], tile);
    graph.setTileMapping(to[tile], (tile + 1) % static_cast<unsigned>(tiles));
  }
  Sequence prog{program::Copy(from, to)};
  const Tensor cycles = cycleCount(graph, prog, 0, SyncType::INTERNAL);
  return runOf(device, graph, prog, cycles);
}

/// A table's rows by random indices, one index a lookup.
std::uint32_t gather(const Device &device, std::size_t rows, std::size_t columns,
                     std::size_t lookups) {
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  const auto plan = popops::embedding::plan(graph, FLOAT, rows, columns, {lookups}, {});
  const Tensor table =
      popops::createSliceableTensor(graph, FLOAT, {rows, columns}, {0}, {1}, plan, {});
  const Tensor offsets = popops::createIndicesTensor(graph, {0}, lookups, plan, {});
  Sequence prog;
  popops::multiSlice(graph, table, offsets, {0}, {1}, prog, plan, {});
  const Tensor cycles = cycleCount(graph, prog, 0, SyncType::INTERNAL);
  return runOf(device, graph, prog, cycles);
}

} // namespace

int main() {
  const Device device = DeviceManager().getDevice(0);
  if (!device.attach())
    return 1;
  std::cout << "slices_1000 " << quarterCircle(device, 1000) << '\n';
  std::cout << "slices_100000 " << quarterCircle(device, 100000) << '\n';
  std::cout << "turns_of_2_1000 " << quarterCircle(device, 1000, "UnrolledCircle<2>") << '\n';
  std::cout << "turns_of_12_120000 " << quarterCircle(device, 120000, "UnrolledCircle<12>") << '\n';
  std::cout << "heat_17_17_18 " << heat(device, 17, 17, 18) << '\n';
  std::cout << "triad_6144 " << triad(device, 1024) << '\n';
  std::cout << "exchange_16384 " << exchange(device, 16384) << '\n';
  std::cout << "gather_576000 " << gather(device, 44000, 15, 576000) << '\n';
  return 0;
}
