#ifndef pva_pva_hpp
#define pva_pva_hpp

#include <string>

#include <pva/Compilation.hpp>
#include <pva/Execution.hpp>

namespace pva {

/// The emulator stands for the SDK of this version.
struct Version {
  unsigned majorVersion, minorVersion, pointVersion;
  std::string words;
  unsigned major() const { return majorVersion; }
  unsigned minor() const { return minorVersion; }
  unsigned point() const { return pointVersion; }
  std::string string() const { return words; }
};

/// What poplar::Engine::getReport() gives: a picture of the engine at that moment.
class Report : public ReportNode {
public:
  using ReportNode::ReportNode;
  CompilationReport compilation() const { return member<CompilationReport>("compilation"); }
  /// Raises std::out_of_range when the report was made without.
  ExecutionReport execution() const { return member<ExecutionReport>("execution"); }
  Version poplarVersion() const;
};

/// [M] A report of a file: the profile.json that autoReport wrote, which may be asked for as
/// profile.pop, too. It has what docs/reference/profile.md lists: not each vertex's tile, nor cyclesByTile.
/// Debug contexts are not read. Raises poplar::file_load_error, poplar::parse_error.
Report openReport(const std::string &profilePath, const std::string &debugPath = "");

} // namespace pva

#endif
