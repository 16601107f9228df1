// Replicated graphs: what the host gives and gets, what replicas exchange, where they part and
// meet.
#include <map>
#include <sstream>

#include <pva/pva.hpp>

#include "replica_mistakes.h"

namespace {

/// Every collective, of seven elements: not as many as replicas, nor a multiple of them.
void collectives() {
  using gcl::CollectiveOperator;
  Replicated r;
  Graph &g = r.graph;
  const Tensor data = r.tensor("data", {7}), rows = r.tensor("rows", {4, 3});
  const Tensor place = r.tensor("place", {7}), target = r.tensor("target", {7});
  r.show("given", data);
  r.show("given_rows", rows);
  r.prog.add(Copy(data, place));
  r.show("sum", gcl::allReduceCrossReplica(g, data, CollectiveOperator::ADD, r.prog));
  r.show("mean", gcl::allReduceCrossReplica(g, data, CollectiveOperator::MEAN, r.prog));
  r.show("largest", gcl::allReduceCrossReplica(g, data, CollectiveOperator::MAX, r.prog));
  r.show("squares", gcl::allReduceCrossReplica(g, data, CollectiveOperator::SQUARE_ADD, r.prog));
  r.show("local", gcl::allReduceCrossReplica(g, data, CollectiveOperator::LOCAL, r.prog));
  gcl::allReduceInPlaceCrossReplica(g, place, CollectiveOperator::MIN, r.prog);
  r.show("in_place", place);
  gcl::allReduceToDestinationCrossReplica(g, data, target, CollectiveOperator::MUL, r.prog);
  r.show("product", target);
  r.show("scattered", gcl::reduceScatterCrossReplica(g, data, CollectiveOperator::ADD, r.prog));
  r.show("own_part", gcl::reduceScatterCrossReplica(g, data, CollectiveOperator::LOCAL, r.prog));
  r.show("gathered", gcl::allGatherCrossReplica(g, data, r.prog));
  r.show("exchanged", gcl::allToAllCrossReplica(g, rows, r.prog));
  r.show("broadcast", gcl::broadcastCrossReplica(g, data, r.prog));
  const gcl::CommGroup pairs(gcl::CommGroupType::CONSECUTIVE, 2);
  const gcl::CommGroup apart(gcl::CommGroupType::ORTHOGONAL, 2);
  r.show("of_pairs", gcl::allReduceCrossReplica(g, data, CollectiveOperator::ADD, r.prog, pairs));
  r.show("of_apart", gcl::allReduceCrossReplica(g, data, CollectiveOperator::ADD, r.prog, apart));
  const gcl::CommGroup strided(gcl::CommGroupType::CONSECUTIVE, 2, 2);
  r.show("strided", gcl::allReduceCrossReplica(g, data, CollectiveOperator::ADD, r.prog, strided));
  r.show("pairs", gcl::allGatherCrossReplica(g, data, r.prog, pairs));
  const Tensor moved = g.clone(data, "moved");
  r.prog.add(Copy(data, moved));
  r.prog.add(CrossReplicaCopy(data, moved, {{0, 3}, {1, 1}, {3, 0}}));
  r.show("moved", moved);

  // A compiled, stored and loaded program gives the same results.
  std::stringstream kept;
  compileGraph(g, {r.prog}).serialize(kept);
  Engine engine(Executable::deserialize(kept));
  engine.load(r.device);
  const std::vector<float> all = values(4 * 7), more = values(4 * 12);
  engine.writeTensor("data", all.data(), all.data() + all.size());
  for (unsigned replica = 0; replica < 4; ++replica)
    engine.writeTensor("rows", replica, more.data() + 12 * replica,
                       more.data() + 12 * replica + 12);
  engine.run();
  printShown(engine, r);
  std::vector<float> third(7);
  engine.readTensor("moved", 3, third.data(), third.data() + third.size());
  print("moved_of_3", third, 1);
}

/// Streams of both modes, callbacks, remote buffers and host functions, twice.
void host() {
  Replicated r(2, 2);
  Graph &g = r.graph;
  std::cout << "target " << g.getTarget().getNumIPUs() << ' ' << g.getTarget().getNumTiles() << ' '
            << g.getTopLevelGraph().getReplicationFactor() << ' '
            << g.createVirtualGraph(0, 2).getReplicationFactor() << '\n';
  const DataStream own = g.addHostToDeviceFIFO("own", FLOAT, 3);
  const DataStream same = g.addHostToDeviceFIFO("same", FLOAT, 3, ReplicatedStreamMode::BROADCAST);
  const DataStream called = g.addHostToDeviceFIFO("called", FLOAT, 3);
  const DataStream turns = g.addHostToDeviceFIFO("turns", FLOAT, 3);
  const DataStream back = g.addDeviceToHostFIFO("back", FLOAT, 3);
  std::cout << "streams " << own.replicationFactor() << ' '
            << (same.replicatedMode() == ReplicatedStreamMode::BROADCAST) << '\n';
  const RemoteBuffer far = g.addRemoteBuffer("far", FLOAT, 3, 2);
  const HostFunction twice = g.addHostFunction("twice", {{FLOAT, 3}}, {{FLOAT, 3}});
  const Tensor a = r.tensor("a", {3}), b = r.tensor("b", {3}), c = r.tensor("c", {3});
  const Tensor d = r.tensor("d", {3}), e = r.tensor("e", {3}), f = r.tensor("f", {3});
  r.prog.add(Copy(own, a));
  r.prog.add(Copy(same, b));
  r.prog.add(Copy(called, c));
  r.prog.add(Copy(turns, f));
  r.prog.add(Copy(far, d));
  r.prog.add(Call(twice, {a}, {e}));
  popops::addInPlace(g, a, b, r.prog);
  r.prog.add(Copy(a, back));
  r.prog.add(Copy(e, far));
  for (const auto &[name, t] : {std::pair<std::string, Tensor>{"summed", a},
                                {"same", b},
                                {"called", c},
                                {"far", d},
                                {"twice", e},
                                {"turns", f}})
    r.show(name, t);
  Engine engine = r.load();
  std::vector<float> in = values(2 * 2 * 3), shared = values(3), out(2 * 2 * 3);
  engine.connectStream("own", in.data(), in.data() + in.size());
  engine.connectStream("same", shared.data());
  engine.connectStream("back", out.data(), out.data() + out.size());
  float turn = 0;
  engine.connectStreamToCallback("turns", [&](void *p) { // for each replica in turn
    std::fill_n(static_cast<float *>(p), 3, turn++);
  });
  for (unsigned replica = 0; replica < 2; ++replica) {
    engine.connectStreamToCallback("called", replica, [replica](void *p) {
      std::fill_n(static_cast<float *>(p), 3, 10.0f * static_cast<float>(replica) + 10);
    });
    engine.connectHostFunction("twice", replica, [](ArrayRef<const void *> i, ArrayRef<void *> o) {
      for (int k = 0; k < 3; ++k)
        static_cast<float *>(o[0])[k] = 2 * static_cast<const float *>(i[0])[k];
    });
    const std::vector<float> row(3, static_cast<float>(replica) - 5);
    engine.copyToRemoteBuffer(row.data(), "far", 0, replica);
  }
  engine.run();
  engine.run();
  print("own", in, 4);
  print("shared", shared, 1);
  print("back", out, 4);
  printShown(engine, r);
}

/// Replica r goes r times round a loop, and only even ones take a branch; then all meet.
void parting() {
  Replicated r;
  Graph &g = r.graph;
  const Tensor index = r.index(), left = r.tensor("left", {}, UNSIGNED_INT);
  const Tensor going = g.addVariable(BOOL, {}, "going"), rounds = r.tensor("rounds", {1});
  const Tensor branch = r.tensor("branch", {1});
  g.setTileMapping(going, 0);
  const auto set = [&](const Tensor &t, float value) {
    const Tensor constant = g.addConstant(FLOAT, {1}, value);
    g.setTileMapping(constant, 0);
    return Copy(constant, t);
  };
  r.prog.add(Copy(index, left));
  r.prog.add(set(rounds, 0));
  Sequence test, body;
  popops::mapWithOutput(g, popops::expr::Gt(popops::expr::_1, popops::expr::Const(0u)), {left},
                        going, test);
  popops::addInPlace(g, rounds, 1.0f, body);
  popops::subInPlace(g, left, 1u, body);
  r.prog.add(RepeatWhileTrue(test, going, body));
  const Tensor odd = popops::bitwiseAnd(g, index, 1u, r.prog);
  r.prog.add(Switch(odd, {{0, set(branch, 5)}, {1, set(branch, 7)}}));
  const Tensor all = gcl::allReduceCrossReplica(g, rounds, gcl::CollectiveOperator::ADD, r.prog);
  r.prog.add(AssumeEqualAcrossReplicas(all));
  r.prog.add(PrintTensor("index", index));
  r.show("rounds", rounds);
  r.show("branch", branch);
  r.show("all", all);
  for (const char *profiled : {"0", "3"}) {
    Engine engine = r.load({{"profiler.replicaToProfile", profiled}});
    std::ostringstream printed;
    engine.setPrintTensorStream(printed);
    const auto before = engine.getTimeStamp();
    engine.run();
    const auto after = engine.getTimeStamp();
    const ProfileValue profile = engine.getProfile();
    const ProfileValue &steps = profile["execution"]["runs"][0]["steps"];
    double cycles = 0;
    for (std::size_t i = 0; i < steps.size(); ++i)
      cycles += steps[i]["ipus"][0]["cycles"].asDouble();
    std::cout << "replica " << profiled << " took " << cycles << " of "
              << after.cycles - before.cycles << '\n';
    if (*profiled == '0') {
      printShown(engine, r);
      std::cout << printed.str();
      engine.printProfileSummary(std::cout);
      const auto target = engine.getReport().compilation().target();
      std::cout << "profile " << target.numReplicas() << ' ' << target.ipusPerReplica() << ' '
                << target.tilesPerReplica() << ' ' << target.numTiles() << ' '
                << engine.getReport().compilation().tiles().size() << '\n';
    }
  }
}

/// 64 floats of tile 1 go to tile 1 of the next replica: on the same card, and round to the first.
void costs() {
  Replicated r;
  const Tensor from = r.graph.addVariable(FLOAT, {64}), to = r.graph.addVariable(FLOAT, {64});
  r.graph.setTileMapping(from, 1);
  r.graph.setTileMapping(to, 1);
  const std::map<unsigned, unsigned> ways[] = {{{1, 0}}, {{2, 0}}, {{1, 0}, {2, 0}}, {{1, 1}}};
  for (const auto &way : ways) {
    r.prog = Sequence({CrossReplicaCopy(from, to, way)});
    Engine engine = r.load();
    engine.run();
    const ProfileValue profile = engine.getProfile();
    const ProfileValue &step = profile["execution"]["totals"][0];
    std::cout << "cost " << step["syncCycles"].asDouble() << ' '
              << step["exchangeCycles"].asDouble() << ' ' << step["computeCycles"].asDouble() << ' '
              << step["bytesBetweenIpus"].asDouble() << '\n';
  }
}

} // namespace

int main(int argc, char **argv) {
  static const std::map<std::string, void (*)()> parts{
      {"collectives", collectives}, {"host", host}, {"parting", parting}, {"costs", costs}};
  if (argc == 2) {
    parts.at(argv[1])();
    return 0;
  }
  for (const auto &[name, mistake] : mistakes) {
    std::cout << name << ": ";
    try {
      mistake();
      std::cout << "no error\n";
    } catch (const poplar_error &error) {
      std::cout << error.type << ": " << error.what() << '\n';
    } catch (const std::exception &error) {
      std::cout << error.what() << '\n';
    }
  }
}
