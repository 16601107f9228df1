"""The Poplar op's sources, and the pair of files that a build of them yields."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import List, NamedTuple

SOURCES = Path(__file__).resolve().parent
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror")
LEVELS = (4, 5)  # custom-op interfaces that the op is built for
LIBRARIES = ("popnn", "poplin", "popops", "poputil", "poplar")  # as in the Makefile


class BuiltOp(NamedTuple):
    """Paths of a built op."""

    library: Path
    codelets: Path


def sources() -> List[Path]:
    """Return every file that is compiled into the op or its codelets."""
    return [path for path in sorted(SOURCES.glob("**/*")) if path.suffix in (".cc", ".h", ".cpp")]


def hash_of_sources(tools: str) -> str:
    """Return 16 hex digits that change with the sources, the flags, or `tools`.

    tools: the name and version of the compilers.
    """
    digest = hashlib.sha256(repr((tools, FLAGS, LEVELS)).encode())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
