#include <algorithm>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <ostream>

#include <poplar/CodeletFileType.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/TensorCloneMethod.hpp>
#include <poplar/Type.hpp>
#include <poplar/VariableMappingMethod.hpp>
#include <poplar/VectorLayout.hpp>
#include <poplar/exceptions.hpp>

#include "profile/profile.h"

namespace poplar {

Type BOOL{Type::Id::Bool};
Type CHAR{Type::Id::Char};
Type UNSIGNED_CHAR{Type::Id::UnsignedChar};
Type SIGNED_CHAR{Type::Id::SignedChar};
Type UNSIGNED_SHORT{Type::Id::UnsignedShort};
Type SHORT{Type::Id::Short};
Type UNSIGNED_INT{Type::Id::UnsignedInt};
Type INT{Type::Id::Int};
Type UNSIGNED_LONG{Type::Id::UnsignedLong};
Type LONG{Type::Id::Long};
Type UNSIGNED_LONGLONG{Type::Id::UnsignedLongLong};
Type LONGLONG{Type::Id::LongLong};
Type HALF{Type::Id::Half};
Type FLOAT{Type::Id::Float};
Type QUARTER{Type::Id::Quarter};
Type QUARTER_METADATA{Type::Id::QuarterMetadata};

StringRef Type::toString() const {
  switch (id) {
  case Id::None:
    return "none";
  case Id::Bool:
    return "bool";
  case Id::Char:
    return "char";
  case Id::UnsignedChar:
    return "unsigned char";
  case Id::SignedChar:
    return "signed char";
  case Id::UnsignedShort:
    return "unsigned short";
  case Id::Short:
    return "short";
  case Id::UnsignedInt:
    return "unsigned int";
  case Id::Int:
    return "int";
  case Id::UnsignedLong:
    return "unsigned long";
  case Id::Long:
    return "long";
  case Id::UnsignedLongLong:
    return "unsigned long long";
  case Id::LongLong:
    return "long long";
  case Id::Half:
    return "half";
  case Id::Float:
    return "float";
  case Id::Quarter:
    return "quarter";
  case Id::QuarterMetadata:
    return "quarter_metadata";
  }
  return "none";
}

std::ostream &operator<<(std::ostream &os, const Type &t) { return os << t.toString(); }

std::string toString(TargetType t) {
  switch (t) {
  case TargetType::IPU:
    return "IPU";
  case TargetType::IPU_MODEL:
    return "IPU_MODEL";
  case TargetType::CPU:
    return "CPU";
  }
  return "";
}

std::string toString(RecoveryAction action) {
  switch (action) {
  case RecoveryAction::IPU_RESET:
    return "IPU_RESET";
  case RecoveryAction::LINK_RESET:
    return "LINK_RESET";
  case RecoveryAction::PARTITION_RESET:
    return "PARTITION_RESET";
  case RecoveryAction::FULL_RESET:
    return "FULL_RESET";
  }
  return "";
}

std::string toString(const TensorCloneMethod &method) {
  switch (method) {
  case TensorCloneMethod::PRESERVE_ORDER_AND_ALIASES:
    return "PRESERVE_ORDER_AND_ALIASES";
  case TensorCloneMethod::CREATE_NEW_ORDER:
    return "CREATE_NEW_ORDER";
  case TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES:
    return "PRESERVE_ORDER_UNLESS_ALIASES";
  case TensorCloneMethod::GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES:
    return "GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES";
  }
  return "";
}

std::string toString(const VariableMappingMethod &method) {
  return method == VariableMappingMethod::NONE ? "NONE" : "LINEAR";
}

std::string to_string(const VectorLayout &v) {
  switch (v) {
  case VectorLayout::NOT_APPLICABLE:
    return "NOT_APPLICABLE";
  case VectorLayout::NOT_VECTOR:
    return "NOT_VECTOR";
  case VectorLayout::SPAN:
    return "SPAN";
  case VectorLayout::SHORT_SPAN:
    return "SHORT_SPAN";
  case VectorLayout::ONE_PTR:
    return "ONE_PTR";
  case VectorLayout::SCALED_PTR32:
    return "SCALED_PTR32";
  case VectorLayout::SCALED_PTR64:
    return "SCALED_PTR64";
  case VectorLayout::SCALED_PTR128:
    return "SCALED_PTR128";
  case VectorLayout::COMPACT_PTR:
    return "COMPACT_PTR";
  }
  return "";
}

std::string to_string(const VectorListLayout &v) {
  switch (v) {
  case VectorListLayout::NOT_APPLICABLE:
    return "NOT_APPLICABLE";
  case VectorListLayout::NOT_VECTOR:
    return "NOT_VECTOR";
  case VectorListLayout::DELTAN:
    return "DELTAN";
  case VectorListLayout::DELTANELEMENTS:
    return "DELTANELEMENTS";
  case VectorListLayout::COMPACT_DELTAN:
    return "COMPACT_DELTAN";
  }
  return "";
}

CodeletFileType getCodeletFileType(StringRef path) {
  const std::string p = path;
  const std::size_t dot = p.rfind('.');
  const std::string end = dot == std::string::npos ? "" : p.substr(dot);
  if (end == ".cpp" || end == ".cc" || end == ".cxx" || end == ".C")
    return CodeletFileType::CppSource;
  if (end == ".c")
    return CodeletFileType::CSource;
  if (end == ".gp")
    return CodeletFileType::Object;
  if (end == ".s")
    return CodeletFileType::AsmSource;
  if (end == ".S")
    return CodeletFileType::PreprocessedAsmSource;
  throw file_load_error("'" + p +
                        "' has not the extension of a codelet file: expected .cpp, .cc, "
                        ".c, .s, .S or .gp");
}

std::string getExtensionFromFileType(CodeletFileType type) {
  switch (type) {
  case CodeletFileType::PreprocessedAsmSource:
    return ".S";
  case CodeletFileType::AsmSource:
    return ".s";
  case CodeletFileType::CSource:
    return ".c";
  case CodeletFileType::CppSource:
    return ".cpp";
  case CodeletFileType::IrSource:
    return ".ll";
  case CodeletFileType::Object:
    return ".gp";
  case CodeletFileType::Auto:
    return "";
  }
  return "";
}

std::string getLanguageOption(CodeletFileType type) {
  return type == CodeletFileType::CSource ? "-x c" : "-x c++";
}

std::ostream &operator<<(std::ostream &os, const OptionFlags &flags) {
  os << '{';
  const char *between = "";
  for (const auto &flag : flags) {
    os << between << '"' << flag.first << "\": \"" << flag.second << '"';
    between = ", ";
  }
  return os << '}';
}

void readJSON(StringRef json, OptionFlags &flags) {
  const auto fail = [&] {
    throw parse_error("expected a JSON object of strings, as {\"option\": \"value\"}; got: " +
                      std::string(json));
  };
  ProfileValue read;
  try {
    read = emulator::parseJSON(json);
  } catch (const parse_error &) {
    fail();
  }
  if (read.type() != ProfileValue::Type::MAP)
    fail();
  for (const auto &option : read.asMap())
    if (option.second.type() != ProfileValue::Type::STRING)
      fail();
  for (const auto &option : read.asMap())
    flags.set(option.first, option.second.asString());
}

void readJSON(std::istream &stream, OptionFlags &flags) {
  readJSON(std::string(std::istreambuf_iterator<char>(stream), {}), flags);
}
void readJSONFromEnv(StringRef name, OptionFlags &flags) {
  if (const char *value = std::getenv(name.cloneAsString().c_str()))
    readJSON(value, flags);
}

StringRef versionString() { return "3.3.0 (emulated)"; }
StringRef packageHash() { return "emulated"; }

} // namespace poplar
