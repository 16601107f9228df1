// One case for each rule that the emulator enforces: each breaks it. Prints the error's class.
#include <dlfcn.h>
#include <link.h>

#include <iostream>
#include <map>
#include <sstream>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

struct Fixture {
  Device device;
  Graph graph;
  ComputeSet cs;
  Tensor a, s;

  static Device model() {
    IPUModel m;
    m.tilesPerIPU = 4;
    return m.createDevice();
  }
  Fixture() : device(model()), graph(device.getTarget()) {
    graph.addCodelets("codelets.cpp");
    cs = graph.addComputeSet("cs");
    a = graph.addVariable(FLOAT, {8}, "a");
    s = graph.addVariable(FLOAT, {2}, "s");
    graph.setTileMapping(a, 0);
    graph.setTileMapping(s, 1);
  }
  VertexRef sum(const Tensor &in, const Tensor &out, unsigned tile = 0) {
    const VertexRef v = graph.addVertex(cs, "Sum", {{"in", in}, {"out", out}});
    graph.setTileMapping(v, tile);
    return v;
  }
  void compile(const OptionFlags &options = {}) { Engine(graph, Execute(cs), options); }
};

#include "rules_of_engines.h"

const std::map<std::string, void (*)(Fixture &)> cases{
    {"nothing", [](Fixture &f) { f.sum(f.a, f.s[0]), f.sum(f.a, f.s[1], 2), f.compile(); }},
    {"unmapped_tensor",
     [](Fixture &f) { f.sum(f.graph.addVariable(FLOAT, {8}, "lost"), f.s[0]), f.compile(); }},
    {"unmapped_vertex",
     [](Fixture &f) {
       f.graph.addVertex(f.cs, "Sum", {{"in", f.a}, {"out", f.s[0]}});
       f.compile();
     }},
    {"unmapped_copy",
     [](Fixture &f) { Engine(f.graph, Copy(f.a, f.graph.addVariable(FLOAT, {8}))); }},
    {"tensor_tile_out_of_range", [](Fixture &f) { f.graph.setTileMapping(f.a, 4); }},
    {"vertex_tile_out_of_range", [](Fixture &f) { f.sum(f.a, f.s[0], 4); }},
    {"virtual_tile_out_of_range",
     [](Fixture &f) { f.graph.createVirtualGraph(2, 4).setTileMapping(f.a, 2); }},
    {"element_on_two_tiles", [](Fixture &f) { f.graph.setTileMapping(f.a, {{{0, 8}}, {{4, 6}}}); }},
    {"two_writers", [](Fixture &f) { f.sum(f.a, f.s[0]), f.sum(f.a, f.s[0], 1), f.compile(); }},
    {"writer_and_reader", [](Fixture &f) { f.sum(f.a, f.s[0]), f.sum(f.s, f.a[0]), f.compile(); }},
    {"unknown_vertex", [](Fixture &f) { f.graph.addVertex(f.cs, "Product"); }},
    {"template_not_instantiated",
     [](Fixture &f) { f.graph.addVertex(f.cs, "tests::Scale<int,true>"); }},
    {"unknown_field", [](Fixture &f) { f.graph.addVertex(f.cs, "Sum", {{"input", f.a}}); }},
    {"unconnected_field",
     [](Fixture &f) {
       f.graph.setTileMapping(f.graph.addVertex(f.cs, "Sum", {{"in", f.a}}), 0);
       f.compile();
     }},
    {"wrong_type", [](Fixture &f) { f.sum(f.graph.addVariable(HALF, {8}), f.s[0]); }},
    {"vector_to_scalar", [](Fixture &f) { f.sum(f.a, f.s); }},
    {"matrix_to_vector", [](Fixture &f) { f.sum(f.a.reshape({2, 4}), f.s[0]); }},
    {"connected_twice",
     [](Fixture &f) {
       const VertexRef v = f.sum(f.a, f.s[0]);
       f.graph.connect(v["in"], f.a.slice(0, 4));
     }},
    {"element_connected_twice",
     [](Fixture &f) {
       const VertexRef v = f.graph.addVertex(f.cs, "Pick");
       f.graph.connect(v["rows"][0], f.a);
       f.graph.connect(v["rows"][0], f.a);
     }},
    {"element_never_connected",
     [](Fixture &f) {
       const VertexRef v = f.graph.addVertex(f.cs, "Pick", {{"sum", f.s[0]}});
       f.graph.setFieldSize(v["rows"], 2);
       f.graph.connect(v["rows"][0], f.a);
       f.graph.setInitialValue(v["column"], std::vector<unsigned>{0, 0});
       f.graph.setTileMapping(v, 0);
       f.compile();
     }},
    {"size_not_kept",
     [](Fixture &f) {
       const VertexRef v = f.graph.addVertex(f.cs, "Pick");
       f.graph.setFieldSize(v["rows"], 2);
       f.graph.connect(v["rows"], f.a.reshape({4, 2}));
     }},
    {"scalar_has_no_size", [](Fixture &f) { f.graph.setFieldSize(f.sum(f.a, f.s[0])["out"], 2); }},
    {"constant_of_other_size",
     [](Fixture &f) { f.graph.addConstant<float>(FLOAT, {3}, {1.f, 2.f}); }},
    {"initial_value_of_other_size",
     [](Fixture &f) { f.graph.setInitialValue<float>(f.s, {1.f, 2.f, 3.f}); }},
    {"cross_replica_copy",
     [](Fixture &f) { CrossReplicaCopy(f.a, f.a.reverse(0), {{0, 1}, {1, 0}}); }},
    {"unknown_intrinsic",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\n"
                                "struct V : poplar::Vertex { bool compute() { "
                                "return __builtin_ipu_no_such_thing(1); } };");
       std::ostringstream words;
       f.graph.addCodelets(source, "", words);
     }},
    {"unknown_register",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\n"
                                "struct V : poplar::Vertex { bool compute() { "
                                "return __builtin_ipu_get(99); } };");
       std::ostringstream words;
       f.graph.addCodelets(source, "", words);
     }},
    {"inline_assembly",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\n"
                                "struct V : poplar::Vertex { bool compute() { "
                                "asm volatile(\"setzi $m0, 1\"); return true; } };");
       std::ostringstream words;
       f.graph.addCodelets(source, "", words);
     }},
    {"graph_as_json",
     [](Fixture &f) {
       std::ostringstream out;
       f.graph.serialize(out, SerializationFormat::JSON);
     }},
    {"value_into_edge", [](Fixture &f) { f.graph.setInitialValue(f.sum(f.a, f.s[0])["in"], 1.f); }},
    {"scalar_into_a_row_of_values",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
                                "struct V : Vertex { Vector<Vector<int>> rows; "
                                "bool compute() { return rows.size() > 1; } };");
       f.graph.addCodelets(source);
       f.graph.setInitialValue(f.graph.addVertex(f.cs, "V")["rows"][1], 2);
     }},
    {"tensor_into_value",
     [](Fixture &f) {
       f.graph.connect(f.graph.addVertex(f.cs, "tests::Scale<float,true>")["factor"], f.s[0]);
     }},
    {"output_to_constant",
     [](Fixture &f) { f.sum(f.a, f.graph.addConstant<float>(FLOAT, {}, 1.f)); }},
    {"output_twice_the_same",
     [](Fixture &f) { f.graph.addVertex(f.cs, "WriteHalf", {{"out", f.s[0].broadcast(2, 0)}}); }},
    {"output_with_aliases",
     [](Fixture &f) { f.graph.addVertex(f.cs, "WriteHalf", {{"out", f.s.broadcast(2, 0)}}); }},
    {"short_span_too_long",
     [](Fixture &f) {
       const Tensor t = f.graph.addVariable(FLOAT, {2048}, VariableMappingMethod::LINEAR);
       f.graph.setTileMapping(f.graph.addVertex(f.cs, "Short", {{"in", t}, {"out", f.s[0]}}), 0);
       f.compile();
     }},
    {"copy_of_other_size", [](Fixture &f) { Copy(f.a, f.s); }},
    {"copy_of_other_type", [](Fixture &f) { Copy(f.a, f.graph.addVariable(INT, {8})); }},
    {"copy_to_constant",
     [](Fixture &f) { Copy(f.s, f.graph.addConstant<float>(FLOAT, {2}, 1.f)); }},
    {"slice_out_of_range", [](Fixture &f) { f.a.slice(4, 9); }},
    {"index_out_of_range", [](Fixture &f) { f.a[8]; }},
    {"reshape_to_other_size", [](Fixture &f) { f.a.reshape({3, 3}); }},
    {"concat_of_other_types", [](Fixture &f) { concat(f.a, f.graph.addVariable(INT, {8})); }},
    {"concat_of_two_graphs", [](Fixture &f) { concat(f.a, Fixture().a); }},
    {"copy_of_another_graph",
     [](Fixture &f) {
       Fixture other;
       Engine(f.graph, Copy(other.a, f.a));
     }},
    {"field_of_another_graph", [](Fixture &f) { f.sum(Fixture().a, f.s[0]); }},
    {"mapping_of_another_graph", [](Fixture &f) { f.graph.setTileMapping(Fixture().a, 0); }},
    {"default_tensor", [](Fixture &) { Tensor().flatten(); }},
    {"missing_codelet_file", [](Fixture &f) { f.graph.addCodelets("none.cpp"); }},
    {"assembly_codelet", [](Fixture &f) { f.graph.addCodelets("none.S"); }},
    {"codelets_of_another_popc",
     [](Fixture &f) {
       // Any shared object will do.
       link_map *other = nullptr;
       dlinfo(dlopen("libm.so.6", RTLD_LAZY), RTLD_DI_LINKMAP, &other);
       f.graph.addCodelets(other->l_name, CodeletFileType::Object);
     }},
    {"codelet_writes_input",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\n"
                                "struct V : poplar::Vertex { poplar::Input<poplar::Vector<float>> "
                                "in; bool compute() { in[0] = 1; return true; } };");
       std::ostringstream words;
       f.graph.addCodelets(source, "", words);
     }},
    {"one_ptr_has_no_size",
     [](Fixture &f) {
       std::stringstream source(
           "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
           "struct V : Vertex { Input<Vector<float, VectorLayout::ONE_PTR>> in; "
           "bool compute() { return in.size() == 0; } };");
       std::ostringstream words;
       f.graph.addCodelets(source, "", words);
     }},
    {"codelet_defined_twice",
     [](Fixture &f) {
       std::stringstream source("#include <poplar/Vertex.hpp>\n"
                                "struct Sum : poplar::Vertex { bool compute() { return true; } };");
       f.graph.addCodelets(source);
     }},
};

} // namespace

int main(int argc, char **argv) {
  auto all = cases;
  all.insert(engineCases.begin(), engineCases.end());
  if (argc < 2) {
    for (const auto &one : all)
      std::cout << one.first << '\n';
    return 0;
  }
  try {
    Fixture fixture;
    all.at(argv[1])(fixture);
    std::cout << "no error\n";
  } catch (const poplar_error &error) {
    std::cout << error.type << '\n' << error.what() << '\n';
  }
}
