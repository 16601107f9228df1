#ifndef poplar_CodeletFileType_hpp
#define poplar_CodeletFileType_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <string>

#include <poplar/StringRef.hpp>

namespace poplar {

enum class CodeletFileType {
  PreprocessedAsmSource,
  AsmSource,
  CSource,
  CppSource,
  IrSource,
  Object,
  Auto,
};
/// Raises file_load_error for an extension that no codelet file has.
CodeletFileType getCodeletFileType(StringRef path);
std::string getExtensionFromFileType(CodeletFileType type);
std::string getLanguageOption(CodeletFileType type);

} // namespace poplar

#endif
