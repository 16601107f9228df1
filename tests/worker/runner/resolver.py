"""Resolved documents of specs and of their parts, as an agent hands them to a runner.

Only `ipulse` can resolve them, and it needs a newer Python than the runner. On Python 3.8 a process
of the environment beside it does: `python -m tests.worker.runner.resolver`, a line for each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict

ROOT = Path(__file__).parents[3]


def resolve(name: str, document: Any) -> Dict[str, Any]:
    """Returns the document of an object of this class of `ipulse.spec`, with every default."""
    resolved: Dict[str, Any] = json.loads(_answer(json.dumps([name, document])))
    return resolved


def check_event(event: Any) -> None:
    """Asserts that an agent would accept an event of a runner."""
    assert resolve("Event", event).items() >= event.items()


@lru_cache(maxsize=None)
def _answer(line: str) -> str:
    if sys.version_info >= (3, 10):
        return _resolved(line)
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, f"the resolver ended with code {process.wait()}"
    return answer


@lru_cache(maxsize=None)
def _process() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ROOT / ".venv/bin/python"), "-m", __name__],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )


def _resolved(line: str) -> str:
    from ipulse import spec
    from ipulse.events import parse_event
    from ipulse.models import validate

    name, document = json.loads(line)
    if name == "Event":
        return json.dumps(parse_event(document).to_json())
    return json.dumps(validate(getattr(spec, name), document).model_dump(mode="json"))


if __name__ == "__main__":
    for line in sys.stdin:
        print(_resolved(line), flush=True)  # noqa: T201 - the answer
