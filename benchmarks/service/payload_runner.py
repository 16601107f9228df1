"""A runner that trains nothing: it measures what agent and service do for a job.

The process and its events are real; only TensorFlow and the training are missing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from benchmarks.service.payload import Order, carry_out

# Written literally: a job has not begun while the runner imports modules.
MANIFEST = b'{"schema": "ipulse.manifest/1", "artifacts": []}'


def main() -> int:
    """Serve one assignment over the pipe named on the command line."""
    pipe = int(sys.argv[sys.argv.index("--events-fd") + 1])

    def send(kind: str, **fields: Any) -> None:
        os.write(pipe, (json.dumps({"kind": kind, **fields}) + "\n").encode())

    send("ready", python="", tensorflow="", import_seconds=0.0)
    line = sys.stdin.readline()
    if not line:
        return 0  # a warm runner that is no longer needed
    assignment = json.loads(line)
    for phase in ("prepare", "compile", "acquire", "run"):
        send("phase", phase=phase)
    carry_out(Order.from_json(assignment["spec"]["metadata"]["order"]))
    send("phase", phase="report")
    with open(os.path.join(assignment["work_dir"], "manifest.json"), "wb") as manifest:
        manifest.write(MANIFEST)
    send("artifact", path="manifest.json", role="manifest", media_type="application/json")
    send("done", reason="completed", message="", summary={})
    return 0


if __name__ == "__main__":
    os._exit(main())  # as the real runner ends; the payload has flushed its output
