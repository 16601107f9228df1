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
    {"unknown_option", [](Fixture &f) { f.compile({{"no.such.option", "1"}}); }},
    {"interleaved_memory",
     [](Fixture &f) {
       // Fits a tile, and not its interleaved half of 425,984 bytes.
       const Tensor wide = f.graph.addVariable(FLOAT, {110000}, "wide");
       f.graph.setTileMapping(wide, 3);
       f.graph.setTileMapping(f.graph.addVertex(f.cs, "SumWide", {{"in", wide}, {"out", f.s[0]}}),
                              3);
       f.compile();
     }},
    {"out_of_memory",
     [](Fixture &f) {
       const Tensor big = f.graph.addVariable(FLOAT, {200000}, "big");
       f.graph.setTileMapping(big, 3);
       f.compile();
     }},
    {"out_of_memory_allowed",
     [](Fixture &f) {
       f.graph.setTileMapping(f.graph.addVariable(FLOAT, {200000}, "big"), 3);
       f.compile({{"debug.allowOutOfMemory", "true"}});
     }},
    {"run_before_load", [](Fixture &f) { Engine(f.graph, Execute(f.cs)).run(); }},
    {"no_such_program",
     [](Fixture &f) {
       Engine e(f.graph, Execute(f.cs));
       e.load(f.device);
       e.run(1);
     }},
    {"stream_not_connected",
     [](Fixture &f) {
       const DataStream in = f.graph.addHostToDeviceFIFO("in", FLOAT, 8);
       Engine e(f.graph, Copy(in, f.a));
       e.load(f.device);
       e.run();
     }},
    {"stream_of_other_size",
     [](Fixture &f) { Copy(f.graph.addHostToDeviceFIFO("in", FLOAT, 7), f.a); }},
    {"stream_backwards",
     [](Fixture &f) { Copy(f.graph.addDeviceToHostFIFO("out", FLOAT, 8), f.a); }},
    {"stream_twice",
     [](Fixture &f) {
       f.graph.addHostToDeviceFIFO("in", FLOAT, 8);
       f.graph.addHostToDeviceFIFO("in", FLOAT, 8);
     }},
    {"no_such_handle",
     [](Fixture &f) {
       Engine e(f.graph, Execute(f.cs));
       e.load(f.device);
       float x;
       e.readTensor("x", &x, &x + 1);
     }},
    {"read_of_other_size",
     [](Fixture &f) {
       f.graph.createHostRead("a", f.a);
       Engine e(f.graph, Execute(f.cs));
       e.load(f.device);
       float x;
       e.readTensor("a", &x, &x + 1);
     }},
    {"float_predicate", [](Fixture &f) { If(f.s[0], Sequence(), Sequence()); }},
    {"abort",
     [](Fixture &f) {
       const Tensor yes = f.graph.addConstant<bool>(BOOL, {}, true);
       f.graph.setTileMapping(yes, 0);
       Engine e(f.graph, AbortOnCondition(yes, "no further"));
       e.load(f.device);
       e.run();
     }},
    {"unknown_ipu", [](Fixture &) { Target::createIPUTarget(1, "ipu9"); }},
    {"no_effect_in_the_model",
     [](Fixture &) {
       IPUModel m;
       m.instructionBytes = 8;
       m.createDevice();
     }},
    {"attached_elsewhere",
     [](Fixture &) {
       const DeviceManager manager;
       const Device first = manager.getDevice(0), second = manager.getDevice(0);
       const bool one = first.attach(), two = second.attach();
       first.detach();
       if (one && !two && second.attach())
         throw poplar_error("as it should be");
     }},
    {"not_attached",
     [](Fixture &) {
       const Device device = DeviceManager().getDevice(0);
       Graph graph(device);
       Engine(graph, Sequence()).load(device);
     }},
    {"damaged_executable",
     [](Fixture &) {
       std::stringstream words("no executable");
       Executable::deserialize(words);
     }},
    {"replicas", [](Fixture &f) { Graph(f.device, replication_factor(2)); }},
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    for (const auto &one : cases)
      std::cout << one.first << '\n';
    return 0;
  }
  try {
    Fixture fixture;
    cases.at(argv[1])(fixture);
    std::cout << "no error\n";
  } catch (const poplar_error &error) {
    std::cout << error.type << '\n' << error.what() << '\n';
  }
}
