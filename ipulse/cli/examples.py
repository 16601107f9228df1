"""Examples of every command, shown at the end of its help."""

from __future__ import annotations

# Words of a command line after `ipulse`, by the command's name.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "up": ("up", "up --tls --host 0.0.0.0 --name lab.example.org", "up --data ~/recordings"),
    "demo": ("demo", "demo --spec examples/randman.yaml --to results"),
    "submit": ("submit examples/digits.yaml --watch", "submit - --priority 10 < spec.json"),
    "validate": ("validate examples/digits.yaml", "validate spec.json --json"),
    "list": ("list --state running", "list --limit 100 --json"),
    "status": ("status job_5f3a9c0d7be14f2aa86c1e90",),
    "watch": ("watch job_5f3a9c0d7be14f2aa86c1e90",),
    "logs": ("logs job_5f3a9c0d7be14f2aa86c1e90 --follow",),
    "artifacts": ("artifacts job_5f3a9c0d7be14f2aa86c1e90",),
    "download": (
        "download job_5f3a9c0d7be14f2aa86c1e90 --to results",
        "download job_5f3a9c0d7be14f2aa86c1e90 --only report --only weights",
    ),
    "profile": ("profile job_5f3a9c0d7be14f2aa86c1e90 --to profile.json",),
    "cancel": ("cancel job_5f3a9c0d7be14f2aa86c1e90",),
    "pause": ("pause job_5f3a9c0d7be14f2aa86c1e90",),
    "resume": ("resume job_5f3a9c0d7be14f2aa86c1e90",),
    "delete": ("delete job_5f3a9c0d7be14f2aa86c1e90",),
    "crosscheck": ("crosscheck examples/randman.yaml --device cpu",),
    "emulate": ("emulate examples/poplar/streams.cpp", "emulate program.cpp -- --samples 8"),
    "doctor": ("doctor",),
    "selftest": ("selftest --faults --kills 20",),
    "version": ("version",),
    "cache list": ("cache list",),
    "cache prune": ("cache prune --days 30", "cache prune --bytes 0"),
    "op check": ("op check libcustom_op.so --level 5",),
    "token create": ("token create alice --role user --days 90",),
    "token list": ("token list",),
    "token revoke": ("token revoke 5f3a9c0d7be14f2a",),
}


def epilog_of(command: str) -> str:
    """Return the end of a command's help: its examples, one a line."""
    examples = EXAMPLES[command]
    title = "Example:" if len(examples) == 1 else "Examples:"
    # The backspace makes click keep the lines as they are.
    lines = "\n".join(f"  ipulse {example}" for example in examples)
    return f"{title}\n\n\b\n{lines}"
