"""The gradient check and the parts of a training step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.training import breakdown, gradient_check
from benchmarks.training.network import SECOND_THRESHOLD
from ipulse_ops.lif.cpu import native


class TestGradientCheck:
    def gradients(self, path: Path, error: float) -> Path:
        _, right = gradient_check.reference_gradients("exact")
        wrong = [right[0], right[1].copy(), right[2]]
        wrong[1].flat[7] += error * np.abs(right[1]).max()
        np.savez(path, *wrong)
        return path

    def test_returns_the_largest_error_of_any_matrix(self, tmp_path: Path) -> None:
        right = self.gradients(tmp_path / "right.npz", 0.0)
        assert gradient_check.gradient_error(right, "exact") == 0
        wrong = self.gradients(tmp_path / "wrong.npz", 0.25)
        assert gradient_check.gradient_error(wrong, "exact") == pytest.approx(0.25)
        nan = self.gradients(tmp_path / "nan.npz", np.nan)
        assert gradient_check.gradient_error(nan, "exact") == np.inf

    def test_distinguishes_our_variants(self, tmp_path: Path) -> None:
        exact = self.gradients(tmp_path / "exact.npz", 0.0)
        errors = [gradient_check.gradient_error(exact, variant) for variant in SECOND_THRESHOLD]
        assert errors[0] == 0
        assert errors[0] < errors[1] < errors[2]

    def test_refuses_other_shapes(self, tmp_path: Path) -> None:
        _, right = gradient_check.reference_gradients("exact")
        np.savez(tmp_path / "turned.npz", *(matrix.T for matrix in right))
        with pytest.raises(ValueError, match="must be"):
            gradient_check.gradient_error(tmp_path / "turned.npz", "exact")
        np.savez(tmp_path / "short.npz", right[0])
        with pytest.raises(ValueError, match="no gradients"):
            gradient_check.gradient_error(tmp_path / "short.npz", "exact")


class TestBreakdown:
    def test_every_part_of_the_kernels_has_a_name(self) -> None:
        named = set().union(*breakdown.ADDED_UP.values(), *breakdown.BY_LAYER.values())
        # The forward passes: of these networks, and of those with synapses.
        assert set(native.phases()) - named == {
            "lif_forward",
            "general_forward",
            "replay_adaptation",
        }

    def test_the_parts_add_up_to_the_step(self) -> None:
        clocks = {
            "lif_forward": [3.0, 1.0],
            "select": [0.5, 0.5],
            "dense_product": [4.0, 2.0],
            "weight_gradient": [1.0, 1.0, 1.0],
            "all": [6.0, 10.0],
            "outside": [2.0],
        }
        parts = breakdown.split(clocks, state_ms=1.0, adam_ms=0.5)
        assert sum(parts.values()) == pytest.approx(18.0)
        assert parts["gather"] == 3.0
        assert parts["backward 1"] == 4.0
        assert parts["weight gradient 3"] == 1.0
        assert parts["rest of the kernels"] == pytest.approx(2.0)
        assert parts["TensorFlow"] == 1.5
