"""The surrogates of ipulse_ops.surrogate as expressions."""

from __future__ import annotations

from typing import Optional

from ipulse_core.equations.adjoint import SURROGATE_ARGUMENT
from ipulse_core.equations.neuron import MOST_TABLE_VALUES
from ipulse_core.equations.tree import Constant, Expression, Operation, Variable
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate, Table


def surrogate_tree(surrogate: Surrogate, gate: Optional[float] = None) -> Expression:
    """Return the surrogate as an expression of SURROGATE_ARGUMENT.

    gate: the expression is 0 where its argument is not above it; None: nowhere.

    Raises ValueError for a table of more than MOST_TABLE_VALUES values.
    """
    tree = _tree(surrogate)
    if gate is None:
        return tree
    above = Operation("greater", (Variable(SURROGATE_ARGUMENT), Constant(gate)))
    return Operation("where", (above, tree, Constant(0.0)))


def _tree(surrogate: Surrogate) -> Expression:
    x, one = Variable(SURROGATE_ARGUMENT), Constant(1.0)
    size = Operation("abs", (x,))
    if isinstance(surrogate, SuperSpike):
        below = Operation("add", (Operation("multiply", (Constant(surrogate.slope), size)), one))
        return Operation("divide", (one, Operation("square", (below,))))
    if isinstance(surrogate, ArcTan):
        scaled = Operation("multiply", (Constant(surrogate.slope), x))
        below = Operation("add", (Operation("square", (scaled,)), one))
        return Operation("divide", (one, below))
    if isinstance(surrogate, Boxcar):
        return Operation("less", (size, Constant(surrogate.half_width)))
    if isinstance(surrogate, Exponential):
        exponent = Operation("multiply", (Constant(-surrogate.slope), size))
        return Operation("exp", (exponent,))
    return _table(surrogate, x, size)


def _table(table: Table, x: Expression, size: Expression) -> Expression:
    """Return the line through the two values around x, and 0 beyond the width."""
    values, most = table.values, MOST_TABLE_VALUES
    if len(values) > most:
        raise ValueError(
            f"a table of {len(values):,} values is no surrogate of neurons with equations, which "
            f"have tables of at most {most}: use fewer values"
        )
    per_width = Constant((len(values) - 1) / (2 * table.width))
    moved = Operation("add", (x, Constant(table.width)))
    place = Operation("multiply", (moved, per_width))
    tree: Expression = Constant(0.0)
    for k in range(len(values) - 2, -1, -1):
        along = Operation("subtract", (place, Constant(float(k))))
        rise = Operation("multiply", (along, Constant(values[k + 1] - values[k])))
        line = Operation("add", (Constant(values[k]), rise))
        is_last = k == len(values) - 2
        before = Operation("less", (place, Constant(float(k + 1))))
        tree = line if is_last else Operation("where", (before, line, tree))
    inside = Operation("less_equal", (size, Constant(table.width)))
    return Operation("where", (inside, tree, Constant(0.0)))
