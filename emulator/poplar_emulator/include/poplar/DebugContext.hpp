#ifndef poplar_DebugContext_hpp
#define poplar_DebugContext_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>

#include <poplar/ProfileValue.hpp>
#include <poplar/StringRef.hpp>

namespace poplar {

using DebugId = std::uint64_t;

/// The place in the source where a name was given.
class SourceLocation {
public:
  SourceLocation() = default;
  SourceLocation(StringRef function, StringRef file, unsigned line)
      : function(function), file(file), line(line) {}
  const std::string &getFunctionName() const { return function; }
  const std::string &getFileName() const { return file; }
  unsigned getLineNumber() const { return line; }
  bool isValid() const { return !file.empty(); }
  static SourceLocation Current(const char *function = __builtin_FUNCTION(),
                                const char *file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) {
    return {function, file, line};
  }

private:
  std::string function, file;
  unsigned line = 0;
};

class DebugInfo;
class DebugContext;

/// A name below the name of a parent: "parent/name".
class DebugNameAndId {
public:
  DebugNameAndId(std::string name, DebugId id = {}, std::string parentPath = "")
      : id(id), parent(std::move(parentPath)), name(std::move(name)) {}
  DebugNameAndId(StringRef name = "") : DebugNameAndId(name.cloneAsString()) {}
  DebugNameAndId(const char *name) : DebugNameAndId(std::string(name)) {}
  DebugNameAndId(DebugId id) : id(id) {}
  DebugNameAndId(const DebugInfo &info, StringRef name = "");
  DebugNameAndId(const DebugNameAndId &parent, StringRef name)
      : id(parent.id), parent(parent.getPathName()), name(name) {}

  std::string getName() const { return name; }
  std::string getPathName() const {
    return parent.empty() || name.empty() ? parent + name : parent + "/" + name;
  }
  DebugId getParentId() const { return id; }

private:
  DebugId id = 0;
  std::string parent, name;
};

/// Debug information that a call passes on, so that what it creates has the caller's name.
class DebugContext {
public:
  DebugContext(SourceLocation loc = SourceLocation::Current()) : loc(std::move(loc)) {}
  DebugContext(const char *name, SourceLocation loc = SourceLocation::Current())
      : path(name), loc(std::move(loc)) {}
  DebugContext(StringRef name, SourceLocation loc = SourceLocation::Current())
      : path(name), loc(std::move(loc)) {}
  DebugContext(std::string name, SourceLocation loc = SourceLocation::Current())
      : path(std::move(name)), loc(std::move(loc)) {}
  DebugContext(const DebugNameAndId &base, StringRef name = "",
               SourceLocation loc = SourceLocation::Current())
      : path(DebugNameAndId(base, name).getPathName()), loc(std::move(loc)) {}
  DebugContext(const DebugInfo &base, StringRef name = "",
               SourceLocation loc = SourceLocation::Current());
  // For contexts themselves; a value that converts to one is a name and becomes a DebugNameAndId.
  template <typename Context,
            typename = typename std::enable_if<std::is_same<Context, DebugContext>::value>::type>
  DebugContext(const Context &base, StringRef name)
      : path(DebugNameAndId(DebugNameAndId(base.path), name).getPathName()), loc(base.loc) {}
  DebugContext(const DebugContext &) = default;
  DebugContext(DebugContext &&) = default;

  std::string getPathName() const { return path; }
  const SourceLocation &getLocation() const { return loc; }

private:
  std::string path;
  SourceLocation loc;
};

/// Created by a library function from its argument; `api` names the function's library.
class DebugInfo {
public:
  DebugInfo(const DebugContext &context, std::string api)
      : path(context.getPathName()), api(std::move(api)) {}
  virtual ~DebugInfo() = default;
  DebugInfo(const DebugInfo &) = delete;
  DebugInfo &operator=(const DebugInfo &) = delete;

  DebugId getId() const { return 0; }
  std::string getPathName() const { return path; }
  /// Reports do not contain debug values: this one is not kept.
  bool setValue(const std::string &, const ProfileValue &) { return true; }

private:
  std::string path, api;
};

inline DebugNameAndId::DebugNameAndId(const DebugInfo &info, StringRef name)
    : parent(info.getPathName()), name(name) {}
inline DebugContext::DebugContext(const DebugInfo &base, StringRef name, SourceLocation loc)
    : path(DebugNameAndId(base, name).getPathName()), loc(std::move(loc)) {}

} // namespace poplar

#endif
