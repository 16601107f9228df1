#ifndef poplar_Executable_hpp
#define poplar_Executable_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include <poplar/Graph.hpp>

namespace poplar {

namespace emulator {
struct Compiled;
}

/// A compiled graph with its programs, which an Engine loads onto a device.
class Executable {
public:
  /// An empty executable, to which an executable is assigned.
  Executable();
  Executable(Executable &&) noexcept;
  Executable &operator=(Executable &&) noexcept;
  ~Executable();

  void serialize(std::ostream &out) const;
  /// Raises parse_error if the stream has no executable of this emulator.
  static Executable deserialize(std::istream &in);
  std::string getVersionString() const;

  // For internal use.
  explicit Executable(std::shared_ptr<emulator::Compiled> compiled);
  const std::shared_ptr<emulator::Compiled> &getCompiled() const;

private:
  emulator::Assigned<emulator::Compiled> compiled;
};

} // namespace poplar

#endif
