"""Configuration of the documentation site, which `make docs` builds without warnings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ipulse.documentation.capabilities import capability_page
from ipulse.documentation.command_line import command_line_page
from ipulse.documentation.spec import old_spec_page, spec_page
from ipulse_core.version import RELEASE
from ipulse_service.documentation import api_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
# Reference pages that are written from the code at every build.
GENERATED = {
    "spec.md": spec_page,
    "spec-1.md": old_spec_page,
    "what-runs-where.md": capability_page,
    "cli.md": command_line_page,
    "http.md": api_page,
}

project = "IPUlse"
copyright = "the IPUlse project"
release = version = RELEASE
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
html_theme = "pydata_sphinx_theme"
html_title = f"IPUlse {RELEASE}"
html_theme_options = {"navigation_with_keys": True, "show_prev_next": True, "show_nav_level": 2}
html_show_sourcelink = False
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4
# Code blocks run in tests (conftest.py), notebooks where they are built with --execute.
nb_execution_mode = "off"

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
# Keras 3 documents its own base classes with markup that Sphinx does not read.
autodoc_inherit_docstrings = False


def write_generated_pages(_app: Sphinx) -> None:
    """Write the reference pages that come from the code; unchanged ones keep their time."""
    for name, page in GENERATED.items():
        path, text = HERE / "reference" / name, page()
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def escape_plain_text(
    _app: Sphinx, _what: str, _name: str, part: object, _options: object, lines: list[str]
) -> None:
    """Escape what reStructuredText would read as markup in the descriptions of spec fields."""
    if getattr(part, "__module__", "") == "ipulse.experiment.part":
        lines[:] = [re.sub(r"([|*]|_(?!\w))", r"\\\1", line) for line in lines]


def setup(app: Sphinx) -> None:
    """Connect the generated pages to the build."""
    app.connect("builder-inited", write_generated_pages)
    # Before napoleon, which makes markup of its own.
    app.connect("autodoc-process-docstring", escape_plain_text, priority=100)
