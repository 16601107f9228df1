"""QR factorisation, ROIAlign and the beam search of a CTC against their definitions in float64."""

from __future__ import annotations

import itertools
import subprocess
from typing import Callable, Dict, Iterator, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors

pytestmark = pytest.mark.same_on_every_python


@pytest.fixture(scope="module")
def tensors(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> Tensors:
    run = run_program("rare_functions")
    assert run.returncode == 0, run.stderr
    return printed_tensors(run.stdout)


@pytest.mark.parametrize("name", ["tall", "square"])
def test_qr_gives_an_orthogonal_and_an_upper_triangular_factor(tensors: Tensors, name: str) -> None:
    q, r, matrix = (tensors[f"{name}_{which}"] for which in ("q", "r", "matrix"))
    np.testing.assert_allclose(q @ q.T, np.eye(len(q)), atol=1e-5)
    np.testing.assert_allclose(q @ r, matrix, atol=1e-5)
    assert not np.tril(r, -1).any()


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


def test_a_search_with_every_beam_finds_the_most_probable_labels(tensors: Tensors) -> None:
    logits = tensors["search_logits"]
    logs = logits - np.log(np.exp(logits).sum(2, keepdims=True))
    for sample, steps in enumerate([4, 3]):
        shares: Dict[Tuple[int, ...], float] = {}
        for path in itertools.product(range(3), repeat=steps):
            labels = tuple(c for c, _ in itertools.groupby(path) if c != 1)
            shares[labels] = shares.get(labels, 0) + np.exp(
                sum(logs[t, sample, c] for t, c in enumerate(path))
            )
        best = sorted(shares.values(), reverse=True)[:5]
        probabilities = tensors["search_probabilities"][sample]
        np.testing.assert_allclose(probabilities, np.log(best), atol=1e-5)
        for path in range(5):
            size = int(tensors["search_sizes"][sample, path])
            found = tensors["search_labels"][sample, path].astype(int)
            assert not found[size:].any()
            np.testing.assert_allclose(
                np.log(shares[tuple(found[:size])]), probabilities[path], atol=1e-5
            )
