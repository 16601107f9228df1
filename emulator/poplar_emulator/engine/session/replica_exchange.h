#ifndef IPULSE_EMULATOR_REPLICA_EXCHANGE_H
#define IPULSE_EMULATOR_REPLICA_EXCHANGE_H

#include <cstddef>
#include <vector>

#include <poplar/Program.hpp>

#include "executable/compiled.h"
#include "memory/tile_addresses.h"
#include "tensor/view.h"

namespace poplar::emulator {

class Traffic;

/// A program that takes rows of `source` of one replica to rows of `destination` of another, all of
/// them at once: what CrossReplicaCopy and the collectives are made of. Both are of rows of
/// `rowElements` elements; the source may have fewer rows than the destination, or more. Raises
/// control_program_error for a replica or a row that there is not, type_error.
program::Program replicaExchange(const Tensor &source, const Tensor &destination,
                                 std::size_t rowElements, std::vector<ReplicaRoute> routes,
                                 const DebugContext &debugContext);

/// Row `row` of the rows of an exchange.
View rowOf(const ProgramNode &node, const Tensor &t, unsigned row);

/// What the exchange moves between the tiles of all replicas, and within them.
void addRoutes(const ProgramNode &node, Traffic &traffic);

} // namespace poplar::emulator

#endif
