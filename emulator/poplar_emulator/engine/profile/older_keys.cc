#include "profile.h"

namespace poplar::emulator {

ProfileValue withOlderMemory(ProfileValue compilation) {
  ProfileValue total = profileList(), withGaps = profileList();
  ProfileValue alwaysLive = profileList(), mostOthers = profileList();
  for (const ProfileValue &tile : compilation["tiles"].asVector()) {
    const ProfileValue &memory = tile["memory"];
    total.append(memory["total"]["excludingGaps"]);
    withGaps.append(memory["total"]["includingGaps"]);
    alwaysLive.append(memory["alwaysLiveBytes"]);
    mostOthers.append(memory["notAlwaysLiveBytes"]);
  }
  compilation.insert(
      "memory",
      profileMap(
          {{"byTile", profileMap({{"total", total}, {"totalIncludingGaps", withGaps}})},
           {"liveness",
            profileMap({{"alwaysLive", profileMap({{"bytesByTile", alwaysLive}})},
                        {"notAlwaysLive", profileMap({{"maxBytesByTile", mostOthers}})}})}}));
  return compilation;
}

ProfileValue withOlderCycles(ProfileValue execution) {
  execution.insert("simulation", profileMap({{"cycles", execution["totalCycles"]["total"]}}));
  return execution;
}

} // namespace poplar::emulator
