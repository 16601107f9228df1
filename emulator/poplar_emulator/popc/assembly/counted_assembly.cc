#include "counted_assembly.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <sstream>
#include <vector>

#include <poplar/TileState.hpp>

#include "popc/starts_with.h"

namespace popc {
namespace {

const char *const kMarker = "__sanitizer_cov_trace_pc";

// Bundles of operations that are one instruction or call here and several on a tile: PopLibs'
// published cycles per vector, divided by the vector's width (popopsCycleEstimators.cpp).
const std::map<std::string, unsigned> kCallBundles{
    {"expf", 3},           {"logf", 6},          {"tanhf", 6},         {"sqrtf", 5},
    {"powf", 312},         {"sinf", 2300},       {"cosf", 2300},       {"tanf", 5100},
    {"fmodf", 66},         {"fmaf", 1},          {"__extendhfsf2", 1}, {"__truncsfhf2", 1},
    {"__gnu_h2f_ieee", 1}, {"__gnu_f2h_ieee", 1}};
constexpr unsigned kFloatDivide = 5;
constexpr unsigned kFloatRoot = 5;
constexpr unsigned kIntegerDivide = 277;
// A tile stores words: a smaller store reads, inserts and writes (inferred).
constexpr unsigned kSubWordStore = 3;

struct Instruction {
  std::string name;
  std::vector<std::string> operands;
};

Instruction parse(const std::string &line) {
  Instruction result;
  std::istringstream words(line);
  words >> result.name;
  std::string rest, operand;
  std::getline(words, rest);
  int depth = 0;
  for (const char c : rest) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      result.operands.push_back(operand);
      operand.clear();
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      operand += c;
    }
  }
  if (!operand.empty())
    result.operands.push_back(operand);
  return result;
}

bool ends(const std::string &s, const char *suffix) {
  const std::size_t n = std::strlen(suffix);
  return s.size() >= n && s.compare(s.size() - n, n, suffix) == 0;
}

/// The stack holds what the host's compiler spilled, and rip-relative data constants: on a tile
/// these are registers and immediates.
bool isMemory(const std::string &operand) {
  return operand.find('(') != std::string::npos && operand.find("(%rsp") == std::string::npos &&
         operand.find("(%rip") == std::string::npos;
}
bool isVectorRegister(const std::string &operand) { return operand.find("%xmm") == 0; }

bool isFloatArithmetic(const std::string &name) {
  static const std::set<std::string> stems{"add", "sub",   "mul",  "div",   "sqrt", "max",
                                           "min", "ucomi", "comi", "and",   "andn", "or",
                                           "xor", "cmp",   "rcp",  "rsqrt", "round"};
  if (startsWith(name, "cvt"))
    return true;
  if (!(ends(name, "ss") || ends(name, "sd") || ends(name, "ps") || ends(name, "pd")))
    return false;
  const std::string stem = name.substr(0, name.size() - 2);
  return stems.count(stem) || startsWith(stem, "cmp");
}

bool isMove(const std::string &name) { return startsWith(name, "mov") || startsWith(name, "cltq"); }

unsigned storeCost(const std::string &name) {
  return name == "movb" || name == "movw" || startsWith(name, "set") || startsWith(name, "pextr")
             ? kSubWordStore
             : 1;
}

BlockCost costOf(const Instruction &i) {
  static const std::set<std::string> free{"push", "pushq", "pop",     "popq",  "ret",   "nop",
                                          "nopl", "nopw",  "endbr64", "lea",   "leaq",  "leal",
                                          "cltq", "cqto",  "cltd",    "leave", "xchgw", "data16"};
  BlockCost cost;
  if (free.count(i.name))
    return cost;
  if (startsWith(i.name, "call") || (startsWith(i.name, "jmp") && !i.operands.empty() &&
                                     i.operands[0][0] != '.' && i.operands[0][0] != '*')) {
    const std::string callee =
        i.operands.empty() ? "" : i.operands[0].substr(0, i.operands[0].find('@'));
    const auto known = kCallBundles.find(callee);
    cost.main = 1;
    if (known != kCallBundles.end())
      cost.aux = known->second, cost.flops = 1;
    return cost;
  }
  if (i.name[0] == 'j') {
    cost.main = 1;
    return cost;
  }
  const std::string none;
  const std::string &last = i.operands.empty() ? none : i.operands.back();
  const bool comparison = startsWith(i.name, "cmp") || startsWith(i.name, "test") ||
                          startsWith(i.name, "ucomi") || startsWith(i.name, "comi");
  for (std::size_t n = 0; n + 1 < i.operands.size(); ++n)
    cost.loads += isMemory(i.operands[n]);
  if (isMemory(last)) {
    if (comparison || i.operands.size() == 1)
      ++cost.loads;
    else if (isMove(i.name) || startsWith(i.name, "set"))
      ++cost.stores;
    else
      ++cost.loads, ++cost.stores; // read, changed and written
  }
  cost.main = cost.loads + cost.stores * storeCost(i.name);
  if (isMove(i.name))
    return cost;
  const bool zeroing = i.operands.size() == 2 && i.operands[0] == last &&
                       (startsWith(i.name, "xor") || startsWith(i.name, "pxor"));
  if (zeroing)
    return cost;
  if (isFloatArithmetic(i.name) || isVectorRegister(last)) {
    ++cost.aux;
    ++cost.flops;
    if (startsWith(i.name, "div"))
      cost.aux += kFloatDivide - 1;
    if (startsWith(i.name, "sqrt"))
      cost.aux += kFloatRoot - 1;
  } else {
    cost.main += 1;
    if (startsWith(i.name, "div") || startsWith(i.name, "idiv"))
      cost.main += kIntegerDivide - 1;
  }
  return cost;
}

void add(BlockCost &sum, const BlockCost &cost) {
  sum.main += cost.main;
  sum.aux += cost.aux;
  sum.loads += cost.loads;
  sum.stores += cost.stores;
  sum.flops += cost.flops;
}

/// part: of the counters that the block adds to.
std::string increments(const BlockCost &cost, std::size_t part) {
  using poplar::emulator::Counters;
  std::ostringstream text;
  text << "\tmovq\tpopc_counters@gottpoff(%rip), %rax\n";
  const auto add = [&](std::size_t parts, unsigned amount) {
    if (amount)
      text << "\taddq\t$" << amount << ", %fs:" << parts + sizeof(std::uint64_t) * part
           << "(%rax)\n";
  };
  add(offsetof(Counters, bundlesParts), cost.bundles());
  add(offsetof(Counters, flopsParts), cost.flops);
  return text.str();
}

/// The counting code replaces the block's marker once the end of the block is known.
struct Block {
  std::size_t line;
  bool tail; // the marker was the function's last statement
  BlockCost cost;
};

} // namespace

CountedAssembly countBlocks(const std::string &assembly) {
  CountedAssembly result;
  std::vector<std::string> lines;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);

  std::vector<Block> blocks;
  BlockCost before; // of code after a label and before its marker: it belongs to the marker's block
  bool afterLabel = false;
  std::string function;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string &line = lines[n];
    if (line.empty() || line[0] == '#')
      continue;
    if (line[0] != '\t' && line[0] != ' ') {
      if (!startsWith(line, ".L")) {
        function = line.substr(0, line.find(':'));
        before = {};
      }
      if (!blocks.empty())
        add(blocks.back().cost, before);
      before = {};
      afterLabel = true;
      continue;
    }
    const Instruction i = parse(line);
    if (i.name.empty() || i.name[0] == '.' || i.name[0] == '#')
      continue;
    if (!i.operands.empty() && startsWith(i.operands[0], kMarker)) {
      blocks.push_back({n, startsWith(i.name, "jmp"), before});
      before = {};
      afterLabel = false;
      continue;
    }
    ++result.instructions[function];
    if (afterLabel)
      add(before, costOf(i));
    else if (!blocks.empty())
      add(blocks.back().cost, costOf(i));
  }
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    const std::size_t part = n % poplar::emulator::Counters::kParts;
    lines[blocks[n].line] = increments(blocks[n].cost, part) + (blocks[n].tail ? "\tret" : "");
  }
  for (const std::string &line : lines)
    result.text += line + "\n";
  return result;
}

} // namespace popc
