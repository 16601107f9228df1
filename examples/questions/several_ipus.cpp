// How much does a transfer between IPUs cost, and can one compute while the other sends?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"most", 65536}, {"neurons", 600}});
  constexpr unsigned ipus = 4;
  question::Table table(sizes, ipus);
  for (unsigned bytes = 64; bytes <= sizes["most"]; bytes *= 4)
    for (const auto &[name, ipu] : {std::pair<const char *, unsigned>{"within an IPU", 0},
                                    {"to the neighbouring IPU", 1},
                                    {"to an IPU of another card", 2}})
      table.measure(name, bytes, [&, ipu = ipu](Graph &graph, Sequence &program) {
        const unsigned tiles = graph.getTarget().getTilesPerIPU();
        program.add(
            Copy(question::onTile(graph, UNSIGNED_INT, {bytes / 4}, 0, "from"),
                 question::onTile(graph, UNSIGNED_INT, {bytes / 4}, ipu * tiles + 1, "to")));
      });
  // Both IPUs compute; IPU 0 sends its result of the previous step to IPU 1.
  const unsigned neurons = sizes["neurons"];
  for (const char *way : {"compute alone", "send alone", "compute and send"})
    table.measure(way, neurons, [&](Graph &graph, Sequence &program) {
      const unsigned tiles = graph.getTarget().getTilesPerIPU();
      if (way != std::string("send alone")) {
        const ComputeSet set = graph.addComputeSet("step");
        for (const unsigned tile : {0u, tiles})
          graph.setTileMapping(
              graph.addVertex(set, "Sum",
                              {{"in", question::onTile(graph, FLOAT, {neurons}, tile, "u")},
                               {"sum", question::onTile(graph, FLOAT, {}, tile, "sum")}}),
              tile);
        program.add(Execute(set));
      }
      if (way != std::string("compute alone"))
        program.add(Copy(question::onTile(graph, FLOAT, {neurons}, 0, "spikes"),
                         question::onTile(graph, FLOAT, {neurons}, tiles, "received")));
    });
}
