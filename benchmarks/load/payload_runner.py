"""A runner that trains nothing: what an agent and the service do for a job is what costs.

The process is real and so is all that it says; only TensorFlow and the training are missing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from benchmarks.load.payload import Order, carry_out

# In its own words: what it would import for them is time in which a job has not begun.
MANIFEST = b'{"schema": "ipulse.manifest/1", "artifacts": []}'


def main() -> int:
    pipe = int(sys.argv[sys.argv.index("--events-fd") + 1])

    def say(kind: str, **fields: Any) -> None:
        os.write(pipe, (json.dumps({"kind": kind, **fields}) + "\n").encode())

    say("ready", python="", tensorflow="", import_seconds=0.0)
    line = sys.stdin.readline()
    if not line:
        return 0  # it was warm, and is not wanted any more
    assignment = json.loads(line)
    for phase in ("prepare", "compile", "acquire", "run"):
        say("phase", phase=phase)
    carry_out(Order.from_json(assignment["spec"]["metadata"]["order"]))
    say("phase", phase="report")
    with open(os.path.join(assignment["work_dir"], "manifest.json"), "wb") as manifest:
        manifest.write(MANIFEST)
    say("artifact", path="manifest.json", role="manifest", media_type="application/json")
    say("done", reason="completed", message="", summary={})
    return 0


if __name__ == "__main__":
    os._exit(main())  # as the real one ends; the payload has flushed what it said
