#ifndef IPULSE_POPC_VECTOR_LISTS_H
#define IPULSE_POPC_VECTOR_LISTS_H

#include <string>

namespace popc {

/// Returns preprocessed text without the lines that name files, so that the compiler's messages
/// count its own lines.
std::string withoutLineMarkers(const std::string &text);

/// Returns whether the compiler refused `{a, b}` for a vector, which popc's compiler takes: `v =
/// {a, b}`, `return {a, b}`, `f({a, b})`.
bool refusesVectorList(const std::string &output);

/// Returns the text with the vectors' types before the lists that these messages name.
std::string withTypedLists(std::string text, const std::string &output);

} // namespace popc

#endif
