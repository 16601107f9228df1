"""Files that users might upload, good ones and hostile ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def spikes(samples: int = 40, steps: int = 10, channels: int = 6, seed: int = 1) -> bytes:
    """Samples of two classes: those of class 1 spike in the upper half of the channels."""
    random = np.random.RandomState(seed)
    labels = np.arange(samples) % 2
    some = random.rand(samples, steps, channels) < 0.4
    half = channels // 2
    some[labels == 0, :, half:] = False
    some[labels == 1, :, :half] = False
    return npz(spikes=some, labels=labels)


def hdf5(
    path: Path, samples: int = 30, channels: int = 8, classes: int = 2, events: int = 20
) -> bytes:
    """Lists of spikes as the Heidelberg data sets have them, one class in each part."""
    random = np.random.RandomState(3)
    labels = np.arange(samples) % classes
    width = channels // classes
    with h5py.File(path, "w") as file:
        times = file.create_dataset("spikes/times", (samples,), h5py.vlen_dtype("f4"))
        units = file.create_dataset("spikes/units", (samples,), h5py.vlen_dtype("u2"))
        for number, label in enumerate(labels):
            times[number] = np.sort(random.rand(events) * 0.05).astype(np.float32)
            units[number] = label * width + random.randint(0, width, events)
        file["labels"] = labels
    return path.read_bytes()


def archive(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name.replace("__", "/"), data)
    return content.getvalue()


def n_mnist() -> bytes:
    """Two samples of each class in Train and in Test, of two events each."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for part in ("Train", "Test"):
            for label in range(10):
                for number in range(2):
                    events = bytes((label, 3, 0x80, 0, 100, label, 5, 0, 1, 0))
                    file.writestr(f"N-MNIST/{part}/{label}/{number:05}.bin", events)
    return content.getvalue()
