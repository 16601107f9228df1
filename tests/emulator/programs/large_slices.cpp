// Slices and updates of a table that is worked in parts of its rows, columns and lookups. Each
// result is compared with the host's: prints the number of different elements by case, for a table
// laid out by the plan and for one laid out linearly, with a lot of memory and with little.
#include <iostream>
#include <map>
#include <random>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;

namespace {

constexpr std::size_t kRows = 2001, kColumns = 5, kLookups = 15003;
constexpr unsigned kBeyond = kRows + 7; // an index of no row

struct Case {
  std::string kind;
  Tensor result;
  std::vector<float> expected;
};

struct Program {
  Graph graph;
  program::Sequence prog;
  std::vector<unsigned> indices;
  std::vector<float> first, values; // of the table and of the slices
  std::map<std::string, Case> cases;

  explicit Program(const Target &target) : graph(target) {
    popops::addCodelets(graph);
    std::mt19937 generator(7);
    std::uniform_int_distribution<unsigned> row(0, kRows - 1), number(1, 9);
    for (std::size_t i = 0; i < kLookups; ++i)
      indices.push_back(i % 1000 == 3 ? kBeyond : row(generator));
    for (std::size_t i = 0; i < kRows * kColumns; ++i)
      first.push_back(static_cast<float>(number(generator)));
    for (std::size_t i = 0; i < kLookups * kColumns; ++i)
      values.push_back(static_cast<float>(number(generator)));
  }

  Tensor constant(const std::vector<std::size_t> &shape, const std::vector<float> &of) {
    const Tensor t = graph.addConstant(FLOAT, shape, ArrayRef<float>(of));
    poputil::mapTensorLinearly(graph, t);
    return t;
  }

  /// The table after all updates on the host.
  std::vector<float> updated(const std::string &kind) const {
    std::vector<float> table = first;
    for (std::size_t i = 0; i < kLookups; ++i)
      for (std::size_t c = 0; c < kColumns && indices[i] < kRows; ++c) {
        float &to = table[indices[i] * kColumns + c];
        const float value = values[i * kColumns + c];
        to = kind == "set"   ? value
             : kind == "add" ? to + 2 * value
             : kind == "max" ? std::max(to, value)
                             : to * (value > 5 ? -1 : 1);
      }
    return table;
  }

  void add(bool planned, const std::string &memory) {
    const OptionFlags options{{"availableMemoryProportion", memory}};
    const auto plan = popops::embedding::plan(graph, FLOAT, kRows, kColumns, {kLookups}, options);
    const popops::SlicePlan none;
    const popops::SlicePlan &used = planned ? plan : none;
    const std::string name = (planned ? "planned " : "linear ") + memory + ' ';
    const Tensor offsets =
        graph.addConstant(UNSIGNED_INT, {kLookups, 1}, ArrayRef<unsigned>(indices));
    poputil::mapTensorLinearly(graph, offsets);
    const auto table = [&] {
      const Tensor t = planned ? popops::createSliceableTensor(graph, FLOAT, {kRows, kColumns}, {0},
                                                               {1}, plan, options, "table")
                               : graph.addVariable(FLOAT, {kRows, kColumns}, "table");
      if (!planned)
        poputil::mapTensorLinearly(graph, t);
      prog.add(program::Copy(constant({kRows, kColumns}, first), t));
      return t;
    };
    const Tensor read =
        popops::multiSlice(graph, table(), offsets, {0}, {1}, prog, used, options, "read");
    std::vector<float> expected;
    for (const unsigned index : indices)
      for (std::size_t c = 0; c < kColumns; ++c)
        expected.push_back(index < kRows ? first[index * kColumns + c] : -1);
    cases[name + "slice"] = {"slice", read, expected};
    const std::vector<float> signs = [&] {
      std::vector<float> of;
      for (const float value : values)
        of.push_back(value > 5 ? -1.f : 1.f);
      return of;
    }();
    for (const std::string kind : {"set", "add", "max", "mul"}) {
      const Tensor t = table();
      Tensor s = constant({kLookups, 1, kColumns}, kind == "mul" ? signs : values);
      if (planned) {
        const Tensor made = popops::createSliceTensor(graph, FLOAT, {kRows, kColumns}, {0}, {1},
                                                      kLookups, plan, options, "slices");
        prog.add(program::Copy(s, made));
        s = made;
      }
      const Tensor scale = constant({}, {2});
      if (kind == "add")
        popops::multiUpdateAdd(graph, t, s, offsets, scale, {0}, {1}, prog, used, options, kind);
      else
        (kind == "set" ? popops::multiUpdate
         : kind == "max"
             ? popops::multiUpdateMax
             : popops::multiUpdateMul)(graph, t, s, offsets, {0}, {1}, prog, used, options, kind);
      cases[name + kind] = {kind, t, updated(kind)};
    }
  }
};

/// Halves of which each takes fewer bytes than its row in a vertex, and slices of nothing.
void printOthers(const Device &device) {
  constexpr std::size_t kMany = 50001;
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  program::Sequence prog;
  const auto variable = [&](const Type &type, const std::vector<std::size_t> &shape) {
    const Tensor t = graph.addVariable(type, shape, "variable");
    poputil::mapTensorLinearly(graph, t);
    return t;
  };
  const Tensor counts = variable(HALF, {2, 1}), ones = variable(HALF, {kMany, 1, 1});
  std::vector<unsigned> last(kMany, 7); // of no row
  last[kMany - 1] = last[0] = last[3] = 1;
  const Tensor offsets = graph.addConstant(UNSIGNED_INT, {kMany, 1}, ArrayRef<unsigned>(last));
  poputil::mapTensorLinearly(graph, offsets);
  graph.setInitialValue(counts, ArrayRef<float>({4, 5}));
  graph.setInitialValue(ones, ArrayRef<float>(std::vector<float>(kMany, 1)));
  const Tensor scale = graph.addConstant(HALF, {}, 1.0f);
  graph.setTileMapping(scale, 0);
  popops::multiUpdateAdd(graph, counts, ones, offsets, scale, {0}, {1}, prog, {}, {}, "halves");
  const Tensor table = variable(FLOAT, {kMany, 2}), none = variable(UNSIGNED_INT, {0, 1});
  const Tensor read = popops::multiSlice(graph, table, none, {0}, {1}, prog, {}, {}, "none");
  popops::multiUpdate(graph, table, read, none, {0}, {1}, prog, {}, {}, "none");
  const Tensor flat = popops::multiSlice(graph, variable(FLOAT, {9, 4}),
                                         variable(UNSIGNED_INT, {3, 1}), {0}, {0}, prog, {}, {});
  const Tensor sums = popops::cast(graph, counts, FLOAT, prog);
  graph.createHostRead("sums", sums);
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  std::vector<float> found(2);
  engine.readTensor("sums", found.data(), found.data() + 2);
  const bool shapes = read.shape() == std::vector<std::size_t>{0, 1, 2} &&
                      flat.shape() == std::vector<std::size_t>{3, 0, 4};
  std::cout << "halves: " << (found == std::vector<float>{4, 8} ? "same" : "different") << '\n'
            << "of nothing: " << (shapes ? "same" : "different") << '\n';
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 48;
  Device device = model.createDevice();
  device.attach();
  printOthers(device);
  for (const bool planned : {false, true})
    for (const char *memory : {"0.6", "0.03"}) {
      Program p(device.getTarget());
      p.add(planned, memory);
      for (const auto &[name, of] : p.cases)
        p.graph.createHostRead(name, of.result);
      Engine engine(p.graph, p.prog);
      engine.load(device);
      engine.run(0);
      for (const auto &[name, of] : p.cases) {
        std::vector<float> result(of.result.numElements());
        engine.readTensor(name, result.data(), result.data() + result.size());
        std::size_t different = result.size() != of.expected.size();
        for (std::size_t i = 0; i < result.size() && !different; ++i)
          different += of.expected[i] != -1 && result[i] != of.expected[i];
        std::cout << name << ": " << (different ? "different" : "same") << '\n';
      }
    }
}
