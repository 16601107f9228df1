#include "words.h"

#include <algorithm>
#include <sstream>

#include <poputil/exceptions.hpp>

namespace lif {

Words::Words(const std::string &text, const std::string &version,
             const std::vector<std::string> &keys, const std::vector<std::string> &flags)
    : version(version) {
  std::istringstream in(text);
  std::string word;
  in >> word;
  bool fits = word == version;
  while (in >> word) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const auto &known = equals == std::string::npos ? flags : keys;
    fits = fits && std::count(known.begin(), known.end(), key) != 0;
    values[key] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  for (const std::string &key : keys)
    fits = fits && values.count(key) != 0;
  if (fits)
    return;
  std::string expected = version;
  for (const std::string &key : keys)
    expected += " " + key + "=...";
  for (const std::string &flag : flags)
    expected += " [" + flag + "]";
  throw poputil::poplibs_error("attributes: expected '" + expected + "'; got '" + text + "'");
}

unsigned Words::whole(const std::string &key) const { return parseWhole(key, values.at(key), 1); }

std::vector<unsigned> Words::wholes(const std::string &key, std::size_t number) const {
  std::vector<unsigned> found;
  std::istringstream in(values.at(key));
  for (std::string word; std::getline(in, word, ',');)
    found.push_back(parseWhole(key, word, 0));
  if (found.size() != number)
    throw poputil::poplibs_error("attributes: " + key + " must be " + std::to_string(number) +
                                 " numbers; got '" + values.at(key) + "'");
  return found;
}

double Words::real(const std::string &key) const {
  std::istringstream in(values.at(key));
  in.imbue(std::locale::classic());
  double value = 0;
  if (!(in >> value) || !in.eof())
    throw poputil::poplibs_error("attributes: " + key + " must be a number; got '" +
                                 values.at(key) + "'");
  return value;
}

Surrogate Words::surrogate() const { return parseSurrogate(values.at("surrogate")); }

} // namespace lif
