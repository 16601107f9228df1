#include "remedies.h"

#include <algorithm>

namespace popc {

std::vector<std::string> remedies(const std::string &output) {
  std::vector<std::string> flags;
  // The elements of an Input lose their const in a cast.
  if (output.find("casts away qualifiers") != std::string::npos)
    flags.insert(flags.end(), {"-include", "popc_cast.h"});
  // Codelets for older SDKs pass the address of an Input's element to a function that does not
  // write.
  if (output.find("invalid conversion from \u2018const ") != std::string::npos ||
      output.find("invalid conversion from 'const ") != std::string::npos)
    flags.emplace_back("-fpermissive");
  // The device's C library does not define M_PI and its kind, so that codelets may.
  if (output.find("before numeric constant") != std::string::npos &&
      output.find(" M_") != std::string::npos)
    flags.insert(flags.end(), {"-include", "popc_math.h"});
  // A function that must be inlined, and that others could replace as far as g++ knows.
  if (output.find("function body can be overwritten at link time") != std::string::npos)
    flags.emplace_back("-fno-semantic-interposition");
  static const char *const types[] = {"half2",  "half4",  "float2", "float4", "int2",   "uint2",
                                      "short2", "short4", "uint",   "uchar",  "ushort", "quarter"};
  const bool missing = std::any_of(std::begin(types), std::end(types), [&](const char *type) {
    return output.find("\u2018" + std::string(type) + "\u2019") != std::string::npos ||
           output.find("'" + std::string(type) + "'") != std::string::npos;
  });
  if (missing)
    flags.insert(flags.end(), {"-include", "ipudef.h"});
  return flags;
}

} // namespace popc
