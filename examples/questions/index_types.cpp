// Is int as good an index as unsigned, and what does an index cost that travels as float?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

template <typename Id>
void measure(question::Table &table, const char *name, const Type &type, unsigned ids) {
  for (const unsigned n : {ids, 2 * ids})
    table.measure(name, n, [&](Graph &graph, Sequence &program) {
      const ComputeSet set = graph.addComputeSet("add");
      const VertexRef vertex = graph.addVertex(
          set, std::string("AddAt<") + type.toString() + ">",
          {{"ids", question::valuesOnTile(graph, type, {n}, 0, "ids", std::vector<Id>(n, 7))},
           {"sums", question::onTile(graph, FLOAT, {64}, 0, "sums")}});
      graph.setInitialValue(vertex["value"], 0.5f);
      graph.setTileMapping(vertex, 0);
      program.add(Execute(set));
    });
}

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"ids", 600}});
  question::Table table(sizes);
  measure<unsigned short>(table, "unsigned short", UNSIGNED_SHORT, sizes["ids"]);
  measure<unsigned>(table, "unsigned int", UNSIGNED_INT, sizes["ids"]);
  measure<int>(table, "int", INT, sizes["ids"]);
  measure<float>(table, "float", FLOAT, sizes["ids"]);
}
