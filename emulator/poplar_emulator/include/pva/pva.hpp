#ifndef pva_pva_hpp
#define pva_pva_hpp

#include <string>

#include <pva/Compilation.hpp>
#include <pva/Execution.hpp>

namespace pva {

/// The version of the SDK that the emulator reports.
struct Version {
  unsigned majorVersion, minorVersion, pointVersion;
  std::string words;
  unsigned major() const { return majorVersion; }
  unsigned minor() const { return minorVersion; }
  unsigned point() const { return pointVersion; }
  std::string string() const { return words; }
};

/// The result of poplar::Engine::getReport(): a snapshot of the engine.
class Report : public ReportNode {
public:
  using ReportNode::ReportNode;
  CompilationReport compilation() const { return member<CompilationReport>("compilation"); }
  /// Raises std::out_of_range for a report without execution.
  ExecutionReport execution() const { return member<ExecutionReport>("execution"); }
  Version poplarVersion() const;
};

/// [M] Reads the report of a file: the profile.json that autoReport wrote, also by the name
/// profile.pop. It has the content that docs/reference/profile.md lists, but neither each vertex's
/// tile nor cyclesByTile nor debug contexts. Raises poplar::file_load_error, poplar::parse_error.
Report openReport(const std::string &profilePath, const std::string &debugPath = "");

} // namespace pva

#endif
