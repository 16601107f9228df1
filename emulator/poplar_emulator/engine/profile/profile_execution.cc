#include "profile.h"
#include "session/session.h"

namespace poplar::emulator {
namespace {

/// How evenly a step's tiles are used: mean over maximum of their compute cycles.
double balance(const IpuCost &cost, std::uint64_t tiles) {
  return cost.compute && tiles
             ? static_cast<double>(cost.tileCycles) /
                   (static_cast<double>(cost.compute) * static_cast<double>(tiles))
             : 0;
}

ProfileValue span(std::uint64_t first, std::uint64_t last) {
  return profileMap({{"min", profileNumber(first)}, {"max", profileNumber(last)}});
}

ProfileValue stepOf(const StepRecord &record, const Machine &m) {
  const StepCost &cost = record.cost;
  const std::uint64_t shared = cost.sync + cost.exchange + cost.host; // all IPUs wait together
  ProfileValue ipus = profileList();
  for (const IpuCost &ipu : record.ipus) {
    const std::uint64_t cycles = shared + ipu.compute;
    ipus.append(profileMap(
        {{"cycles", profileNumber(cycles)},
         {"tileBalance", balance(ipu, m.tilesPerIPU)},
         {"activeTileBalance", balance(ipu, ipu.activeTiles)},
         {"activeCycles",
          profileMap({{"cyclesFrom", span(record.start, record.start)},
                      {"cyclesTo", span(record.start + cycles, record.start + cycles)}})}}));
  }
  return profileMap({{"program", record.step->id},
                     {"ipus", ipus},
                     {"syncCycles", profileNumber(cost.sync)},
                     {"exchangeCycles", profileNumber(cost.exchange)},
                     {"computeCycles", profileNumber(cost.compute)},
                     {"hostCycles", profileNumber(cost.host)}});
}

ProfileValue runOf(const RunRecord &run, const Machine &m) {
  ProfileValue steps = profileList();
  for (const StepRecord &record : run.steps)
    steps.append(stepOf(record, m));
  const auto microseconds = [&](std::uint64_t cycles) {
    return static_cast<double>(cycles) / m.clockHz * 1e6;
  };
  return profileMap({{"name", run.name},
                     {"microseconds", profileMap({{"start", microseconds(run.start)},
                                                  {"end", microseconds(run.end)}})},
                     {"truncated", run.truncated},
                     {"steps", steps}});
}

constexpr std::size_t kMostScopes = 64; // a profile's size must not grow with the variables

ProfileValue totalOf(const Step &step, unsigned replica) {
  const StepCost &total = step.total;
  ProfileValue one = profileMap({{"program", step.id},
                                 {"executions", profileNumber(step.executions)},
                                 {"syncCycles", profileNumber(total.sync)},
                                 {"exchangeCycles", profileNumber(total.exchange)},
                                 {"computeCycles", profileNumber(total.compute)},
                                 {"hostCycles", profileNumber(total.host)},
                                 {"bytesBetweenIpus", profileNumber(total.bytesBetweenIpus)},
                                 {"flops", profileNumber(total.flops)}});
  if (total.bytesFromHost || total.bytesToHost) {
    one.insert("bytesFromHost", profileNumber(total.bytesFromHost));
    one.insert("bytesToHost", profileNumber(total.bytesToHost));
  }
  if (step.computeSets.empty())
    return one;
  const std::map<std::string, std::uint64_t> byScope = step.computeSets[replica]->cyclesByScope();
  const bool named = byScope.size() > 1 || (byScope.size() == 1 && !byScope.begin()->first.empty());
  if (!named || byScope.size() > kMostScopes)
    return one;
  ProfileValue cycles = profileMap({});
  for (const auto &[scope, spent] : byScope)
    cycles.insert(scope, profileNumber(spent));
  one.insert("computeCyclesByScope", cycles);
  return one;
}

} // namespace

ProfileValue executionOf(const Session &session) {
  const Machine &m = session.getCompiled().graph->machine;
  ProfileValue runs = profileList(), blocks = profileList();
  ProfileValue totals = profileList(), byTile = profileList();
  for (const RunRecord &run : session.runs()) {
    runs.append(runOf(run, m));
    for (const BlockRecord &block : run.blocks)
      blocks.append(profileMap({{"program", block.step->id},
                                {"cyclesFrom", profileNumber(block.start)},
                                {"cyclesTo", profileNumber(block.end)}}));
  }
  for (const auto &step : session.steps())
    if (step->executions)
      totals.append(totalOf(*step, session.profiledReplica()));
  for (const std::uint64_t cycles : session.cyclesByTile())
    byTile.append(profileNumber(cycles));
  return profileMap({{"runs", runs},
                     {"blocks", blocks},
                     {"totals", totals},
                     {"computeCyclesByTile", byTile},
                     {"totalCycles", profileMap({{"total", profileNumber(session.cycles())}})}});
}

} // namespace poplar::emulator
