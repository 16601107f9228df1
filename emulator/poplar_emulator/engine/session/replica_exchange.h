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

/// Makes a program that copies rows of `source` of one replica to rows of `destination` of another,
/// all at once; CrossReplicaCopy and the collectives consist of it. Rows have `rowElements`
/// elements; the number of rows may differ. Raises control_program_error for an unknown replica or
/// row, and type_error.
program::Program replicaExchange(const Tensor &source, const Tensor &destination,
                                 std::size_t rowElements, std::vector<ReplicaRoute> routes,
                                 const DebugContext &debugContext);

/// Returns row `row` of an exchange.
View rowOf(const ProgramNode &node, const Tensor &t, unsigned row);

/// Adds everything that the exchange moves, between the tiles of all replicas and within them.
void addRoutes(const ProgramNode &node, Traffic &traffic);

} // namespace poplar::emulator

#endif
