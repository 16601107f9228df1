"""GRU layers with attention, vanilla recurrent layers and pre-arranged operands in float64."""

from __future__ import annotations

import subprocess
from typing import Callable, Dict

import numpy as np
import pytest

from tests.emulator.poplibs.test_layers import close, derivative, sigmoid
from tests.emulator.printed import Tensors, printed_tensors

TIME, BATCH = 4, 3
ENDS = {"plain": [4, 1, 2], "scored": [TIME] * BATCH, "after": [4, 1, 2]}


@pytest.fixture(scope="module")
def tensors(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> Tensors:
    done = run_program("recurrent")
    assert done.returncode == 0, done.stderr
    return printed_tensors(done.stdout)


def gru(
    ends: np.ndarray,
    x: np.ndarray,
    initial: np.ndarray,
    wi: np.ndarray,
    wo: np.ndarray,
    b: np.ndarray,
    scores: np.ndarray,
) -> np.ndarray:
    """Return the outputs of a layer with the update gate u (1 - score)."""
    after = b.ndim == 3
    first, second = (b[:, 0], b[:, 1]) if after else (b, np.zeros(b.shape))
    h, outputs = initial, []
    for t, step in enumerate(x):
        active = (t < ends)[:, None]
        ahead = np.einsum("bi,uio->ubo", step, wi) + first[:, None]
        products = np.einsum("bi,uio->ubo", h, wo) + second[:, None]
        r, u = sigmoid(ahead[0] + products[0]), sigmoid(ahead[1] + products[1])
        candidate = np.tanh(ahead[2] + (r * products[2] if after else (r * h) @ wo[2]))
        u = u * (1 - scores[:, t : t + 1])
        h = np.where(active, u * h + (1 - u) * candidate, h)
        outputs.append(h * active)
    return np.array(outputs)


@pytest.mark.verify
@pytest.mark.parametrize("name", list(ENDS))
def test_gru_with_an_attention_and_its_gradients(tensors: Tensors, name: str) -> None:
    scored, ends = name != "plain", np.array(ENDS[name])
    names = {"x": "in", "initial": "initial", "wi": "wi", "wo": "wo", "b": "b", "scores": "scores"}
    at = {key: tensors[f"{name}_{stored}"] for key, stored in names.items()}
    if not scored:
        at["scores"] = np.zeros((BATCH, TIME))
    close(tensors[f"{name}_out"], gru(ends, **at))
    for key, stored in names.items():
        if key == "scores" and not scored:
            continue
        gradient = derivative(
            lambda **by: (gru(ends, **by) * tensors[f"{name}_grad"]).sum(), at, key
        )
        close(tensors[f"{name}_by_{stored}"], gradient)


def vanilla(
    x: np.ndarray, wi: np.ndarray, wo: np.ndarray, b: np.ndarray, initial: np.ndarray
) -> np.ndarray:
    h, outputs = initial, []
    for step in x:
        h = np.tanh(step @ wi + h @ wo + b)
        outputs.append(h)
    return np.array(outputs)


def test_vanilla_layer_and_its_gradients(tensors: Tensors) -> None:
    initial = tensors["vanilla_initial"]
    names: Dict[str, str] = {"x": "in", "wi": "wi", "wo": "wo", "b": "b"}
    at = {key: tensors[f"vanilla_{stored}"] for key, stored in names.items()}
    close(tensors["vanilla_out"], vanilla(initial=initial, **at))
    for key, stored in names.items():
        gradient = derivative(
            lambda **by: (vanilla(initial=initial, **by) * tensors["vanilla_grad"]).sum(), at, key
        )
        close(tensors[f"vanilla_by_{stored}"], gradient)


def test_a_pre_arranged_operand_and_groups_change_no_value(tensors: Tensors) -> None:
    b = tensors["arranged_b"]
    close(tensors["arranged_product"], tensors["arranged_a"] @ b)
    np.testing.assert_array_equal(tensors["arranged_groups"], b)
    np.testing.assert_array_equal(tensors["arranged_no_groups"], b)
