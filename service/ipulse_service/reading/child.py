"""The main function of modules that read a document in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from ipulse_core.errors import InvalidInput, IPUlseError
from ipulse_core.sandbox.limited_process import limit_process

MEMORY_BYTES = 2 * 2**30  # of addresses
CPU_SECONDS = 60
MOST_PROBLEMS = 100


def run(
    read: Callable[[list[str]], dict[str, Any]],
    memory_bytes: int = MEMORY_BYTES,
    cpu_seconds: int = CPU_SECONDS,
) -> int:
    """Limits this process, reads what its arguments name, and prints the result as JSON."""
    limit_process(memory_bytes, cpu_seconds)
    try:
        result = read(sys.argv[1:])
    except InvalidInput as error:
        problems = [each.to_json() for each in error.problems[:MOST_PROBLEMS]]
        result = {"code": error.code, "problems": problems, "message": error.message}
    except IPUlseError as error:
        result = {"refusal": error.message}
    except (MemoryError, RecursionError):
        result = {"refusal": f"reading it takes more than {memory_bytes >> 30} GiB of memory"}
    try:
        text = json.dumps(result, allow_nan=False)
    except ValueError:
        text = json.dumps({"refusal": "it has numbers that are not finite"})
    sys.stdout.write(text)
    return 0
