"""Neurons as equations, known ones and random ones."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any, Dict, List, Sequence

from ipulse_core.equations.neuron import InvalidEquations, NeuronEquations, read_neuron
from ipulse_core.equations.parser import FUNCTIONS
from ipulse_core.equations.tree import ARITIES

State = Dict[str, Any]


class Described:
    """The fields of a part of a spec."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def neuron_document(
    states: Sequence[State], spike: str, parameters: Sequence[Dict[str, Any]] = (), **more: Any
) -> Dict[str, Any]:
    """The `neuron` of a spec."""
    return {"states": list(states), "spike": spike, "parameters": list(parameters), **more}


def neuron_of(document: Dict[str, Any]) -> NeuronEquations:
    """The neuron of a document, with defaults as in the spec."""
    return read_neuron(
        Described(
            name=document.get("name", "own"),
            spike=document["spike"],
            states=[
                Described(**{"initial": 0.0, "update": None, "reset": None, **state})
                for state in document["states"]
            ],
            parameters=[
                Described(
                    **{
                        "minimum": None,
                        "maximum": None,
                        "per": "neuron",
                        "trainable": False,
                        **parameter,
                    }
                )
                for parameter in document.get("parameters", ())
            ],
        )
    )


RESETS = {"zero": "where(r, 0, u)", "subtract": "u - detach(r) * theta", "none": "u"}


def lif(reset: str = "zero", gain: float = 10.0, **trained: bool) -> Dict[str, Any]:
    """The leaky integrate-and-fire neuron of dense layers."""
    update = "decay * u + scale * I"
    state = {"name": "u", "update": update, "reset": RESETS[reset]}
    parameters = [
        {"name": "decay", "value": 0.9},
        {"name": "scale", "value": gain},
        {"name": "theta", "value": 1.0},
    ]
    for parameter in parameters:
        parameter["trainable"] = trained.get(str(parameter["name"]), False)
    return neuron_document([state], "u - theta", parameters, name="lif")


def random_expression(random: Random, names: Sequence[str], levels: int = 3) -> str:
    """An expression with moderate values and derivatives."""
    if levels == 0 or random.random() < 0.15:
        if random.random() < 0.25:
            return f"{random.uniform(-2, 2):.3f}"
        return random.choice(list(names))
    a, b, c = (random_expression(random, names, levels - 1) for _ in range(3))
    forms: List[str] = [
        f"({a} + {b})",
        f"({a} - {b})",
        f"0.5 * ({a}) * tanh({b})",
        f"({a}) / (1.5 + square({b}))",
        f"-({a})",
        f"min({a}, {b})",
        f"max({a}, {b})",
        f"abs({a})",
        f"where(({a}) < ({b}), {c}, {a})",
        f"square(tanh({a}))",
        f"sqrt(1 + square({a}))",
        f"exp(tanh({a}))",
        f"tanh({a})",
        f"log(1.5 + square({a}))",
        f"detach({a}) + ({b})",
        f"(({a}) >= ({b})) * ({c})",
    ]
    return random.choice(forms)


def random_neuron(random: Random) -> NeuronEquations:
    """A neuron with two states, three parameters, and bounded states."""
    for _ in range(100):
        common = ["u", "a", "p", "q", "s", "I"]
        below = random_expression(random, common, 1)
        document = neuron_document(
            [
                {
                    "name": "u",
                    "initial": 0.1,
                    "update": f"0.7 * u + tanh({random_expression(random, common, 2)}) + 0.3*I*p",
                    "reset": f"u - 0.3 * r * tanh({random_expression(random, common, 1)})",
                },
                {
                    "name": "a",
                    "update": f"0.5 * a + 0.2 * tanh(new(u) + {below})",
                    "reset": "a + 0.4 * r * q",
                },
            ],
            f"u - 0.2 * a + 0.1 * tanh({random_expression(random, common, 1)}) - 0.3 + 0 * s",
            [
                {"name": "p", "value": 0.9, "trainable": True},
                {"name": "q", "value": (0.2, -0.4, 0.6), "trainable": True},
                {"name": "s", "value": 0.5, "per": "layer", "trainable": True},
            ],
        )
        with contextlib.suppress(InvalidEquations):  # too many operations
            return neuron_of(document)
    raise AssertionError("no neuron is small enough")


def random_text(random: Random) -> str:
    """Anything between an expression and noise."""
    parts = [*"+-*/(),<>=! .^u\t", "==", "<=", "I", "r", "u", "a", "new(u)", "1e309", "0.5", "1e-3"]
    parts += [f"{name}(" for name in (*FUNCTIONS, "new", "sin")]
    parts += ["é", "\x00", "lambda", "__import__", ")" * 20, "(" * 20]
    if random.random() < 0.5:
        text = random_expression(random, ["u", "a", "I"], random.randrange(4))
        at = random.randrange(len(text) + 1)
        return text[:at] + random.choice(parts) + text[at + random.randrange(3) :]
    return "".join(random.choice(parts) for _ in range(random.randrange(12)))


assert set(FUNCTIONS) <= set(ARITIES)
