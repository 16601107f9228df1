// Cases of engine.cpp: graphs of graphs, element types and reports.
#ifndef IPULSE_TESTS_ENGINE_GRAPHS_H
#define IPULSE_TESTS_ENGINE_GRAPHS_H

const std::map<std::string, void (*)()> graphCases{
    {"virtual_graph",
     [] {
       Device device = attached(2);
       Graph graph(device);
       Graph second = graph.createVirtualGraph(1472, 2944);
       Graph odd = graph.createVirtualGraph(std::vector<unsigned>{1, 3});
       const Tensor t = second.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR);
       std::cout << second.getTarget().getNumTiles() << ' ' << odd.getTarget().getNumTiles() << ' '
                 << odd.getTarget().getNumIPUs() << ' ' << graph.getTileMapping(t)[1472 + 3].size()
                 << ' ' << second.getTileMapping(t)[3][0] << '\n';
     }},
    {"clone",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {2, 3}, "a", 4);
       const Tensor b = a.transpose().broadcast(2, 0);
       const Tensor kept = f.graph.clone(b, {}, TensorCloneMethod::PRESERVE_ORDER_AND_ALIASES);
       const Tensor fresh = f.graph.clone(b);
       const Tensor gathered = f.graph.clone(
           HALF, b, "g", TensorCloneMethod::GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES);
       std::cout << kept.containsAliases() << fresh.containsAliases() << fresh.isContiguous()
                 << gathered.elementType() << f.graph.clone(a.transpose()).isContiguous()
                 << f.graph.getTileMapping(fresh)[4].size() << '\n';
     }},
    {"vectors_of_scalars",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {3}, "a"), doubled = f.variable(FLOAT, {3}, "doubled");
       const Tensor counts = f.variable(INT, {3}, "counts");
       f.graph.setInitialValue(counts, 10);
       const ComputeSet cs = f.graph.addComputeSet("cs");
       const VertexRef v = f.graph.addVertex(cs, "Scalars", {{"in", a}, {"counts", counts}});
       for (unsigned i = 0; i < 3; ++i)
         f.graph.connect(v["doubled"][i], doubled[i]);
       f.graph.setTileMapping(v, 0);
       f.graph.createHostRead("counts", counts);
       f.graph.createHostWrite("a", a);
       f.graph.createHostRead("doubled", doubled);
       Engine engine(f.graph, Execute(cs));
       engine.load(f.device);
       std::vector<float> values{0, 1, 2};
       std::vector<int> whole(3);
       engine.writeTensor("a", values.data(), values.data() + 3);
       engine.run();
       engine.readTensor("doubled", values.data(), values.data() + 3);
       engine.readTensor("counts", whole.data(), whole.data() + 3);
       values.insert(values.end(), whole.begin(), whole.end());
       print(values);
     }},
    {"regions",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {8}, "a");
       const Tensor b = concat(a.slice(4, 8), a.slice(0, 4));
       for (const auto &group : f.graph.getSortedContiguousRegions(b, {Interval(0, 8)}))
         for (const Interval &i : group)
           std::cout << i << ' ';
       Tensor c = b;
       f.graph.reorderToSimplify(&c, {});
       std::cout << c.isContiguous() << '\n';
     }},
    {"data_dependent_cost",
     [] {
       std::cout << cyclesOfLoop(0) << ' ' << cyclesOfLoop(10) << ' ' << cyclesOfLoop(20) << ' '
                 << cyclesOfLoop(0, true) << '\n';
     }},
    {"half",
     [] {
       // Every finite half is what it was after a conversion to float and back.
       unsigned wrong = 0;
       for (unsigned bits = 0; bits < 0x10000; ++bits) {
         if ((bits & 0x7c00) == 0x7c00)
           continue;
         const auto h = static_cast<std::uint16_t>(bits);
         wrong += half::fromFloat(half::toFloat(h)) != h;
       }
       Fixture f;
       const Tensor bits = f.variable(HALF, {2}, "bits");
       f.graph.setInitialValueHalf(bits, ArrayRef<std::uint16_t>({0x3c00, 0xc000}));
       Engine engine(f.graph, PrintTensor("bits", bits));
       engine.setPrintTensorStream(std::cout);
       engine.load(f.device);
       engine.run();
       std::cout << wrong << ' ' << half(1.f / 3) << ' ' << half(65520.f) << ' ' << half(2049.f)
                 << ' ' << half(2051.f) << ' ' << half(5.9604645e-8f / 2) << '\n';
     }},
    {"report_file",
     [] {
       char directory[] = "/tmp/report-XXXXXX";
       const std::string named = mkdtemp(directory), path = named + "/profile.pop";
       const OptionFlags shown{{"showExecutionSteps", "true"}, {"showVarStorage", "true"}};
       std::ostringstream engines, files, parts, intervals;
       {
         Fixture f;
         const Tensor a = f.variable(FLOAT, {4}, "a \"1\""), s = f.variable(FLOAT, {}, "s", 9);
         const ComputeSet cs = f.graph.addComputeSet("sum");
         f.graph.setTileMapping(f.graph.addVertex(cs, "Sum", {{"in", a}, {"out", s}}), 9);
         Engine engine(f.graph, Sequence{Execute(cs), Repeat(3, Copy(s, a[0]))},
                       {{"autoReport.all", "true"}, {"autoReport.directory", named}});
         engine.load(f.device);
         engine.run(0, "first");
         engine.printProfileSummary(engines, shown);
         engine.reportIntervals(intervals);
         printProfileSummary(parts, engine.getGraphProfile(), engine.getExecutionProfile(), shown);
       }
       printGraphSummary(files, path, shown);
       printExecutionSummary(files, path.c_str(), shown);
       const pva::Report report = pva::openReport(path);
       std::cout << (engines.str() == parts.str()) << (engines.str() == files.str()) << ' '
                 << report.compilation().target().numTiles() << ' '
                 << report.execution().runs()[0].steps().size() << ' '
                 << report.compilation().programs().size() << '\n'
                 << intervals.str() << '\n';
       std::remove((named + "/profile.json").c_str());
       for (const std::function<void()> &wrong : std::initializer_list<std::function<void()>>{
                [&] { report.compilation().computeSets()[0].vertices(); },
                [&] { pva::openReport(path); },
                [&] {
                  std::ofstream(named + "/profile.json") << "{\"compilation\": [1, ";
                  pva::openReport(path);
                }})
         try {
           wrong();
         } catch (const std::exception &error) {
           std::cout << error.what() << '\n';
         }
       std::remove((named + "/profile.json").c_str());
       rmdir(directory);
     }},
    {"summary",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {4}, "a"), s = f.variable(FLOAT, {}, "s", 9);
       const ComputeSet cs = f.graph.addComputeSet("sum");
       f.graph.setTileMapping(f.graph.addVertex(cs, "Sum", {{"in", a}, {"out", s}}), 9);
       Engine engine(f.graph, Sequence({Execute(cs), PrintTensor("s", s)}));
       engine.setPrintTensorStream(std::cout);
       engine.load(f.device);
       engine.run(0, "first");
       engine.printProfileSummary(std::cout,
                                  {{"showExecutionSteps", "true"}, {"showVarStorage", "true"}});
       serializeToJSON(std::cout, engine.getProfile());
       std::cout << '\n';
     }},
};

#endif
