#ifndef IPULSE_EMULATOR_ENGINE_OPTIONS_H
#define IPULSE_EMULATOR_ENGINE_OPTIONS_H

#include <cstdint>
#include <string>

#include <poplar/OptionFlags.hpp>

namespace poplar::emulator {

/// Adds $POPLAR_ENGINE_OPTIONS, which wins over what the program says, and checks all of them.
/// Raises parse_error for a variable that is no JSON object of strings, invalid_option for an
/// option that there is not or a value that it does not take.
OptionFlags completeOptions(OptionFlags options);

bool isOn(const OptionFlags &options, const std::string &name);
/// Whether a report is wanted: its own option says, and else autoReport.all.
bool isReported(const OptionFlags &options, const std::string &name);
std::string valueOr(const OptionFlags &options, const std::string &name,
                    const std::string &otherwise);
/// The replica whose costs a profile has: profiler.replicaToProfile.
unsigned replicaProfiled(const OptionFlags &options);
/// Runs whose steps a profile has: autoReport.executionProfileProgramRunCount.
std::uint64_t runsProfiled(const OptionFlags &options);

} // namespace poplar::emulator

#endif
