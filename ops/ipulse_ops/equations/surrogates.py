"""The surrogates of ipulse_ops.surrogate as expressions."""

from __future__ import annotations

from typing import Optional

from ipulse_core.equations.adjoint import SURROGATE_ARGUMENT
from ipulse_core.equations.tree import Constant, Expression, Operation, Variable
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate


def surrogate_tree(surrogate: Surrogate, gate: Optional[float] = None) -> Expression:
    """Return the surrogate as an expression of SURROGATE_ARGUMENT.

    gate: the expression is 0 where its argument is not above it; None: nowhere.

    Raises ValueError for a table, which is no expression.
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
    raise ValueError("a table is no surrogate of neurons with equations: choose another shape")
