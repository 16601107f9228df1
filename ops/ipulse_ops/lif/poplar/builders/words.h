// "name/1 key=value flag ...": how the attribute strings of the smaller ops are read.
#ifndef IPULSE_LIF_POPLAR_WORDS_H
#define IPULSE_LIF_POPLAR_WORDS_H

#include <map>
#include <string>
#include <vector>

#include "network.h"

namespace lif {

class Words {
public:
  /// Raises poputil::poplibs_error unless the text is `version` and key=value of exactly `keys`,
  /// and any of `flags`.
  Words(const std::string &text, const std::string &version, const std::vector<std::string> &keys,
        const std::vector<std::string> &flags = {});
  unsigned whole(const std::string &key) const;
  /// Whole numbers from 0 on, between commas. Raises poputil::poplibs_error for another number.
  std::vector<unsigned> wholes(const std::string &key, std::size_t number) const;
  double real(const std::string &key) const;
  bool flag(const std::string &name) const { return values.count(name) != 0; }
  Surrogate surrogate() const;
  /// The value of a key. Raises std::out_of_range for a key that was not asked for.
  const std::string &text(const std::string &key) const { return values.at(key); }

private:
  std::string version;
  std::map<std::string, std::string> values;
};

} // namespace lif

#endif
