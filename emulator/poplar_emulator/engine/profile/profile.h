#ifndef IPULSE_EMULATOR_PROFILE_H
#define IPULSE_EMULATOR_PROFILE_H

#include <initializer_list>
#include <string>
#include <utility>

#include <poplar/ProfileValue.hpp>

#include "executable/compiled.h"

namespace poplar::emulator {

class Session;

/// Makes the report with libpva's names; docs/reference/profile.md describes every field. Without a
/// session, for a program that was only compiled, it has no execution.
ProfileValue profileOf(const Compiled &compiled, const Session *session);
ProfileValue compilationOf(const Compiled &compiled);
ProfileValue executionOf(const Session &session);

/// Adds keys that profiles had before libpva: docs/reference/profile.md lists them.
ProfileValue withOlderMemory(ProfileValue compilation);
ProfileValue withOlderCycles(ProfileValue execution);

/// Prints the report for people.
void printSummary(std::ostream &out, const ProfileValue &profile, const OptionFlags &flags);

/// Raises parse_error.
ProfileValue parseJSON(const std::string &text);

/// Reads a profile.json; for a missing file with the suffix .pop, the profile.json in its
/// directory. Raises file_load_error, parse_error.
ProfileValue readProfile(const std::string &path);

const char *stepType(const ProgramNode &node);
std::string stepName(const Compiled &compiled, const ProgramNode &node);
/// Returns the number of connections of fields to tensors, one per row.
std::uint64_t numEdges(const GraphState &graph);

ProfileValue profileMap(std::initializer_list<std::pair<std::string, ProfileValue>> members);
ProfileValue profileNumber(std::uint64_t n);
ProfileValue profileList();

} // namespace poplar::emulator

#endif
