#include "table_source.h"

#include <sstream>

#include "compute_name.h"

namespace popc {
namespace {

std::string joined(const std::vector<std::string> &names, const std::string &open,
                   const std::string &close) {
  std::string text;
  for (const std::string &name : names)
    text += open + name + close;
  return text;
}

/// Returns the name in the generated code: unnamed namespaces add nothing.
std::string qualified(const std::vector<std::string> &namespaces, const std::string &name) {
  std::string text = "::";
  for (const std::string &one : namespaces)
    text += one.empty() ? "" : one + "::";
  return text + name;
}

} // namespace

std::string tableSource(const std::string &source, const Declarations &found, unsigned unit) {
  struct Entry {
    std::vector<std::string> namespaces;
    std::string type, className;
  };
  std::vector<Entry> entries;
  for (const VertexClass &c : found.vertices)
    if (!c.isTemplate)
      entries.push_back({c.namespaces, c.name, c.name});
  for (const Instantiation &i : found.instantiations)
    entries.push_back({i.namespaces, i.type, i.name});

  std::ostringstream code;
  // The library's headers come first, because the source may define macros of any name.
  code << "#include <poplar/VertexTable.hpp>\n#include <poplar/VertexName.hpp>\n"
       << "#include <vector>\n#include \"" << source << "\"\n";
  for (std::size_t n = 0; n < entries.size(); ++n)
    code << joined(entries[n].namespaces, "namespace ", " { ") << "using popc_vertex_" << unit
         << "_" << n << " = " << entries[n].type << ";"
         << std::string(entries[n].namespaces.size(), '}') << "\n";
  const auto alias = [&](std::size_t n) {
    return qualified(entries[n].namespaces,
                     "popc_vertex_" + std::to_string(unit) + "_" + std::to_string(n));
  };
  code << "extern \"C\" const std::size_t popc_bytes_" << unit << "[];\n"
       << "extern \"C\" const char *const popc_problems_" << unit << "[];\n"
       << "extern \"C\" const poplar::field::StaticData *const popc_data_" << unit << "[];\n";
  for (std::size_t n = 0; n < entries.size(); ++n)
    code << "extern \"C\" __attribute__((flatten)) bool " << computeName(unit, n)
         << "(void *popc_state, unsigned popc_worker) {\n  return poplar::field::computeOf<"
         << alias(n) << ">(popc_state, popc_worker);\n}\n";
  code << "extern \"C\" void popc_describe_" << unit
       << "(std::vector<poplar::field::VertexTable> &popc_all) {\n"
       << "  static_cast<void>(popc_all);\n";
  for (std::size_t n = 0; n < entries.size(); ++n) {
    code << "  if constexpr (poplar::field::HasCompute<" << alias(n) << ">::value) {\n"
         << "    using popc_class = " << alias(n) << ";\n";
    // The name of the field stands where a compiler's message names the file.
    for (const std::string &field : found.fieldsOf(entries[n].className))
      code << "#line 1 \"Field '" << entries[n].className << "." << field << "'\"\n"
           << "    poplar::field::requireSupported<decltype(popc_class::" << field << ")>();\n";
    code << "#line 1 \"popc_describe\"\n"
         << "    static const std::vector<poplar::field::FieldTable> popc_fields{\n";
    for (const std::string &field : found.fieldsOf(entries[n].className))
      code << "        poplar::field::named<decltype(popc_class::" << field << ")>(\"" << field
           << "\", __builtin_offsetof(popc_class, " << field << ")),\n";
    code << "    };\n    poplar::field::describe<popc_class>(popc_all, popc_fields, &"
         << computeName(unit, n) << ", &popc_bytes_" << unit << "[" << 2 * n << "], &popc_problems_"
         << unit << "[" << 2 * n << "], popc_data_" << unit << "[" << n << "]);\n  }\n";
  }
  code << "}\n";
  return code.str();
}

std::string collectSource(std::size_t units, const std::vector<std::string> &parts,
                          const std::string &device) {
  // Without a header, because parsing one would take most of the time.
  std::ostringstream code;
  for (std::size_t unit = 0; unit < units; ++unit)
    code << "extern \"C\" void popc_describe_" << unit << "(void *);\n";
  code << "extern \"C\" void popc_describe(void *all) {\n  static_cast<void>(all);\n";
  for (std::size_t unit = 0; unit < units; ++unit)
    code << "  popc_describe_" << unit << "(all);\n";
  code << "}\nextern \"C\" void " << kFormat << "() {}\n";
  for (std::size_t part = 0; part < parts.size(); ++part)
    code << "__asm__(\".section .rodata\\npopc_part_" << part << ": .incbin \\\"" << parts[part]
         << "\\\"\\npopc_part_end_" << part << ":\\n.previous\");\n"
         << "extern const char popc_part_" << part << "[] __asm__(\"popc_part_" << part
         << "\"), popc_part_end_" << part << "[] __asm__(\"popc_part_end_" << part << "\");\n";
  code << "extern \"C\" const char *popc_part(unsigned long part, unsigned long *bytes) {\n"
       << "  switch (part) {\n";
  for (std::size_t part = 0; part < parts.size(); ++part)
    code << "  case " << part << ":\n    *bytes = popc_part_end_" << part << " - popc_part_" << part
         << ";\n    return popc_part_" << part << ";\n";
  code << "  default:\n    return nullptr;\n  }\n}\n";
  if (!device.empty())
    code << "__asm__(\".section .rodata\\npopc_device_begin: .incbin \\\"" << device
         << "\\\"\\npopc_device_end:\\n.previous\");\n"
         << "extern const char popc_device_begin[] __asm__(\"popc_device_begin\"), "
            "popc_device_end[] __asm__(\"popc_device_end\");\n"
         << "extern \"C\" const char *popc_device(unsigned long *bytes) {\n"
         << "  *bytes = popc_device_end - popc_device_begin;\n  return popc_device_begin;\n}\n";
  return code.str();
}

} // namespace popc
