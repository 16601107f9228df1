"""Layouts of data sets in which files are links to a store outside of their folder.

They are the cache of the Hugging Face Hub (`snapshots/REVISION/FILE` is a link to `blobs/DIGEST`),
and git-annex, which DataLad uses (`FILE` is a link into `.git/annex/objects`).
"""

from __future__ import annotations

import os
from typing import Optional

GET_ANNEXED = "git annex get` or `datalad get"
GET_LARGE = "git lfs pull"
_OBJECTS = "/.git/annex/objects/"
# Beginnings of files that stand for content which was not fetched.
_POINTERS = {b"/annex/objects/": GET_ANNEXED, b"version https://git-lfs.github.com/": GET_LARGE}
_MAX_POINTER_BYTES = 1024


def is_known_layout(link: str) -> bool:
    """Return whether a link with a target is one of these layouts."""
    real = os.path.realpath(link)
    return _is_cached(link, real) or _is_annexed(link, real)


def fetch_command(link: str) -> Optional[str]:
    """Return how to fetch the content of a link without one; None if that is not known."""
    return GET_ANNEXED if _repository(link) else None


def pointer_command(path: str) -> Optional[str]:
    """Return how to fetch the content that a file stands for; None if the file is content."""
    if os.stat(path).st_size > _MAX_POINTER_BYTES:
        return None
    with open(path, "rb") as file:
        begin = file.read(_MAX_POINTER_BYTES)
    return next((command for form, command in _POINTERS.items() if begin.startswith(form)), None)


def _is_cached(link: str, real: str) -> bool:
    blobs = os.path.dirname(real)
    snapshots = os.path.join(os.path.dirname(blobs), "snapshots", "")
    is_blob = os.path.basename(blobs) == "blobs" and os.path.isfile(real)
    return is_blob and _folder_of(link).startswith(snapshots)


def _is_annexed(link: str, real: str) -> bool:
    repository = _repository(link)
    if repository is None:
        return False
    git = os.path.realpath(os.path.join(repository, ".git"))  # a link itself in a subdataset
    return ".git" in git.split("/") and real.startswith(os.path.join(git, "annex", "objects", ""))


def _repository(link: str) -> Optional[str]:
    """Return the repository of git-annex in which a link is, by the link's text."""
    folder = _folder_of(link)
    repository, found, _ = os.path.normpath(os.path.join(folder, os.readlink(link))).partition(
        _OBJECTS
    )
    is_within = f"{folder}/".startswith(f"{repository}/")
    return repository if found and is_within else None


def _folder_of(link: str) -> str:
    return os.path.realpath(os.path.dirname(os.path.abspath(link)))
