"""Reads the exported functions and variables of a shared library from its file (ELF, 64 bit)."""

from __future__ import annotations

import platform
import struct
from pathlib import Path
from typing import Dict, Iterator, NamedTuple, Set, Tuple

_MACHINES: Dict[int, str] = {62: "x86_64", 183: "aarch64"}  # e_machine of <elf.h>
_SHARED = 3  # ET_DYN
_DYNSYM = 11  # SHT_DYNSYM
_UNDEFINED = 0  # SHN_UNDEF
_VISIBLE = (1, 2)  # STB_GLOBAL, STB_WEAK


class NotALibrary(ValueError):
    """The file is not a shared library that this machine can load."""


class _Section(NamedTuple):
    """The fields of Elf64_Shdr that are needed here."""

    type: int
    offset: int
    size: int
    link: int  # for symbols: the section with their names


def exported(path: Path) -> Set[str]:
    """Return the exported names as the file has them: C++ names are mangled.

    Raises NotALibrary; OSError if the file cannot be read.
    """
    content = path.read_bytes()
    try:
        return set(_exported(content))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise NotALibrary(f"{path} is damaged or cut short") from error
    except NotALibrary as error:
        raise NotALibrary(f"{path} {error}") from error


def _exported(content: bytes) -> Iterator[str]:
    if content[:4] != b"\x7fELF":
        raise NotALibrary("is no shared library")
    if content[4:6] != b"\x02\x01":
        raise NotALibrary("is not of 64 bits, little endian")
    kind, machine = struct.unpack_from("<HH", content, 16)
    if kind != _SHARED:
        raise NotALibrary("is no shared library: link it with -shared")
    if _MACHINES.get(machine) != platform.machine():
        name = _MACHINES.get(machine, f"machine {machine}")
        raise NotALibrary(f"is for {name}, and this is {platform.machine()}")
    sections = _sections(content)
    for section in sections:
        if section.type == _DYNSYM:
            yield from _names(content, section, sections[section.link])


def _sections(content: bytes) -> Tuple[_Section, ...]:
    (start,) = struct.unpack_from("<Q", content, 40)
    size, number = struct.unpack_from("<HH", content, 58)
    found = []
    for index in range(number):
        fields = struct.unpack_from("<IIQQQQI", content, start + index * size)
        found.append(_Section(fields[1], fields[4], fields[5], fields[6]))
    return tuple(found)


def _names(content: bytes, symbols: _Section, names: _Section) -> Iterator[str]:
    text = content[names.offset : names.offset + names.size]
    for offset in range(symbols.offset, symbols.offset + symbols.size, 24):
        name, info, _, section = struct.unpack_from("<IBBH", content, offset)
        if section != _UNDEFINED and info >> 4 in _VISIBLE:
            yield text[name : text.index(b"\0", name)].decode()
