"""Lists the files of a folder that somebody sends, with everything that is not among them.

Symbolic links are followed. Those that leave the folder are followed only if the caller says so, or
in the layout of a Hugging Face cache, of DataLad or of git-annex.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Collection, Dict, List, NamedTuple, Optional, Tuple

from ipulse_core.errors import InvalidInput, Problem

OPTION = "--follow-outside"
_NAMED = 5  # names in a message
_MAX_ENTRIES = 1_000_000  # links between folders may multiply what is in them

UNREADABLE = "files and folders that cannot be read"
HIDDEN, IGNORED, LOOP, SPECIAL = "hidden", "ignored by name", "link in a loop", "no regular file"


GET_ANNEXED = "git annex get` or `datalad get"
GET_LARGE = "git lfs pull"
_OBJECTS = "/.git/annex/objects/"
# Beginnings of files that stand for content which was not fetched.
_POINTERS = {b"/annex/objects/": GET_ANNEXED, b"version https://git-lfs.github.com/": GET_LARGE}
_MAX_POINTER_BYTES = 1024


def is_known_layout(link: str) -> bool:
    """Return whether a link is one of a Hugging Face cache, of DataLad or of git-annex."""
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


class InputFile(NamedTuple):
    """A file that is sent."""

    name: str  # with / between folders
    path: Path


@dataclass
class InputFolder:
    """The files of a folder, by name, and what was found besides them."""

    files: List[InputFile] = field(default_factory=list)
    links: int = 0  # symbolic links that were followed
    skipped: Dict[str, List[str]] = field(default_factory=dict)  # names by reason

    def skip(self, reason: str, name: str) -> None:
        """Count a name that is not sent."""
        self.skipped.setdefault(reason, []).append(name)

    def skipped_text(self) -> str:
        """Return a sentence about what is not sent; empty if everything is."""
        found = [f"{len(names):,} {why} ({_some(names)})" for why, names in self.skipped.items()]
        return f"Left out: {'; '.join(found)}." if found else ""

    def links_text(self) -> str:
        """Return a sentence about links that were followed; empty if there are none."""
        words = "symbolic link was" if self.links == 1 else "symbolic links were"
        return f"{self.links:,} {words} followed." if self.links else ""


def list_folder(
    folder: Path, follow_outside: bool = False, ignored: Collection[str] = ()
) -> InputFolder:
    """Return the regular files of a folder, sorted by name; hidden ones are skipped and counted.

    Args:
        folder: where they are.
        follow_outside: whether links are followed that leave the folder.
        ignored: names of files and folders that are skipped, too.

    Raises:
        InvalidInput: a file cannot be read or is not there, or a link leaves the folder.
    """
    walk = _Walk(folder, follow_outside, ignored)
    walk.visit(walk.root, "", ())
    walk.check()
    walk.found.files.sort()
    return walk.found


def check_file(path: Path) -> None:
    """Check that the content of a file is there, and not only a link or a pointer to it.

    Raises:
        InvalidInput: it is not; the message says how to fetch it.
    """
    if path.is_symlink() and not path.exists():
        command = fetch_command(str(path))
        detail = f"{path} is a link to {os.readlink(str(path))}, which does not exist"
        raise _refused([f"{detail}: run `{command}`" if command else detail])
    command = pointer_command(str(path)) if path.is_file() else None
    if command:
        raise _refused([f"{path} has only a pointer to its content: run `{command}`"])


class _Walk:
    def __init__(self, folder: Path, follow_outside: bool, ignored: Collection[str]) -> None:
        self.root = os.path.realpath(str(folder))
        self.found = InputFolder()
        self._follow_outside = follow_outside
        self._ignored = ignored
        self._entries = 0
        self._wrong: Dict[str, List[str]] = {}  # names by what is wrong and how to mend it

    def visit(self, place: str, prefix: str, above: Tuple[Tuple[int, int], ...]) -> None:
        """List a folder; `above` has the identities of the folders that lead to it."""
        try:
            about = os.stat(place)
            identity = (about.st_dev, about.st_ino)
            if identity in above:
                self.found.skip(LOOP, prefix.rstrip("/"))
                return
            with os.scandir(place) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except PermissionError:
            self._note(UNREADABLE, prefix or place)
            return
        for entry in entries:
            self._entries += 1
            if self._entries > _MAX_ENTRIES:
                raise _refused([f"it has more than {_MAX_ENTRIES:,} files and folders"])
            self._entry(entry, prefix + entry.name, (*above, identity))

    def check(self) -> None:
        """Raise InvalidInput if something is wrong, with all of it."""
        if self._wrong:
            raise _refused(
                [f"{what}: {len(names):,} ({_some(names)})" for what, names in self._wrong.items()]
            )

    def _entry(
        self, entry: os.DirEntry[str], name: str, above: Tuple[Tuple[int, int], ...]
    ) -> None:
        if entry.name.startswith("."):
            self.found.skip(HIDDEN, name)
        elif entry.name in self._ignored:
            self.found.skip(IGNORED, name)
        elif not entry.is_symlink() or self._may_follow(entry.path, name):
            if entry.is_dir():
                self.visit(entry.path, f"{name}/", above)
            elif entry.is_file():
                self._file(entry.path, name)
            else:
                self.found.skip(SPECIAL, name)

    def _may_follow(self, link: str, name: str) -> bool:
        """Return whether a link is followed, and count it."""
        try:
            os.stat(link)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self.found.skip(LOOP, name)
            elif isinstance(error, PermissionError):
                self._note(UNREADABLE, name)
            else:
                self._note(_missing(link), name)
            return False
        real = os.path.realpath(link)
        is_inside = real == self.root or real.startswith(os.path.join(self.root, ""))
        if not (is_inside or self._follow_outside or is_known_layout(link)):
            self._note(
                f"symbolic links that leave the folder ({OPTION} sends what they point to)",
                f"{name} -> {real}",
            )
            return False
        self.found.links += 1
        return True

    def _file(self, path: str, name: str) -> None:
        if not os.access(path, os.R_OK):
            self._note(UNREADABLE, name)
            return
        command = pointer_command(path)
        if command:
            self._note(f"files with only a pointer to their content (run `{command}`)", name)
            return
        self.found.files.append(InputFile(name, Path(path)))

    def _note(self, what: str, name: str) -> None:
        self._wrong.setdefault(what, []).append(name)


def _missing(link: str) -> str:
    command = fetch_command(link)
    if command:
        return f"files without their content (run `{command}`)"
    return "symbolic links to nothing (remove them, or fetch what they point to)"


def _some(names: List[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(ascii(name)[1:-1] for name in names[:_NAMED]) + more


def _refused(details: List[str]) -> InvalidInput:
    problems = [Problem("/PATH", "incomplete", detail) for detail in details]
    return InvalidInput(problems, "nothing is sent, because a part would be missing")
