// Cases of popops.cpp: work split between workers, random numbers, mappings and mistakes.
#pragma once

#include "popops_fixture.h"

inline const std::map<std::string, void (*)(Fixture &)> otherCases{
    {"split_groups",
     [](Fixture &f) {
       const std::vector<std::vector<Interval>> groups{{{0, 5}, {10, 12}}, {{20, 21}}};
       for (const auto &part :
            poputil::splitRegionsBetweenWorkers(f.graph.getTarget(), groups, 2, 4)) {
         for (const auto &group : part) {
           for (const Interval &i : group)
             std::cout << i;
           std::cout << '+';
         }
         std::cout << ' ';
       }
       std::cout << '\n';
     }},
    {"random",
     [](Fixture &f) {
       const Tensor seed = f.values<unsigned>(UNSIGNED_INT, {2}, 7);
       const Tensor like = f.graph.addVariable(FLOAT, {6000}, VariableMappingMethod::LINEAR);
       const auto draw = [&](unsigned modifier) {
         return poprand::uniform(f.graph, &seed, modifier, like, FLOAT, -1, 3, f.prog);
       };
       const Tensor a = draw(0), b = draw(0), c = draw(1);
       const Tensor n = poprand::normal(f.graph, &seed, 2, like, FLOAT, 5, 2, f.prog);
       const auto sum = [&](const Tensor &t, popops::Operation op) {
         return popops::reduce(f.graph, t, {0}, op, f.prog).reshape({1});
       };
       using popops::Operation;
       std::vector<Tensor> found{sum(a, Operation::ADD),
                                 sum(a, Operation::MIN),
                                 sum(a, Operation::MAX),
                                 sum(popops::sub(f.graph, a, b, f.prog), Operation::SQUARE_ADD),
                                 sum(popops::sub(f.graph, a, c, f.prog), Operation::SQUARE_ADD),
                                 sum(n, Operation::ADD),
                                 sum(popops::sub(f.graph, n, 5.f, f.prog), Operation::SQUARE_ADD)};
       const Tensor whole = poprand::uniform(f.graph, &seed, 3, like, INT, -1, 1, f.prog);
       for (int value = -1; value <= 1; ++value) {
         const Tensor equal = popops::eq(f.graph, whole, value, f.prog);
         found.push_back(sum(popops::cast(f.graph, equal, FLOAT, f.prog), Operation::ADD));
       }
       f.print<float>(concat(found));
     }},
    {"poputil",
     [](Fixture &f) {
       const Tensor t = f.graph.addVariable(FLOAT, {100});
       poputil::mapTensorLinearly(f.graph, t); // 128 bytes a tile at least
       unsigned used = 0;
       for (const auto &regions : f.graph.getTileMapping(t))
         used += !regions.empty();
       poputil::mapTensorLinearlyWithOffset(f.graph, t, 4);
       std::cout << used << f.graph.getTileMapping(t)[4][0] << ' '
                 << poputil::templateVertex("ns::V", FLOAT, true, 3u, UNSIGNED_INT) << ' '
                 << poputil::templateVertex("V") << ' '
                 << poputil::cloneN(f.graph, t, 3).shapeToString() << ' ';
       Tensor a = f.floats({2, 1}), b = f.floats({3});
       poputil::broadcastToMatch(a, b);
       std::cout << a.shapeToString() << b.shapeToString() << '\n';
     }},
    {"errors",
     [](Fixture &f) {
       const Tensor a = f.floats({3}), i = f.values<int>(INT, {3}, 0);
       Graph bare(f.device.getTarget());
       const Tensor t = bare.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR);
       std::cout
           << errorOf([&] { popops::add(f.graph, a, i, f.prog); }) << ' '
           << errorOf([&] { popops::add(f.graph, a, f.floats({2}), f.prog); }) << ' '
           << errorOf([&] { popops::zero(bare, t, f.prog); }) << ' ' << errorOf([&] {
                popops::countedLoop(f.graph, 2, 2, 1, [](const Tensor &) { return Program(); });
              })
           << ' '
           << errorOf([&] { popops::reduce(f.graph, a, {1}, popops::Operation::ADD, f.prog); })
           << ' '
           << errorOf([&] { popops::dynamicSlice(f.graph, a, i.slice(0, 1), {0}, {1}, f.prog); })
           << ' ' << errorOf([&] { poplin::matMul(f.graph, a, a, f.prog); }) << ' '
           << errorOf([&] { popops::logicalNot(f.graph, i, f.prog); }) << ' '
           << errorOf([&] { popops::bitwiseAnd(f.graph, a, a, f.prog); }) << ' '
           << errorOf([&] { popops::select(f.graph, a, a, a, f.prog); }) << ' '
           << errorOf([&] { poprand::normal(f.graph, nullptr, 0, i, INT, 0, 1, f.prog); }) << ' '
           << errorOf([&] { popops::gather(f.graph, a, a, 0, f.prog, {}); }) << '\n';
     }},
};
