// The graph of libraries.cpp, with tensors of float or half.
#pragma once

#include <popops/Cast.hpp>

#include "network_fixture.h"

struct Libraries : Network {
  /// The tensor, and its values in `type`.
  Tensor filled(const std::string &name, std::vector<std::size_t> shape, unsigned first,
                const Type &type = FLOAT) {
    return popops::cast(graph, Network::filled(name, shape, first), type, prog);
  }
  Tensor numbers(std::vector<std::size_t> shape, const std::vector<unsigned> &values) {
    const Tensor t = graph.addConstant(UNSIGNED_INT, shape, ArrayRef<unsigned>(values));
    graph.setTileMapping(t, 1);
    return t;
  }
  Tensor number(float value, const Type &type = FLOAT) {
    const Tensor t = graph.addConstant(type, {}, value);
    graph.setTileMapping(t, 0);
    return t;
  }
  void show(const std::string &name, const Tensor &t) {
    Network::show(name, popops::cast(graph, t, FLOAT, prog));
  }
};
