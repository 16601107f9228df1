// PopLibs' operations on small tensors: prints one line a case.
#include "popops_fixture.h"
#include "popops_others.h"

namespace {

const std::map<std::string, void (*)(Fixture &)> cases{
    {"map",
     [](Fixture &f) {
       const Tensor a = f.floats({2, 3}), b = f.floats({3}, 10);
       f.print<float>(popops::map(f.graph,
                                  pe::Select(pe::_1 * 2 + pe::_2, pe::Neg(pe::_1), pe::_1 > 1.5f),
                                  {a, b}, f.prog));
     }},
    {"in_place",
     [](Fixture &f) {
       const Tensor a = f.floats({4});
       popops::addInPlace(f.graph, a, a, f.prog);
       popops::mulInPlace(f.graph, a, 0.5f, f.prog, "half");
       popops::subInPlace(f.graph, a, f.floats({1}, 1), f.prog);
       f.print<float>(a);
     }},
    {"integers",
     [](Fixture &f) {
       const Tensor a = f.values<int>(INT, {4}, -2);
       const Tensor b = popops::div(f.graph, popops::mul(f.graph, a, 7, f.prog), 2, f.prog);
       f.print<int>(popops::rem(f.graph, b, 5, f.prog));
     }},
    {"wraps",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {2}, 4294967294u);
       f.print<unsigned>(popops::add(f.graph, a, 3u, f.prog));
     }},
    {"large_constant",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {1}, 0);
       f.print<unsigned>(popops::add(f.graph, a, 4000000001u, f.prog));
     }},
    {"compare_and_cast",
     [](Fixture &f) {
       const Tensor yes = popops::gteq(f.graph, f.floats({4}), 2.f, f.prog);
       f.print<float>(popops::cast(f.graph, yes, FLOAT, f.prog));
     }},
    {"half",
     [](Fixture &f) {
       const Tensor h = popops::cast(f.graph, f.floats({2}, 2048), HALF, f.prog);
       f.print<float>(popops::cast(f.graph, popops::add(f.graph, h, h, f.prog), FLOAT, f.prog));
     }},
    {"fill",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {4}, 0);
       popops::fill(f.graph, a.slice(1, 3), f.prog, 4294967295u);
       popops::zero(f.graph, a.slice(3, 4), f.prog);
       f.print<unsigned>(a);
     }},
    {"reduce",
     [](Fixture &f) {
       const Tensor a = f.floats({2, 3, 4});
       const Tensor sums = popops::reduce(f.graph, a, {0, 2}, popops::Operation::ADD, f.prog);
       const Tensor most = popops::reduce(f.graph, a, {1}, {popops::Operation::MAX}, f.prog);
       f.print<float>(concat(sums, most.flatten()));
     }},
    {"reduce_update",
     [](Fixture &f) {
       const Tensor scale = f.floats({1}, 3), out = f.floats({2}, 100);
       popops::reduceWithOutput(f.graph, f.floats({3, 2}), out, {0},
                                {popops::Operation::SQUARE_ADD, true, scale}, f.prog);
       f.print<float>(out);
     }},
    {"reduce_many",
     [](Fixture &f) {
       std::vector<Tensor> out;
       const std::size_t sets = 1;
       popops::reduceMany(f.graph,
                          {{f.floats({2, 2}), {0}, {popops::Operation::ADD}},
                           {f.floats({3}, 1), {0}, {popops::Operation::MUL}, "product"}},
                          out, f.prog);
       static_cast<void>(sets);
       f.print<float>(concat(out[0], out[1].reshape({1})));
     }},
    {"dynamic_slice",
     [](Fixture &f) {
       const Tensor t = popops::createSliceableTensor(f.graph, FLOAT, {5, 3}, {0}, {1});
       f.prog.add(Copy(f.floats({5, 3}), t));
       f.print<float>(popops::dynamicSlice(f.graph, t, f.index(4), {0}, {2}, f.prog));
     }},
    {"dynamic_slice_of_two",
     [](Fixture &f) {
       const Tensor at = concat(f.index(1), f.index(2));
       f.print<float>(popops::dynamicSlice(f.graph, f.floats({3, 4}), at, {0, 1}, {2, 1}, f.prog));
     }},
    {"dynamic_update",
     [](Fixture &f) {
       const Tensor t = f.floats({3, 2});
       popops::dynamicUpdate(f.graph, t, f.floats({3, 1}, 70), f.index(1), {1}, {1}, f.prog);
       popops::dynamicUpdate(f.graph, t, f.floats({1, 1}, 90), concat(f.index(2), f.index(0)),
                             {0, 1}, {1, 1}, f.prog);
       f.print<float>(t);
     }},
    {"counted_loop",
     [](Fixture &f) {
       const Tensor sum = f.values<unsigned>(UNSIGNED_INT, {1}, 0);
       f.prog.add(popops::countedLoop(f.graph, 3, 12, 4, [&](const Tensor &i) {
         Sequence body;
         popops::addInPlace(f.graph, sum, i, body);
         return body;
       }));
       f.print<unsigned>(sum);
     }},
    {"mat_mul",
     [](Fixture &f) {
       const Tensor b = poplin::createMatMulInputRHS(f.graph, FLOAT, FLOAT, {2, 3}, {3, 2}, "b");
       f.prog.add(Copy(f.floats({3, 2}, 1), b));
       f.print<float>(poplin::matMul(f.graph, f.floats({2, 3}, 1), b, f.prog, FLOAT));
     }},
    {"top_k",
     [](Fixture &f) {
       using popops::SortOrder;
       const Tensor a = f.floats({2, 3});
       const Tensor t = concat(a, popops::neg(f.graph, a, f.prog), 1); // 0 1 2 -0 -1 -2, ...
       const auto up =
           popops::topKWithPermutation(f.graph, f.prog, t, {2, true, SortOrder::ASCENDING});
       const Tensor down = popops::topK(f.graph, f.prog, t, {2, false, SortOrder::DESCENDING});
       const Tensor indices = popops::cast(f.graph, up.second, FLOAT, f.prog);
       f.print<float>(concat({up.first, indices, down}));
     }},
    {"scaled_add",
     [](Fixture &f) {
       const Tensor a = f.floats({3}), b = f.floats({3}, 10);
       popops::scaledAddTo(f.graph, a, b, 0.5f, f.prog);
       popops::scaledSubtractFrom(f.graph, a, b, f.floats({1}, 2), f.prog);
       popops::scaledAddTo(f.graph, a, 2.f, b, 1.f, f.prog);
       f.print<float>(a);
     }},
    {"numbers_in_ternaries",
     [](Fixture &f) {
       const Tensor a = f.floats({4}, -1);
       const Tensor mask = popops::gt(f.graph, a, 0.f, f.prog);
       std::vector<Tensor> found{
           popops::select(f.graph, a, 9.f, mask, f.prog),
           popops::select(f.graph, 9.f, a, mask, f.prog),
           popops::clamp(f.graph, a, 0.f, 1.5f, f.prog),
           popops::map(f.graph, pe::Select(pe::Const(1.f), pe::Const(-1.f), pe::_1 > 1.f), {a},
                       f.prog)};
       popops::clampInPlace(f.graph, a, 1, a, f.prog);
       found.push_back(a);
       f.print<float>(concat(found));
     }},
};

} // namespace

int main(int argc, char **argv) {
  auto all = cases;
  all.insert(otherCases.begin(), otherCases.end());
  for (const auto &one : all) {
    if (argc >= 2 && one.first != argv[1])
      continue;
    Fixture fixture;
    one.second(fixture);
  }
}
