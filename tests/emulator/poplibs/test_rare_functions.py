"""QR factorisation, ROIAlign and the beam search of a CTC against their definitions in float64."""

from __future__ import annotations

import itertools
import subprocess
from typing import Callable, Dict, Iterator, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors


@pytest.fixture(scope="module")
def run(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    return run_program("rare_functions")


@pytest.fixture(scope="module")
def tensors(run: subprocess.CompletedProcess[str]) -> Tensors:
    assert run.returncode == 0, run.stderr
    return printed_tensors(run.stdout)


@pytest.mark.parametrize("name", ["tall", "square"])
def test_qr_gives_an_orthogonal_and_an_upper_triangular_factor(tensors: Tensors, name: str) -> None:
    q, r, matrix = (tensors[f"{name}_{which}"] for which in ("q", "r", "matrix"))
    np.testing.assert_allclose(q @ q.T, np.eye(len(q)), atol=1e-5)
    np.testing.assert_allclose(q @ r, matrix, atol=1e-5)
    assert not np.tril(r, -1).any()


def test_qr_refuses_an_option_that_is_not_a_number(run: subprocess.CompletedProcess[str]) -> None:
    assert 'rowsPerIteration is "3x"' in run.stderr


def samples(
    box: np.ndarray, aligned: bool
) -> Iterator[Tuple[Tuple[int, int], Tuple[int, int], float]]:
    """Yield bin, element of an image of 5 x 6 and its share in the mean of a region's bin."""
    x1, y1, x2, y2 = box * 0.5 - (0.5 if aligned else 0)
    least = 0 if aligned else 1
    height, width = max(y2 - y1, least) / 3, max(x2 - x1, least) / 2
    for i, j, si, sj in itertools.product(range(3), range(2), range(2), range(2)):
        y, x = y1 + (i + (si + 0.5) / 2) * height, x1 + (j + (sj + 0.5) / 2) * width
        if y > 5 or x > 6:
            continue
        y, x = min(max(y, 0), 4), min(max(x, 0), 5)
        for row, column in itertools.product({int(y), min(int(y) + 1, 4)}, range(6)):
            share = max(0, 1 - abs(y - row)) * max(0, 1 - abs(x - column))
            yield (i, j), (row, column), share / 4


@pytest.mark.parametrize("name", ["regions", "aligned"])
def test_roi_align_is_a_mean_of_bilinear_samples(tensors: Tensors, name: str) -> None:
    images, gradient = tensors[f"{name}_images"], tensors[f"{name}_gradient"]
    pooled, back = np.zeros((5, 3, 3, 2)), np.zeros_like(images)
    pooled[4] = np.nan  # of an image that does not exist
    for region, image in enumerate([1, 0, 1, 0]):
        for into, at, share in samples(tensors[f"{name}_rois"][region], name == "aligned"):
            pooled[(region, slice(None), *into)] += share * images[(image, slice(None), *at)]
            back[(image, slice(None), *at)] += share * gradient[(region, slice(None), *into)]
    np.testing.assert_allclose(tensors[f"{name}_pooled"], pooled, atol=1e-5)
    np.testing.assert_allclose(tensors[f"{name}_image_gradient"], back, atol=1e-5)


def labels_of(path: Tuple[int, ...]) -> Tuple[int, ...]:
    """Return the labels of a path of classes, of which 1 is the blank."""
    return tuple(c for c, _ in itertools.groupby(path) if c != 1)


def best_labels(steps: np.ndarray, beams: int) -> Dict[Tuple[int, ...], float]:
    """Return the labels that a search keeps, and the sum over their paths, the largest first."""
    paths: Dict[Tuple[int, ...], float] = {(): 1.0}
    for step in steps:
        paths = {(*path, c): p * step[c] for path, p in paths.items() for c in range(3)}
        sums: Dict[Tuple[int, ...], float] = {}
        for path, p in paths.items():
            sums[labels_of(path)] = sums.get(labels_of(path), 0.0) + p
        kept = sorted(sums, key=lambda labels: -sums[labels])[:beams]
        paths = {path: p for path, p in paths.items() if labels_of(path) in kept}
    return {labels: sums[labels] for labels in kept}


@pytest.mark.parametrize(("name", "beams"), [("exhaustive", 100), ("narrow", 2)])
def test_a_search_keeps_the_most_probable_labels(tensors: Tensors, name: str, beams: int) -> None:
    powers = np.exp(tensors[f"{name}_logits"])
    shares = powers / powers.sum(2, keepdims=True)
    for sample, steps in enumerate([4, 3]):
        best = best_labels(shares[:steps, sample], beams)
        probabilities = tensors[f"{name}_probabilities"][sample]
        expected = np.log(list(best.values()))[: len(probabilities)]
        np.testing.assert_allclose(probabilities, expected, atol=1e-5)
        for path, probability in enumerate(probabilities):
            size = int(tensors[f"{name}_sizes"][sample, path])
            found = tensors[f"{name}_labels"][sample, path].astype(int)
            assert not found[size:].any()
            np.testing.assert_allclose(np.log(best[tuple(found[:size])]), probability, atol=1e-5)
