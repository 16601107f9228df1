// Cases of rules.cpp: mistakes in options of an engine, memory, streams and devices.
#ifndef IPULSE_TESTS_RULES_OF_ENGINES_H
#define IPULSE_TESTS_RULES_OF_ENGINES_H

const std::map<std::string, void (*)(Fixture &)> engineCases{
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

#endif
