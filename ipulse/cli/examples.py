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
    "plan": (
        "plan examples/digits.yaml",
        "plan examples/digits.yaml --run-seconds 600",
        "plan examples/digits.yaml --vary learning_rate=0.001,0.01 --seeds 3",
    ),
    "list": (
        "list --state running",
        "list 'state:succeeded test_accuracy>0.95' --sort -test_accuracy",
        "list 'tag:wide age<7d' --columns name,learning_rate,test_accuracy --csv",
        "list --mine",
        "list --limit 100 --json",
    ),
    "status": ("status job_5f3a9c0d7be14f2aa86c1e90", "status 5f3a", "status latest"),
    "spec": ("spec latest", "spec fields training", "spec upgrade examples/digits.yaml"),
    "spec show": ("spec show latest --submitted", "spec show 5f3a9c0d --json"),
    "spec fields": (
        "spec fields",
        "spec fields network.layers --all",
        "spec fields training.epochs --json",
    ),
    "spec runs": ("spec runs", "spec runs dropout"),
    "spec schema": ("spec schema > ipulse.schema.json",),
    "spec upgrade": ("spec upgrade examples/digits.yaml", "spec upgrade - --json < old.yaml"),
    "watch": (
        "watch latest",
        "watch 5f3a9c0d 09f77b04 --quiet --timeout 3600",
        "watch --all --project vision",
    ),
    "clone": (
        "clone latest --set learning_rate=0.003 --name slower",
        "clone 5f3a9c0d --set seed=2 --watch",
    ),
    "open": ("open", "open latest", "open 5f3a9c0d --print"),
    "logs": ("logs latest --follow", "logs 5f3a9c0d --level warning --grep epoch"),
    "download": (
        "download job_5f3a9c0d7be14f2aa86c1e90 --to results",
        "download latest --only report --only weights",
        "download latest --list",
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
    "continue": (
        "continue latest --epochs 10",
        "continue latest --epochs 10 --set checkpoint_epochs=5",
    ),
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
    "table": (
        "table 'group:wide' --latex",
        "table 'tag:baseline' --group-by learning_rate --csv",
    ),
    "crosscheck": ("crosscheck examples/randman.yaml --device cpu",),
    "emulate": (
        "emulate examples/poplar/streams.cpp",
        "emulate program.cpp -- --samples 8",
        "emulate train.py --epochs 3",
    ),
    "devices": ("devices",),
    "login": (
        "login https://lab.example.org:8470",
        "login https://lab.example.org:8470 --token-file token --ca authority.pem",
    ),
    "logout": ("logout",),
    "doctor": ("doctor",),
    "webhook add": (
        "webhook add https://hooks.example.org/ipulse --on job.failed",
        "webhook add https://hooks.slack.com/services/T0/B0/X --format slack --name lab",
        "webhook add mailto:lab@example.org",
    ),
    "webhook list": ("webhook list", "webhook list --json"),
    "webhook test": ("webhook test whk_0b5c2e6f7a8d9c1e2f3a4b5c",),
    "webhook deliveries": ("webhook deliveries whk_0b5c2e6f7a8d9c1e2f3a4b5c",),
    "webhook delete": ("webhook delete whk_0b5c2e6f7a8d9c1e2f3a4b5c --yes",),
    "backup": (
        "backup ipulse-2026-01-31.tar",
        "backup shared.tar --no-keys",
        "backup vision.tar --project vision",
    ),
    "restore": (
        "restore ipulse-2026-01-31.tar --check",
        "restore ipulse-2026-01-31.tar --home ~/restored",
        "restore vision.tar --project vision-2026",
    ),
    "migrate": ("migrate postgresql://ipulse@db.example.org/ipulse",),
    "selftest": ("selftest --faults --kills 20",),
    "completion": ("completion bash", "completion fish"),
    "agent token": (
        "agent token",
        "agent token --labels site=b,room=2 --uses 4 --hours 2",
        "agent token --list",
        "agent token --revoke 5f3a9c0d7be14f2a",
    ),
    "agent join": (
        "agent join https://lab.example.org:8470 --token ipj_... --pin sha256:...",
        "agent join https://lab.example.org:8470 --token ipj_... --devices ipu --name pod-1",
        "agent join https://lab.example.org:8470 --token ipj_... --name pod-1 --replace --wait",
    ),
    "agent run": ("agent run", "agent run --data ~/recordings"),
    "agent leave": ("agent leave",),
    "agent list": ("agent list",),
    "agent drain": (
        "agent drain pod-1",
        "agent drain pod-1 --within 600",
        "agent drain pod-1 --end",
    ),
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
        "nir import theirs.nir --to theirs.yaml --from snntorch --reset zero",
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
    "audit list": ("audit list --actor alice --action job.", "audit list --after 1000 --json"),
    "audit verify": ("audit verify",),
    "pool create": (
        "pool create lab --labels room=2 --projects vision,audio --preemption priority",
        "pool create pods --agents 'pod-*'",
    ),
    "pool list": ("pool list",),
    "pool edit": ("pool edit lab --projects all", "pool edit default --projects vision"),
    "pool reserve": (
        "pool reserve lab --project vision --agents 2 --hours 4",
        "pool reserve lab --project vision --agents 2 --from 2026-02-01T09:00 --hours 8",
    ),
    "pool reservations": ("pool reservations",),
    "pool release": ("pool release rsv_0b5c2e6f7a8d9c1e2f3a4b5c",),
    "pool delete": ("pool delete lab --yes",),
    "project create": ("project create vision --description 'Event cameras'",),
    "project list": ("project list",),
    "project show": ("project show vision",),
    "project edit": ("project edit vision --public",),
    "project member": (
        "project member vision alice --role maintainer",
        "project member vision alice --remove --yes",
    ),
    "project quota": (
        "project quota vision",
        "project quota vision --set devices=4 --set queued_jobs=200",
        "project quota vision --user alice --set devices=none",
    ),
    "user quota": ("user quota alice --set device_seconds=360000",),
    "usage": ("usage --by user --by month", "usage --csv --first 2026-01 > hours.csv"),
    "user add": ("user add alice --full-name 'Alice Archer' --project default",),
    "user list": ("user list",),
    "user edit": ("user edit alice --disable",),
    "user me": ("user me",),
    "user sessions": ("user sessions",),
    "user sign-out": ("user sign-out", "user sign-out 5f3a9c0d7be14f2a"),
    "token create": (
        "token create laptop --user alice --days 90",
        "token create nightly --role user",
        "token create mine --user me --scope read",
    ),
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
