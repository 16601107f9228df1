"""lif.h in Python and in C++ are one."""

from __future__ import annotations

import re
from typing import Any, Dict, List

import pytest

from ipulse_ops.lif.cpu import abi, constants_header, libraries
from ipulse_ops.lif.network import MAX_DELAY

INTERFACE = libraries.SOURCES / "interface"
# The names in each list of constants.h, and lif.h with the fields that it makes of them.
LISTS: Dict[str, List[str]] = {
    name: re.findall(r"X\((\w+)", body)
    for name, body in re.findall(
        r"#define (\w+)\(X\) \\\n((?:.*\\\n)*.*)", constants_header.PATH.read_text("utf-8")
    )
}
LISTS["LIF_GRADIENTS"] = LISTS["LIF_GRADIENTS_OF_ALL"] + LISTS["LIF_GRADIENTS_OF_SPIKING"]
HEADER = re.sub(
    r"(LIF_\w+)\(LIF_FIELD\)",
    lambda match: "".join(f"float *{name};\n" for name in LISTS[match.group(1)]),
    re.sub(r"#(define LIF_FIELD|undef).*", "", (INTERFACE / "lif.h").read_text("utf-8")),
)
ENUMERATORS = {
    name: int(value)
    for body in re.findall(r"enum \w*\s*{(.*?)}", HEADER, re.DOTALL)
    for name, value in re.findall(r"(\w+) = (\d+)", body)
}
CHOICES: Dict[str, Dict[Any, int]] = {
    "LIF_RESET_": abi.RESET,
    "LIF_RESET_ON_": abi.RESET_ON,
    "LIF_RESET_GRADIENT_": abi.RESET_GRADIENT,
    "LIF_POLICY_": abi.POLICY,
    "LIF_": {kind.__name__: number for kind, number in abi.SURROGATE.items()},
    "LIF_WEIGHTS_": abi.WEIGHTS,
    "LIF_STORE_": abi.STORE,
}
SINGLE = {
    "LIF_MAX_DELAY": MAX_DELAY,
    "LIF_ABI_VERSION": abi.VERSION,
    "LIF_OUT_OF_MEMORY": abi.OUT_OF_MEMORY,
    "LIF_PHASE_LAYERS": abi.PHASE_LAYERS,
}


def test_the_header_of_constants_is_that_of_the_table() -> None:
    """`python -m ipulse_ops.lif.cpu.constants_header` writes it."""
    assert constants_header.PATH.read_text("utf-8") == constants_header.header()


class TestNumbers:
    def test_every_number_is_that_of_the_header(self) -> None:
        ours = dict(SINGLE)
        for prefix, choices in CHOICES.items():
            ours.update({prefix + name.upper(): number for name, number in choices.items()})
        # Python distinguishes only one of the results of a call.
        assert ours == {
            name: number
            for name, number in ENUMERATORS.items()
            if name not in ("LIF_OK", "LIF_INVALID")
        }

    def test_success_is_what_is_not_an_error(self) -> None:
        assert ENUMERATORS["LIF_OK"] == 0
        assert ENUMERATORS["LIF_INVALID"] not in (0, abi.OUT_OF_MEMORY)


class TestStructs:
    @pytest.mark.parametrize(
        "struct",
        [
            abi.LifSurrogate,
            abi.LifLayer,
            abi.LifNetwork,
            abi.LifRecord,
            abi.LifForward,
            abi.LifGradient,
            abi.LifBackward,
        ],
    )
    def test_fields_have_the_names_and_order_of_the_header(self, struct: Any) -> None:
        match = re.search(rf"typedef struct {struct.__name__} {{(.*?)}}", HEADER, re.DOTALL)
        assert match, struct
        body = re.sub(r"//[^\n]*", "", match.group(1))
        names = [
            re.findall(r"\w+", declared)[-1]
            for line in body.split(";")
            for declared in line.split(",")
            if line.strip()
        ]
        assert names == [name for name, _ in struct._fields_]
