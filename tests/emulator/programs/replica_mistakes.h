// Errors of replicated graphs, by name.
#ifndef IPULSE_TESTS_REPLICA_MISTAKES_H
#define IPULSE_TESTS_REPLICA_MISTAKES_H

#include <map>

#include "replica_fixture.h"

inline const std::map<std::string, void (*)()> mistakes{
    {"factor_that_does_not_divide", [] { Graph(Replicated::model(4), replication_factor(3)); }},
    {"no_replicas", [] { Graph(Replicated::model(4), replication_factor(0)); }},
    {"mean_of_whole_numbers",
     [] {
       Replicated r;
       gcl::allReduceCrossReplica(r.graph, r.tensor("t", {2}, INT), gcl::CollectiveOperator::MEAN,
                                  r.prog);
     }},
    {"replica_that_there_is_not",
     [] {
       Replicated r;
       const Tensor t = r.tensor("t", {2});
       CrossReplicaCopy(t, r.graph.clone(t), {{0, 4}});
     }},
    {"device_too_small",
     [] {
       Replicated r;
       Engine engine(r.graph, r.prog);
       engine.load(Replicated::model(2));
     }},
    {"stream_for_one",
     [] {
       Replicated r;
       r.prog.add(Copy(r.graph.addHostToDeviceFIFO("in", FLOAT, 3), r.tensor("t", {3})));
       float in[3] = {};
       r.load().connectStream("in", in, in + 3);
     }},
    {"callback_for_one",
     [] {
       Replicated r;
       r.prog.add(Copy(r.graph.addHostToDeviceFIFO("in", FLOAT, 3), r.tensor("t", {3})));
       Engine engine = r.load();
       engine.connectStreamToCallback("in", 0, [](void *p) { std::fill_n((float *)p, 3, 1.0f); });
       engine.run();
     }},
    {"callback_for_another",
     [] {
       Replicated r;
       r.graph.addHostToDeviceFIFO("in", FLOAT, 3);
       r.load().connectStreamToCallback("in", 4, [](void *) {});
     }},
    {"read_of_one",
     [] {
       Replicated r;
       r.show("t", r.tensor("x", {3}));
       std::vector<float> out(3);
       r.load().readTensor("t", out.data(), out.data() + 3);
     }},
    {"read_of_another",
     [] {
       Replicated r;
       r.show("t", r.tensor("x", {3}));
       std::vector<float> out(3);
       r.load().readTensor("t", 4, out.data(), out.data() + 3);
     }},
    {"meeting_in_a_branch",
     [] {
       Replicated r;
       const Tensor t = r.tensor("t", {3}),
                    odd = popops::bitwiseAnd(r.graph, r.index(), 1u, r.prog);
       Sequence meeting;
       gcl::allReduceInPlaceCrossReplica(r.graph, t, gcl::CollectiveOperator::ADD, meeting);
       r.prog.add(If(odd, meeting, Sequence()));
       r.load().run();
     }},
    {"host_copy_in_a_branch",
     [] {
       Replicated r;
       const Tensor odd = popops::bitwiseAnd(r.graph, r.index(), 1u, r.prog);
       r.prog.add(If(odd, Copy(r.tensor("t", {3}), r.graph.addDeviceToHostFIFO("out", FLOAT, 3)),
                     Sequence()));
       std::vector<float> out(12);
       Engine engine = r.load();
       engine.connectStream("out", out.data());
       engine.run();
     }},
    {"not_equal",
     [] {
       Replicated r;
       r.prog.add(AssumeEqualAcrossReplicas(r.index()));
       r.load().run();
     }},
    {"groups_that_do_not_divide",
     [] {
       Replicated r;
       gcl::allReduceCrossReplica(r.graph, r.tensor("t", {3}), gcl::CollectiveOperator::ADD, r.prog,
                                  gcl::CommGroup(gcl::CommGroupType::CONSECUTIVE, 3));
     }},
    {"profile_of_another",
     [] {
       Replicated r;
       Engine(r.graph, r.prog, {{"profiler.replicaToProfile", "4"}});
     }},
};

#endif
