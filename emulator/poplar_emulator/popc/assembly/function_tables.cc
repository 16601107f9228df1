#include "function_tables.h"

#include <sstream>

#include "popc/compute_name.h"

namespace popc {

std::string functionTables(const CountedAssembly &counted, const CallGraph &calls,
                           std::size_t entries, unsigned unit) {
  std::ostringstream text, strings, problems, data, lists;
  unsigned count = 0;
  const char *const pointers = "\t.section .data.rel.ro.local,\"aw\"\n\t.align 8\n";
  problems << pointers << "\t.globl popc_problems_" << unit << "\npopc_problems_" << unit << ":\n";
  data << "\t.globl popc_data_" << unit << "\npopc_data_" << unit << ":\n";
  text << "\t.section .rodata\n\t.globl popc_bytes_" << unit << "\n\t.align 8\npopc_bytes_" << unit
       << ":\n";
  for (std::size_t n = 0; n < entries; ++n) {
    const std::string function = computeName(unit, n);
    const auto found = counted.instructions.find(function);
    text << "\t.quad " << (found == counted.instructions.end() ? 0 : 4 * found->second) << ", "
         << calls.stackOf(function) << "\n";
    const LinkProblems of = calls.problemsOf(function);
    for (const std::string &words : {of.everywhere, of.onDevice}) {
      const std::string label = ".Lpopc_problem_" + std::to_string(count++);
      problems << "\t.quad " << (words.empty() ? "0" : label) << "\n";
      if (!words.empty())
        strings << label << ":\t.string \"" << words << "\"\n";
    }
    data << "\t.quad .Lpopc_data_" << n << "\n";
    lists << ".Lpopc_data_" << n << ":\n";
    for (const auto &[name, bytes] : calls.dataOf(function))
      lists << "\t.quad " << name << ", " << bytes << "\n";
    lists << "\t.quad 0\n";
  }
  text << "\t.quad 0\n" << strings.str() << problems.str() << "\t.quad 0\n";
  text << data.str() << "\t.quad 0\n" << lists.str();
  text << "\t.section .note.GNU-stack,\"\",@progbits\n";
  return text.str();
}

} // namespace popc
