"""The modules that each view of the page loads, so that a browser asks for all of them at once.

Without the list it would find them level by level, with a round trip for each.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

START = "static/app/main.js"
ROUTES = "static/app/routes.js"
TABS = "static/views/job/job.js"

_STATIC = re.compile(r'^(?:import|export)\s+(?:[\w$*{},\s]+\sfrom\s+)?"(\.[^"\n]+\.js)"', re.M)
_ROUTE = re.compile(r'pattern: "([^"]+)".*?import\("([^"]+)"\)', re.DOTALL)
_TAB = re.compile(r'\[\s*"(\w+)",\s*"[^"]+",\s*\(\) => import\("([^"]+)"\),?\s*\]')
_PART = re.compile(r"/:\w+(\??)")


class Preloads:
    """The modules of each view, from the texts of all files of the page by their names."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._imports = {
            name: [_joined(name, other) for other in _STATIC.findall(text)]
            for name, text in texts.items()
        }
        self._of_all = self._closure(START)
        self._views = [
            (re.compile(_PART.sub(_group, pattern) + "/?", re.DOTALL), _joined(ROUTES, module))
            for pattern, module in _ROUTE.findall(texts[ROUTES])
        ]
        self._tabs = {name: _joined(TABS, module) for name, module in _TAB.findall(texts[TABS])}

    def of_view(self, path: str) -> list[str]:
        """Returns the names of the modules that the view at an address loads at its start."""
        module = next(module for pattern, module in self._views if pattern.fullmatch(path))
        names = [*self._of_all, *self._closure(module)]
        if module == TABS:
            *_, tab = path.rstrip("/").split("/")
            names += self._closure(self._tabs.get(tab, next(iter(self._tabs.values()))))
        return list(dict.fromkeys(names))

    def _closure(self, name: str) -> list[str]:
        found = [name]
        for one in found:  # it grows
            found += dict.fromkeys(other for other in self._imports[one] if other not in found)
        return found


def _joined(name: str, relative: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), relative))


def _group(part: re.Match[str]) -> str:
    return "(?:/[^/]+)?" if part[1] else "/[^/]+"
