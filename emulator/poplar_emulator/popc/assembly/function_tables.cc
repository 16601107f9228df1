#include "function_tables.h"

#include <sstream>

#include "popc/compute_name.h"

namespace popc {

std::string functionTables(const CountedAssembly &counted, const CallGraph &calls,
                           std::size_t entries, unsigned unit) {
  std::ostringstream text, strings, problems;
  unsigned count = 0;
  problems << "\t.section .data.rel.ro.local,\"aw\"\n\t.globl popc_problems_" << unit
           << "\n\t.align 8\npopc_problems_" << unit << ":\n";
  text << "\t.section .rodata\n\t.globl popc_code_bytes_" << unit
       << "\n\t.align 8\npopc_code_bytes_" << unit << ":\n";
  for (std::size_t n = 0; n < entries; ++n) {
    const std::string function = computeName(unit, n);
    const auto found = counted.instructions.find(function);
    text << "\t.quad " << (found == counted.instructions.end() ? 0 : 4 * found->second) << "\n";
    const LinkProblems of = calls.problemsOf(function);
    for (const std::string &words : {of.everywhere, of.onDevice}) {
      const std::string label = ".Lpopc_problem_" + std::to_string(count++);
      problems << "\t.quad " << (words.empty() ? "0" : label) << "\n";
      if (!words.empty())
        strings << label << ":\t.string \"" << words << "\"\n";
    }
  }
  text << "\t.quad 0\n"
       << strings.str() << problems.str()
       << "\t.quad 0\n\t.section .note.GNU-stack,\"\",@progbits\n";
  return text.str();
}

} // namespace popc
