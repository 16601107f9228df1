"""Examples of every command, shown at the end of its help."""

from __future__ import annotations

from collections.abc import Sequence

# Words of a command line after `ipulse`, by the command's name.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "up": ("up", "up --tls --host 0.0.0.0 --name lab.example.org", "up --data ~/recordings"),
    "demo": (
        "demo",
        "demo --set epochs=2",
        "demo --spec examples/randman.yaml --to results",
        "demo --spec examples/shd.yaml --data ~/recordings",
    ),
    "init": (
        "init",
        "init wide.yaml",
        "init mine --data mine.npz",
        "init tiles --example emulator",
    ),
    "submit": (
        "submit examples/digits.yaml --watch",
        "submit examples/digits.yaml --set epochs=5 --set 'layers[0].neurons=256'",
        "submit examples/poplar/leaky_neurons.yaml --watch",
        "submit wide.yaml --after 5f3a9c0d --after 1085e90b:end",
        "submit wide.yaml --from 5f3a9c0d --start-mode weights",
        "submit examples/digits.yaml examples/randman.yaml --group first",
        "submit - --priority 10 < spec.json",
        "submit examples/digits.yaml --weights pretrained.npz",
        "submit examples/digits.yaml --tag baseline --group wide --note 'First try.'",
    ),
    "program push": ("program push examples/poplar",),
    "validate": (
        "validate examples/digits.yaml",
        "validate examples/digits.yaml --set /seed=7 --json",
    ),
    "list": (
        "list --state running",
        "list 'state:succeeded test_accuracy>0.95' --sort -test_accuracy",
        "list 'tag:wide age<7d' --columns name,learning_rate,test_accuracy --csv",
        "list --limit 100 --json",
    ),
    "status": ("status job_5f3a9c0d7be14f2aa86c1e90", "status 5f3a", "status latest"),
    "spec": ("spec latest", "spec fields training"),
    "spec show": ("spec show latest --submitted", "spec show 5f3a9c0d --json"),
    "spec fields": (
        "spec fields",
        "spec fields network.layers",
        "spec fields training.epochs --json",
    ),
    "watch": ("watch latest", "watch 5f3a9c0d"),
    "wait": ("wait latest", "wait 5f3a9c0d 09f77b04 --timeout 3600"),
    "clone": ("clone latest --set learning_rate=0.003", "clone 5f3a9c0d --set seed=2 --watch"),
    "open": ("open", "open latest", "open 5f3a9c0d --print"),
    "logs": ("logs latest --follow", "logs 5f3a9c0d --level warning --grep epoch"),
    "artifacts": ("artifacts latest",),
    "download": (
        "download job_5f3a9c0d7be14f2aa86c1e90 --to results",
        "download latest --only report --only weights",
    ),
    "stop": ("stop latest", "stop 5f3a9c0d 09f7", "stop -q 'state:running group:wide'"),
    "metrics": (
        "metrics latest --names loss,test_accuracy",
        "metrics 5f3a9c0d 1085e90b --scope step --csv",
    ),
    "cancel": (
        "cancel 5f3a9c0d",
        "cancel 5f3a9c0d 1085e90b",
        "cancel -q 'state:queued tag:old' --dry-run",
        "cancel --state queued --label team=audio --dry-run",
    ),
    "pause": ("pause latest 5f3a9c0d", "pause -q 'state:queued group:wide'"),
    "resume": ("resume latest~1", "resume -q 'group:wide'"),
    "retry": ("retry latest", "retry -q 'state:failed reason:worker_lost'"),
    "continue": ("continue latest --epochs 10",),
    "priority": ("priority 5f3a9c0d 10",),
    "edit": (
        "edit latest --tag baseline --note 'First with 512 neurons.'",
        "edit 5f3a9c0d latest~1 --untag old --group wide --priority 10",
        "edit -q 'name:digits* age<1d' --tag digits --dry-run",
    ),
    "delete": (
        "delete job_5f3a9c0d7be14f2aa86c1e90",
        "delete -q 'state:failed,cancelled age>30d' --yes",
        "delete --state cancelled --created-before 2026-01-31 --yes",
    ),
    "compare": (
        "compare 1085e90b 09f77b04",
        "compare -q 'group:wide' --group-by learning_rate --metrics test_accuracy",
        "compare -q 'tag:baseline' --each --csv",
    ),
    "crosscheck": ("crosscheck examples/randman.yaml --device cpu",),
    "emulate": ("emulate examples/poplar/streams.cpp", "emulate program.cpp -- --samples 8"),
    "devices": ("devices",),
    "login": (
        "login https://lab.example.org:8470",
        "login https://lab.example.org:8470 --token-file token --ca authority.pem",
    ),
    "logout": ("logout",),
    "doctor": ("doctor",),
    "selftest": ("selftest --faults --kills 20",),
    "completion": ("completion bash", "completion fish"),
    "version": ("version",),
    "agent token": ("agent token", "agent token --labels site=b,room=2 --uses 4 --hours 2"),
    "agent tokens": ("agent tokens",),
    "agent revoke": ("agent revoke 5f3a9c0d7be14f2a",),
    "agent join": (
        "agent join https://lab.example.org:8470 --token ipj_... --pin sha256:...",
        "agent join https://lab.example.org:8470 --token ipj_... --devices ipu --name pod-1",
        "agent join https://lab.example.org:8470 --token ipj_... --name pod-1 --replace --wait",
    ),
    "agent run": ("agent run", "agent run --data ~/recordings"),
    "agent leave": ("agent leave",),
    "agent list": ("agent list",),
    "agent drain": ("agent drain pod-1", "agent drain pod-1 --within 600"),
    "agent resume": ("agent resume pod-1",),
    "agent remove": ("agent remove pod-1",),
    "cache list": ("cache list",),
    "cache prune": ("cache prune --days 30", "cache prune --bytes 0"),
    "data push": ("data push mine.npz", "data push ~/recordings/n_mnist --name n-mnist"),
    "data list": ("data list", "data list --json"),
    "data show": ("data show mine", "data show mine@2 --sample 3"),
    "data delete": ("data delete mine@1 --yes",),
    "neurons check": (
        "neurons check coupled_dendrites",
        "neurons check coupled_dendrites --digest",
        f"neurons check coupled_dendrites@sha256:{'0123456789abcdef' * 4} --json",
    ),
    "neurons list": ("neurons list", "neurons list --json"),
    "nir import": (
        "nir import network.nir",
        "nir import theirs.nir --to theirs.yaml --solver euler --step-ms 0.1",
        "nir import theirs.nir --to theirs.yaml --base examples/digits.yaml",
    ),
    "op new": (
        "op new scale_spikes",
        "op new scale_spikes --to ops/scale",
        "op new pool_op --layer",
    ),
    "op test": ("op test scale_spikes", "op test scale_spikes --seed 7"),
    "op push": ("op push pool_op",),
    "op list": ("op list",),
    "op delete": (f"op delete pool_op@sha256:{'0123456789abcdef' * 4}",),
    "op check": ("op check libcustom_op.so --level 5",),
    "report": ("report latest --open", "report 5f3a9c0d --to reports"),
    "export": (
        "export tensorboard latest --to logs",
        "export tensorboard -q 'tag:baseline' --follow",
        "export csv -q 'tag:baseline' --to tables",
        "export archive latest",
    ),
    "import": (
        "import archive/job_5f3a9c0d7be14f2aa86c1e90.zip",
        "import archive/job_5f3a9c0d7be14f2aa86c1e90.zip --url https://lab.example.org:8470",
    ),
    "verify": ("verify archive/job_5f3a9c0d7be14f2aa86c1e90.zip",),
    "profile show": (
        "profile latest",
        "profile 5f3a9c0d --to profile.json",
    ),
    "profile diff": (
        "profile diff latest~1 latest",
        "profile diff before.json after.json --fail-if 'cycles>+5%'",
    ),
    "sweep run": (
        "sweep run examples/digits.yaml --vary learning_rate=0.01,0.003 --seeds 3 --wait",
        "sweep run examples/digits.yaml --vary learning_rate=log_uniform:1e-4,0.1 "
        "--method random --trials 20",
        "sweep run examples/digits.yaml --vary learning_rate=log_uniform:1e-4,0.1 "
        "--method tpe --trials 20 --stop asha",
        "sweep run sweep.yaml --parallel 8",
    ),
    "sweep list": ("sweep list --limit 5",),
    "sweep show": ("sweep show latest", "sweep show 5f3a --json"),
    "sweep status": ("sweep status latest",),
    "sweep best": ("sweep best digits",),
    "sweep pause": ("sweep pause latest",),
    "sweep resume": ("sweep resume latest",),
    "sweep retry": (
        "sweep retry latest",
        "sweep retry 5f3a --deleted",
        "sweep retry 5f3a --trial 7",
    ),
    "sweep stop": ("sweep stop latest", "sweep stop 5f3a --running finish"),
    "sweep extend": (
        "sweep extend latest --trials 40",
        "sweep extend latest --vary learning_rate=0.03,0.1 --seeds 5",
        "sweep extend latest --device-hours 20",
    ),
    "sweep import": (
        "sweep import wandb.yaml --spec examples/digits.yaml --to sweep.yaml",
        "sweep import experiment.yaml --spec wide.yaml --json",
    ),
    "sweep delete": ("sweep delete 5f3a --jobs --yes",),
    "token create": ("token create alice --role user --days 90",),
    "token list": ("token list",),
    "token edit": ("token edit 5f3a9c0d7be14f2a --submit-code",),
    "token revoke": ("token revoke 5f3a9c0d7be14f2a",),
}


EXIT_CODES = "Exit codes: 0 done, 1 job failed, 2 wrong usage; more: ipulse --help"

# The first commands of a new user, in the help of `ipulse` itself.
FIRST = ("up", "submit examples/digits.yaml --watch", "list --limit 5", "submit --help")


def epilog_of(command: str) -> str:
    """Return the end of the help of a command, or of a group: its examples and exit codes."""
    below = [lines[0] for name, lines in EXAMPLES.items() if name.startswith(f"{command} ")]
    return f"{epilog(EXAMPLES.get(command, below))}\n\n{EXIT_CODES}"


def epilog(examples: Sequence[str]) -> str:
    """Return examples, one a line, as the end of a help."""
    title = "Example:" if len(examples) == 1 else "Examples:"
    # The backspace makes click keep the lines as they are.
    lines = "\n".join(f"  ipulse {example}" for example in examples)
    return f"{title}\n\n\b\n{lines}"
