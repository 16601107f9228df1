// PopLibs operations with cycles that can be computed by hand: prints one line per case.
#include <functional>
#include <iostream>
#include <map>

#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Reduce.hpp>
#include <popops/TopK.hpp>

#include "model_fixture.h"

namespace {

const std::map<std::string, void (*)()> cases{
    {"elementwise",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor a = f.variable(FLOAT, 120, 0), b = f.variable(FLOAT, 120, 0);
       const Tensor i = f.variable(INT, 120, 0), j = f.variable(INT, 120, 0);
       const Tensor h = f.variable(HALF, 120, 0), k = f.variable(HALF, 120, 0);
       const auto cost = [&](const std::function<void(Sequence &)> &add) {
         Sequence prog;
         add(prog);
         printCompute(f, prog);
       };
       cost([&](Sequence &p) { popops::addInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::divInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::maxInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::powInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::remInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::mulInPlace(f.graph, h, k, p); });
       cost([&](Sequence &p) { popops::addInPlace(f.graph, i, j, p); });
       cost([&](Sequence &p) { popops::divInPlace(f.graph, i, j, p); });
       cost([&](Sequence &p) { popops::expInPlace(f.graph, a, p); });
       cost([&](Sequence &p) { popops::sqrtInPlace(f.graph, a, p); });
       cost([&](Sequence &p) { popops::tanhInPlace(f.graph, a, p); });
       cost([&](Sequence &p) { popops::rsqrtInPlace(f.graph, a, p); });
       cost([&](Sequence &p) { popops::squareInPlace(f.graph, a, p); });
       cost([&](Sequence &p) { popops::sinInPlace(f.graph, a, p); });
     }},
    {"elementwise_more",
     [] {
       using Unary = popops::expr::UnaryOpType;
       using Binary = popops::expr::BinaryOpType;
       Fixture f(Fixture::ipu());
       const Tensor a = f.variable(FLOAT, 120, 0), b = f.variable(FLOAT, 120, 0);
       for (const Unary op :
            {Unary::SIGMOID, Unary::LOGARITHM, Unary::INVERSE, Unary::NEGATE, Unary::ABSOLUTE,
             Unary::SIGNUM, Unary::RELU, Unary::COS, Unary::TAN}) {
         Sequence prog;
         popops::mapInPlace(f.graph, op, a, prog);
         printCompute(f, prog);
       }
       for (const Binary op :
            {Binary::SUBTRACT, Binary::MULTIPLY, Binary::MINIMUM, Binary::GREATER_THAN}) {
         Sequence prog;
         popops::map(f.graph, op, a, b, prog);
         printCompute(f, prog);
       }
     }},
    {"elementwise_scalar",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor a = f.variable(FLOAT, 120, 0), one = f.variable(FLOAT, 1, 0);
       Sequence add, divide, cast;
       popops::addInPlace(f.graph, a, 2.0f, add);
       popops::divInPlace(f.graph, a, one, divide);
       popops::cast(f.graph, a, HALF, cast);
       for (const Program &prog : {add, divide, cast})
         printCompute(f, prog);
     }},
    {"fill",
     [] {
       Fixture f(Fixture::ipu());
       for (const auto &[type, n] : {std::pair<Type, std::size_t>{FLOAT, 100},
                                     {FLOAT, 101},
                                     {HALF, 100},
                                     {UNSIGNED_CHAR, 60},
                                     {UNSIGNED_CHAR, 64},
                                     {UNSIGNED_LONGLONG, 10}}) {
         Sequence prog;
         popops::fill(f.graph, f.variable(type, n, 0), prog, 2.0f);
         printCompute(f, prog);
       }
     }},
    {"slices",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor rows = f.variable(FLOAT, 16 * 12, 0).reshape({16, 12});
       const Tensor at = f.variable(UNSIGNED_INT, 3, 0);
       Sequence one, several;
       popops::dynamicSlice(f.graph, rows, at.slice(0, 1), {0}, {2}, one);
       popops::multiSlice(f.graph, rows, at.reshape({3, 1}), {0}, {1}, several, popops::SlicePlan(),
                          {});
       for (const Program &prog : {one, several})
         printCompute(f, prog);
     }},
    {"by_type",
     [] {
       for (const Type type : {FLOAT, HALF}) {
         Fixture f(Fixture::ipu());
         poplin::addCodelets(f.graph);
         const auto cost = [&](const std::function<void(Sequence &)> &add) {
           Sequence prog;
           add(prog);
           printCompute(f, prog);
         };
         const Tensor rows = f.variable(type, 16 * 48, 0).reshape({16, 48});
         const Tensor at = f.variable(UNSIGNED_INT, 3, 0), line = f.variable(type, 64, 0);
         const Tensor some = f.variable(type, 3 * 48, 0).reshape({3, 1, 48});
         cost([&](Sequence &p) {
           popops::dynamicSlice(f.graph, rows, at.slice(0, 1), {0}, {2}, p);
         });
         cost([&](Sequence &p) {
           popops::multiUpdateAdd(f.graph, rows, some, at.reshape({3, 1}),
                                  f.variable(type, 1, 0).reshape({}), {0}, {1}, p, {}, {});
         });
         cost([&](Sequence &p) {
           popops::reduceWithOutput(f.graph, rows, f.variable(type, 16, 0), {1},
                                    popops::Operation::ADD, p);
         });
         cost([&](Sequence &p) {
           Tensor out = f.variable(type, 1, 0).reshape({1, 1});
           poplin::matMulWithOutput(f.graph, line.expand({0}), line.expand({1}), out, p);
         });
         cost([&](Sequence &p) { popops::iota(f.graph, line, 0, p); });
         cost([&](Sequence &p) {
           popops::topK(f.graph, p, line.slice(0, 16).expand({0}),
                        {16, true, popops::SortOrder::DESCENDING});
         });
       }
     }},
    {"reduction",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor in = f.variable(FLOAT, 8 * 16, 0).reshape({8, 16});
       Sequence prog;
       popops::reduceWithOutput(f.graph, in, f.variable(FLOAT, 8, 0), {1}, popops::Operation::ADD,
                                prog);
       printCompute(f, prog);
     }},
    {"pieces",
     [] {
       // 120 elements in one piece; in 8 rows of 15 of which another tile has the rest; a scalar;
       // an operand that lies the other way round.
       Fixture f(Fixture::ipu());
       const auto matrix = [&](std::size_t rows, std::size_t columns) {
         return f.variable(FLOAT, rows * columns, 0).reshape({rows, columns});
       };
       const auto cost = [&](const std::function<void(Sequence &)> &add) {
         Sequence prog;
         add(prog);
         printCompute(f, prog);
       };
       const Tensor a = matrix(8, 15), b = matrix(8, 15), c = matrix(15, 8).transpose();
       const Tensor x = matrix(8, 20).slice(0, 15, 1), y = matrix(8, 20).slice(0, 15, 1);
       cost([&](Sequence &p) { popops::addInPlace(f.graph, a, b, p); });
       cost([&](Sequence &p) { popops::addInPlace(f.graph, x, y, p); });
       cost([&](Sequence &p) { popops::addInPlace(f.graph, x, 2.0f, p); });
       cost([&](Sequence &p) { popops::addInPlace(f.graph, a, c, p); });
       // Ones in 8 and in 60 rows.
       cost([&](Sequence &p) { popops::fill(f.graph, x, p, 1.0f); });
       cost([&](Sequence &p) { popops::fill(f.graph, matrix(60, 4).slice(0, 2, 1), p, 1.0f); });
     }},
};

} // namespace

int main(int argc, char **argv) {
  for (const auto &one : cases)
    if (argc < 2 || one.first == argv[1]) {
      std::cout << one.first << ": ";
      one.second();
      std::cout << '\n';
    }
}
