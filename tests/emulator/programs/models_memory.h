// Cases of models.cpp: counted cycles, memory over time, and sizes.
#ifndef IPULSE_TESTS_MODELS_MEMORY_H
#define IPULSE_TESTS_MODELS_MEMORY_H

const std::map<std::string, void (*)()> memoryCases{
    {"cycle_count",
     [] {
       Fixture f;
       Sequence prog{Copy(f.variable(FLOAT, 64, 0), f.variable(FLOAT, 64, 1))};
       f.graph.createHostRead("count", cycleCount(f.graph, prog, 3, SyncType::INTERNAL));
       Engine engine(f.graph, prog);
       engine.load(f.device);
       engine.run();
       std::uint64_t cycles = 0;
       engine.readTensor("count", &cycles, &cycles + 1);
       const ProfileValue profile = engine.getProfile();
       std::cout << cycles << ' ' << total(profile, "syncCycles") << ' '
                 << total(profile, "exchangeCycles");
     }},
    {"liveness",
     [] {
       // a -> b -> c -> d, each needed for one step only: two of them at a time.
       Fixture f;
       std::vector<Tensor> t;
       for (const char *name : {"a", "b", "c", "d"})
         t.push_back(f.variable(FLOAT, 1000, 5, name));
       f.graph.createHostWrite("a", t[0]);
       f.graph.createHostRead("d", t[3]);
       Sequence prog;
       for (unsigned i = 0; i < 3; ++i)
         prog.add(Copy(t[i], t[i + 1]));
       const ProfileValue profile = f.run(prog);
       std::cout << category(profile, 5, "variable") << ' '
                 << bytesOf(profile, 5, "notAlwaysLiveBytes") << ' ';
       for (const ProfileValue &step : profile["compilation"]["livenessProgramSteps"].asVector()) {
         const ProfileValue &memory = step["notAlwaysLiveMemory"];
         std::cout << memory["maxTileBytes"].asUint();
         for (const ProfileValue &variable : memory["variables"].asVector())
           std::cout << variable["name"].asString();
         std::cout << ' ';
       }
       for (const ProfileValue &v : profile["compilation"]["alwaysLiveVariables"].asVector())
         std::cout << v["name"].asString();
     }},
    {"liveness_in_control_flow",
     [] {
       Fixture f;
       const auto names = [&](const Program &prog) {
         Engine engine(f.graph, prog);
         const ProfileValue profile = engine.getProfile();
         std::multiset<std::string> always;
         for (const ProfileValue &v : profile["compilation"]["alwaysLiveVariables"].asVector())
           always.insert(v["name"].asString());
         for (const std::string &name : always)
           std::cout << name;
         std::cout << ' ';
       };
       const Tensor a = f.variable(FLOAT, 10, 0, "a"), b = f.variable(FLOAT, 10, 0, "b");
       const Tensor p = f.variable(BOOL, 1, 0, "p");
       const auto set = [&](const Tensor &t) {
         Sequence prog;
         popops::fill(f.graph, t, prog, 1.0f);
         return prog;
       };
       // Read at the top of a loop before it is written: kept from trip to trip, and from run to
       // run.
       names(Sequence({set(p), Repeat(3, Sequence({Copy(a, b), Copy(b, a)}))}));
       // Written first: kept by no run.
       names(Sequence({set(p), set(a), Repeat(3, Sequence({Copy(a, b), Copy(b, a)}))}));
       // Written in one branch only.
       names(Sequence({set(p), If(p[0], set(a), Sequence()), Copy(a, b)}));
       // Written half by half.
       names(Sequence({set(p), set(a.slice(0, 5)), set(a.slice(5, 10)), Copy(a, b)}));
       // A function is needed to keep what any of its callers needs.
       const Function copy = f.graph.addFunction(Copy(a, b));
       names(Sequence({set(p), set(a), Call(copy), set(a), Call(copy)}));
     }},
    {"messages",
     [] {
       // 8 floats come from elsewhere, 1 goes elsewhere: 36 bytes while the compute set runs.
       Fixture f;
       f.sum(f.variable(FLOAT, 8, 0), f.variable(FLOAT, 1, 2)[0], 1);
       const ProfileValue profile = f.run(Execute(f.cs));
       std::cout << category(profile, 1, "message") << ' '
                 << category(profile, 1, "internalExchangeCode") << ' '
                 << category(profile, 2, "internalExchangeCode");
     }},
    {"memory_shared",
     [] {
       // Five of 200,000 bytes do not fit a tile at once; two at a time do.
       Fixture f;
       std::vector<Tensor> t;
       for (unsigned i = 0; i < 5; ++i)
         t.push_back(f.variable(FLOAT, 50000, 5));
       Sequence prog;
       popops::fill(f.graph, t[0], prog, 1.0f);
       for (unsigned i = 0; i < 4; ++i)
         prog.add(Copy(t[i], t[i + 1]));
       Engine(f.graph, prog);
       std::cout << "fits ";
       for (const Tensor &one : t) // all are needed in the end
         prog.add(PrintTensor(one));
       try {
         Engine(f.graph, prog);
       } catch (const graph_memory_allocation_error &error) {
         std::cout << error.type;
       }
     }},
    {"tile_sizes",
     [] {
       for (const char *version : {"ipu1", "ipu2", "ipu21"}) {
         const Target target = Target::createIPUTarget(1, version);
         std::cout << target.getTilesPerIPU() << ' ' << target.getBytesPerTile() << ' '
                   << target.getTileClockFrequency() / 1e6 << ' ';
       }
     }},
    {"size_of_a_profile",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor a = f.variable(FLOAT, 2, 0);
       const Program turn = Copy(a.reverse(0), a);
       Sequence many;
       for (unsigned i = 0; i < 3000; ++i)
         many.add(Copy(a.reverse(0), a));
       Engine engine(f.graph, Sequence({many, Repeat(10000, turn)}));
       engine.load(f.device);
       for (unsigned i = 0; i < 3; ++i)
         engine.run();
       const ProfileValue profile = engine.getProfile();
       std::ostringstream text;
       serializeToJSON(text, profile);
       const ProfileValue &run = profile["execution"]["runs"][0];
       std::cout << text.str().size() << ' ' << profile["execution"]["runs"].size() << ' '
                 << run["steps"].size() << ' ' << run["truncated"].asBool() << ' '
                 << profile["compilation"]["livenessProgramSteps"].size() << ' '
                 << total(profile, "executions");
     }},
    {"unpacking",
     [] {
       const auto cycles = [](const std::string &type, bool rows) {
         Fixture f(Fixture::ipu());
         const Tensor in = f.variable(FLOAT, 12, 0);
         const VertexRef v = f.graph.addVertex(f.cs, type, {{"out", f.variable(FLOAT, 1, 0)[0]}});
         f.graph.connect(v["in"], rows ? in.reshape({3, 4}) : in);
         f.graph.setTileMapping(v, 0);
         return total(f.run(Execute(f.cs)), "computeCycles");
       };
       const auto ofLayout = [&](const std::string &layout, unsigned align) {
         return cycles("First<poplar::VectorLayout::" + layout + "," + std::to_string(align) + ">",
                       false);
       };
       const std::size_t plain = ofLayout("ONE_PTR", 4);
       std::cout << ofLayout("SHORT_SPAN", 4) - plain << ' ' << ofLayout("SCALED_PTR32", 4) - plain
                 << ' ' << ofLayout("SCALED_PTR64", 8) - plain << ' '
                 << ofLayout("SCALED_PTR128", 16) - plain << ' '
                 << cycles("FirstOfList", true) - cycles("FirstOfRows", true);
     }},
};

#endif
