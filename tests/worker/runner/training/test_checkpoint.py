from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import List, Optional

import numpy as np
import pytest

from ipulse_worker.runner.model.state import numbered
from ipulse_worker.runner.training.checkpoint import Checkpoint, UnusableCheckpoint, load, save
from ipulse_worker.runner.work_dir import WorkDir

pytestmark = pytest.mark.old_python

SEED = 4711
DIGEST = "ab" * 32


def matrices(random: np.random.RandomState) -> List[np.ndarray]:
    return [random.randn(*shape).astype(np.float32) for shape in ((6, 5), (5, 3))]


@pytest.fixture
def checkpoint() -> Checkpoint:
    random = np.random.RandomState(SEED)
    weights = matrices(random)
    # Bits that a text format or a wider float would lose.
    weights[0][0, :4] = np.array([np.nan, -0.0, np.inf, 1e-45], dtype=np.float32)
    return Checkpoint(
        spec_sha256=DIGEST,
        step=123,
        state={
            **numbered(weights),
            "optimizer/means/0": random.randn(6, 5).astype(np.float32),
            "epoch_sums": random.randn(9),
            "waited": np.array(3),
            "was_empty": np.array([True, False]),
        },
        history='{"loss":0.1,"ä":2}\n',
    )


class TestSaveAndLoad:
    def test_gives_back_every_bit(self, tmp_path: Path, checkpoint: Checkpoint) -> None:
        path = save(checkpoint, WorkDir(tmp_path), "checkpoint.npz")
        again = load(path, DIGEST, like=checkpoint.state)
        assert list(again.state) == list(checkpoint.state)
        for name, before in checkpoint.state.items():
            assert before.tobytes() == again.state[name].tobytes()
            assert before.dtype == again.state[name].dtype
        assert (again.step, again.history) == (checkpoint.step, checkpoint.history)

    def test_needs_no_pickle(self, tmp_path: Path, checkpoint: Checkpoint) -> None:
        path = save(checkpoint, WorkDir(tmp_path), "checkpoint.npz")
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype != object for name in arrays.files)

    @pytest.mark.parametrize("kept", [0, 100, 1000])
    def test_refuses_a_torn_file(self, tmp_path: Path, checkpoint: Checkpoint, kept: int) -> None:
        path = save(checkpoint, WorkDir(tmp_path), "checkpoint.npz")
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(UnusableCheckpoint, match="cannot be read"):
            load(path, DIGEST, like=checkpoint.state)

    def test_refuses_another_experiments(self, tmp_path: Path, checkpoint: Checkpoint) -> None:
        path = save(replace(checkpoint, spec_key="cd" * 32), WorkDir(tmp_path), "c.npz")
        with pytest.raises(UnusableCheckpoint, match="belongs to another spec"):
            load(path, DIGEST, like=checkpoint.state)

    @pytest.mark.parametrize("key", [None, DIGEST])
    def test_takes_that_of_a_version_with_other_defaults(
        self, tmp_path: Path, checkpoint: Checkpoint, key: Optional[str]
    ) -> None:
        """Versions up to 0.2.0 stored a digest with their defaults, and no key."""
        written = replace(checkpoint, spec_sha256="cd" * 32, spec_key=key)
        path = save(written, WorkDir(tmp_path), "c.npz")
        assert load(path, DIGEST, like=checkpoint.state).step == checkpoint.step

    def test_refuses_other_shapes(self, tmp_path: Path, checkpoint: Checkpoint) -> None:
        path = save(checkpoint, WorkDir(tmp_path), "checkpoint.npz")
        wider = {**checkpoint.state, "1": np.zeros((7, 3), np.float32)}
        with pytest.raises(UnusableCheckpoint, match="shapes"):
            load(path, DIGEST, like=wider)
        with pytest.raises(UnusableCheckpoint, match="shapes"):
            load(path, DIGEST, like={**checkpoint.state, "early_stopping/best": np.array(1.0)})
