#ifndef IPULSE_EMULATOR_ENGINE_OPTIONS_H
#define IPULSE_EMULATOR_ENGINE_OPTIONS_H

#include <cstdint>
#include <string>

#include <poplar/OptionFlags.hpp>

#include "device/machine.h"
#include "program/program_node.h"

namespace poplar::emulator {

/// Adds $POPLAR_ENGINE_OPTIONS, which overrides the program's options, and checks all of them.
/// Raises parse_error if the variable is not a JSON object of strings, invalid_option for an
/// unknown option or an invalid value.
OptionFlags completeOptions(OptionFlags options);

/// Returns whether a profile lists the executions of a program: of a Block with a name that matches
/// profiler.blocks.filter, by default all, or of a program that profiler.programs.filter names.
bool isListed(const OptionFlags &options, const ProgramNode &program, const std::string &name);
bool isOn(const OptionFlags &options, const std::string &name);
/// Returns whether a report is wanted: by its own option, else by autoReport.all.
bool isReported(const OptionFlags &options, const std::string &name);
std::string valueOr(const OptionFlags &options, const std::string &name,
                    const std::string &otherwise);
/// Returns the machine with the connection to the host that the options describe:
/// emulator.hostBytesPerSecond and emulator.hostLatencySeconds.
Machine withHostLink(Machine machine, const OptionFlags &options);
/// Returns the number of the profiled replica: profiler.replicaToProfile.
unsigned replicaProfiled(const OptionFlags &options);
/// Returns how many runs have their steps in a profile: autoReport.executionProfileProgramRunCount.
std::uint64_t runsProfiled(const OptionFlags &options);

} // namespace poplar::emulator

#endif
