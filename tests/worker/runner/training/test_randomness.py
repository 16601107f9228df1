from __future__ import annotations

from typing import List

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_worker.runner.randomness import Purpose, stream

pytestmark = pytest.mark.old_python

EVERY_WORD = 4 * 624  # bytes that depend on the whole state


@given(st.sampled_from(Purpose), st.lists(st.integers(0, 2**70), max_size=6))
def test_a_stream_is_the_one_that_numpy_seeds_with_its_key(
    purpose: Purpose, key: List[int]
) -> None:
    seeds = np.random.SeedSequence([int(purpose), *key])
    numpys = np.random.RandomState(np.random.MT19937(seeds))
    assert stream(purpose, *key).bytes(EVERY_WORD) == numpys.bytes(EVERY_WORD)
