#include "live_ranges.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

/// Elements of a variable, as ranges that do not touch.
class Covered {
public:
  void add(std::size_t begin, std::size_t end) {
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second >= begin)
      --it;
    while (it != ranges.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      elements -= it->second - it->first;
      it = ranges.erase(it);
    }
    ranges[begin] = end;
    elements += end - begin;
  }
  std::size_t size() const { return elements; }

private:
  std::map<std::size_t, std::size_t> ranges;
  std::size_t elements = 0;
};

} // namespace

BitSet::Block &BitSet::own(std::size_t block) {
  std::shared_ptr<Block> &at = blocks[block];
  if (!at)
    at = std::make_shared<Block>();
  else if (at.use_count() > 1)
    at = std::make_shared<Block>(*at);
  return *at;
}

bool BitSet::add(const BitSet &other) {
  bool changed = false;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!other.blocks[b] || blocks[b] == other.blocks[b])
      continue;
    bool more = false, all = true; // in the other; all of this are in the other
    for (std::size_t w = 0; w < kWords; ++w) {
      const std::uint64_t mine = blocks[b] ? (*blocks[b])[w] : 0, its = (*other.blocks[b])[w];
      more |= (its & ~mine) != 0;
      all &= (mine & ~its) == 0;
    }
    if (more && all)
      blocks[b] = other.blocks[b];
    else if (more)
      for (std::size_t w = 0; w < kWords; ++w)
        own(b)[w] |= (*other.blocks[b])[w];
    changed |= more;
  }
  return changed;
}

LiveRanges::~LiveRanges() = default;

LiveRanges::LiveRanges(const GraphState &graph,
                       const std::vector<std::shared_ptr<ProgramNode>> &programs)
    : graph(graph), always(graph.variables.size()) {
  for (const auto &program : programs)
    collect(*program);
  const BitSet none(graph.variables.size());
  around.assign(order.size(), none);
  for (const auto &program : programs)
    always.add(before(*program, none));
  BitSet used = none;
  for (const BitSet &step : around)
    used.add(step);
  const auto named = [&](const std::map<std::string, Tensor> &handles) {
    for (const auto &handle : handles)
      for (const Run &run : handle.second.view().runs())
        always.set(run.variable);
  };
  named(graph.hostWrites);
  named(graph.hostReads);
  for (unsigned v = 0; v < graph.variables.size(); ++v)
    if (graph.variables[v].constant || !graph.variables[v].initial.empty() || !used.test(v))
      always.set(v);
}

void LiveRanges::collect(const ProgramNode &node) {
  if (!access.emplace(&node, accessOf(graph, node)).second)
    return;
  const bool control = node.kind == Kind::Sequence || node.kind == Kind::Repeat ||
                       node.kind == Kind::RepeatWhile || node.kind == Kind::If ||
                       node.kind == Kind::Switch || node.kind == Kind::Call;
  if (!control) {
    indexOf[&node] = order.size();
    order.push_back(&node);
  }
  if (node.kind == Kind::Call && graph.functions[node.id])
    collect(*graph.functions[node.id]);
  for (const auto &child : node.children)
    collect(*child);
}

void LiveRanges::flatten(const ProgramNode &node, Row &row) {
  for (const auto &child : node.children) {
    if (child->kind == Kind::Sequence)
      flatten(*child, row);
    else
      row.nodes.push_back(child.get());
  }
}

/// If consecutive steps write all of a variable part by part, its previous content is dead at the
/// first of them.
void LiveRanges::joinPartWrites(Row &row) {
  struct Pending {
    std::size_t first;
    Covered covered;
  };
  std::map<unsigned, Pending> open;
  row.obsolete.resize(row.nodes.size());
  for (std::size_t i = 0; i < row.nodes.size(); ++i) {
    const ProgramNode *node = row.nodes[i];
    if (!indexOf.count(node) || !node->children.empty()) {
      open.clear();
      continue;
    }
    const ProgramAccess &own = access.at(node);
    for (const unsigned v : own.reads)
      open.erase(v);
    for (const unsigned v : own.written)
      open.erase(v);
    for (const auto &[v, pieces] : own.partWritten) {
      Pending &pending = open.emplace(v, Pending{i, {}}).first->second;
      for (const Piece &p : pieces)
        pending.covered.add(p.begin, p.end);
      if (pending.covered.size() < graph.variables[v].elements)
        continue;
      row.obsolete[pending.first].push_back(v);
      open.erase(v);
    }
  }
}

const LiveRanges::Row &LiveRanges::rowOf(const ProgramNode &node) {
  std::unique_ptr<Row> &row = rows[&node];
  if (!row) {
    row = std::make_unique<Row>();
    flatten(node, *row);
    joinPartWrites(*row);
  }
  return *row;
}

BitSet LiveRanges::before(const ProgramNode &node, BitSet after) {
  BitSet needed = after;
  switch (node.kind) {
  case Kind::Sequence:
    return beforeRow(node, std::move(after));
  case Kind::Call:
    return beforeCall(node, after);
  case Kind::RepeatWhile:
    return beforeWhile(node, after);
  case Kind::Repeat:
    if (node.id == 0)
      return after;
    // The next iteration follows: what the body needs first is live after it, too.
    while (needed.add(before(*node.children[0], needed))) {
    }
    return before(*node.children[0], std::move(needed));
  case Kind::If:
  case Kind::Switch: {
    BitSet any(graph.variables.size());
    for (const auto &child : node.children)
      any.add(before(*child, after));
    for (const unsigned v : access.at(&node).reads)
      any.set(v);
    return any;
  }
  default:
    needed = beforeStep(node, std::move(after), {});
    return node.children.empty() ? needed : before(*node.children[0], std::move(needed));
  }
}

BitSet LiveRanges::beforeStep(const ProgramNode &node, BitSet after,
                              const std::vector<unsigned> &obsolete) {
  const ProgramAccess &own = access.at(&node);
  BitSet here = after;
  for (const unsigned v : own.written) {
    here.set(v);
    after.reset(v);
  }
  for (const auto &part : own.partWritten)
    here.set(part.first);
  for (const unsigned v : obsolete)
    after.reset(v);
  for (const unsigned v : own.reads) {
    here.set(v);
    after.set(v);
  }
  here.add(after);
  around[indexOf.at(&node)].add(here);
  return after;
}

BitSet LiveRanges::beforeRow(const ProgramNode &sequence, BitSet after) {
  const Row &row = rowOf(sequence);
  for (std::size_t i = row.nodes.size(); i-- > 0;) {
    const ProgramNode &node = *row.nodes[i];
    after = row.obsolete[i].empty() ? before(node, std::move(after))
                                    : beforeStep(node, std::move(after), row.obsolete[i]);
  }
  return after;
}

BitSet LiveRanges::beforeWhile(const ProgramNode &node, const BitSet &after) {
  const ProgramNode &condition = *node.children[0], &body = *node.children[1];
  BitSet decided = after; // between the condition and the branch
  for (const unsigned v : access.at(&node).reads)
    decided.set(v);
  while (decided.add(before(body, before(condition, decided)))) {
  }
  return before(condition, std::move(decided));
}

BitSet LiveRanges::beforeCall(const ProgramNode &node, const BitSet &after) {
  if (!graph.functions[node.id])
    return after;
  CallState &state = functions[node.id];
  if (!state.known)
    state.after = state.before = BitSet(graph.variables.size());
  if (state.after.add(after) || !state.known) {
    state.known = true;
    // A function does not call itself, so that its state does not change meanwhile.
    state.before = before(*graph.functions[node.id], state.after);
  }
  return state.before;
}

} // namespace poplar::emulator
