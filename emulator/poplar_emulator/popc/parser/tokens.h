#ifndef IPULSE_POPC_TOKENS_H
#define IPULSE_POPC_TOKENS_H

#include <string>
#include <vector>

namespace popc {

/// The tokens of preprocessed C++: words, numbers, strings, `::`, and single characters. Line
/// markers and `[[attributes]]` are left out.
std::vector<std::string> tokenize(const std::string &text);
bool isWord(const std::string &token);

} // namespace popc

#endif
