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

} // namespace pva

#endif
