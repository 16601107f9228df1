#ifndef IPULSE_EMULATOR_PROFILE_H
#define IPULSE_EMULATOR_PROFILE_H

#include <initializer_list>
#include <string>
#include <utility>

#include <poplar/ProfileValue.hpp>

#include "executable/compiled.h"

namespace poplar::emulator {

class Session;

/// The report under libpva's names; docs/reference/profile.md describes every field. Without a session, of
/// a program that was compiled only, it has no execution.
ProfileValue profileOf(const Compiled &compiled, const Session *session);
ProfileValue compilationOf(const Compiled &compiled);
ProfileValue executionOf(const Session &session);

/// The same for people.
void printSummary(std::ostream &out, const ProfileValue &profile, const OptionFlags &flags);

/// Raises parse_error.
ProfileValue parseJSON(const std::string &text);

/// A profile.json; where the path's name ends in .pop and is no file, the one beside it. Raises
/// file_load_error, parse_error.
ProfileValue readProfile(const std::string &path);

const char *stepType(const ProgramNode &node);
std::string stepName(const Compiled &compiled, const ProgramNode &node);
/// Connections of fields to tensors, one a row.
std::uint64_t numEdges(const GraphState &graph);

ProfileValue profileMap(std::initializer_list<std::pair<std::string, ProfileValue>> members);
ProfileValue profileNumber(std::uint64_t n);
ProfileValue profileList();

} // namespace poplar::emulator

#endif
