#ifndef pva_ReportNode_hpp
#define pva_ReportNode_hpp

// Not part of libpva: the base of its classes here.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace poplar {
class ProfileValue;
namespace emulator {
struct ReportData;
}
} // namespace poplar

namespace pva {

/// A position in a report, which it keeps alive. Members that the report lacks raise
/// std::out_of_range.
class ReportNode {
public:
  using Data = std::shared_ptr<const poplar::emulator::ReportData>;
  ReportNode(Data data, const poplar::ProfileValue *value) : data(std::move(data)), value(value) {}

protected:
  std::uint64_t number(const char *name) const;
  double real(const char *name) const;
  std::string text(const char *name) const;
  template <typename T> T member(const char *name) const {
    const ReportNode found = at(name);
    return T(found.data, found.value);
  }
  template <typename T> std::vector<T> list(const char *name) const {
    std::vector<T> made;
    for (const ReportNode &element : elements(name))
      made.emplace_back(element.data, element.value);
    return made;
  }
  /// Entry `i` of a list of the report's compilation.
  template <typename T> T compiled(const char *name, std::uint64_t i) const {
    const ReportNode found = ofCompilation(name, i);
    return T(found.data, found.value);
  }

  Data data;
  const poplar::ProfileValue *value;

private:
  ReportNode at(const char *name) const;
  std::vector<ReportNode> elements(const char *name) const;
  ReportNode ofCompilation(const char *name, std::uint64_t i) const;
};

} // namespace pva

#endif
