"""`python -m service`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Returns the exit code."""
    # All that imports make stays, and looking through it for rubbish takes a tenth of a start.
    gc.disable()
    _import_fastapi()
    from . import program

    return program.main()


def _import_fastapi() -> None:
    # Another tenth: FastAPI's models of an OpenAPI document. Whoever asks for one waits for them.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # to look for some is to read what is there
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True
    import fastapi  # noqa: F401

    del BaseModel.model_config["defer_build"]


if __name__ == "__main__":
    sys.exit(main())
