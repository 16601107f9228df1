"""`python -m ipulse.documentation [FOLDER]` writes the generated pages, into docs/ if not told."""

from __future__ import annotations

import sys
from pathlib import Path

from .command_line import command_line_page
from .spec import spec_page

PAGES = {"spec.md": spec_page, "cli.md": command_line_page}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
