#ifndef poplar_replication_factor_hpp
#define poplar_replication_factor_hpp

namespace poplar {

/// The number of copies of the graph that run in parallel, each on its share of the target's IPUs.
struct replication_factor {
  explicit replication_factor(unsigned value) : value(value) {}
  unsigned value;
};

} // namespace poplar

#endif
