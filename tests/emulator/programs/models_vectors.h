// Part of models.cpp: the cycles of codelets with types of vectors.
#ifndef IPULSE_TESTS_MODELS_VECTORS_H
#define IPULSE_TESTS_MODELS_VECTORS_H

/// The cycles of a = a + 3 b over 64 pairs of a type of vectors, which `pairs` declares.
std::size_t cyclesOfPairs(const std::string &pairs) {
  Fixture f(Fixture::ipu());
  std::stringstream source("#include <ipudef.h>\n#include <poplar/Vertex.hpp>\n" + pairs + R"(;
    struct Axpy : poplar::Vertex {
      poplar::InOut<poplar::Vector<float, poplar::VectorLayout::SPAN, 8>> a, b;
      bool compute() {
        for (unsigned i = 0; i < a.size() / 2; ++i)
          reinterpret_cast<Pair &>(a[2 * i]) += 3.0f * reinterpret_cast<Pair &>(b[2 * i]);
        return true;
      }
    };)");
  f.graph.addCodelets(source);
  const Tensor a = f.variable(FLOAT, 128, 0), b = f.variable(FLOAT, 128, 0);
  f.graph.setTileMapping(f.graph.addVertex(f.cs, "Axpy", {{"a", a}, {"b", b}}), 0);
  return total(f.run(Execute(f.cs)), "computeCycles");
}

#endif
