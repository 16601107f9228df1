"""The commands and their names, in the order in which a new user needs them."""

from __future__ import annotations

from collections.abc import Callable

from ipulse.cli.commands.agents.agents import (
    create_join_token,
    drain_agent,
    list_agents,
    list_devices,
    list_join_tokens,
    remove_agent,
    resume_agent,
    revoke_join_token,
)
from ipulse.cli.commands.agents.membership import join_service, leave_service, run_joined
from ipulse.cli.commands.develop.cache import list_executables, prune_executables
from ipulse.cli.commands.develop.crosscheck import crosscheck
from ipulse.cli.commands.develop.emulate import emulate
from ipulse.cli.commands.develop.neurons import check_package, list_packages
from ipulse.cli.commands.develop.op import check_library
from ipulse.cli.commands.develop.op_project import compare_op, new_op
from ipulse.cli.commands.develop.pushed_ops import delete_op, list_ops, push_op
from ipulse.cli.commands.inputs.datasets import delete_dataset, list_datasets, push, show_dataset
from ipulse.cli.commands.inputs.init import init
from ipulse.cli.commands.inputs.nir import import_nir
from ipulse.cli.commands.jobs.clone import clone, wait
from ipulse.cli.commands.jobs.edit import edit
from ipulse.cli.commands.jobs.lifecycle import cancel, delete, pause, resume, retry, stop
from ipulse.cli.commands.jobs.listing import list_jobs
from ipulse.cli.commands.jobs.open import open_page
from ipulse.cli.commands.jobs.programs import push_program
from ipulse.cli.commands.jobs.spec import print_fields, print_spec
from ipulse.cli.commands.jobs.status import priority, status
from ipulse.cli.commands.jobs.submit import continue_job, submit
from ipulse.cli.commands.jobs.validate import validate
from ipulse.cli.commands.jobs.watch import logs, watch
from ipulse.cli.commands.results.archives import import_archives, verify
from ipulse.cli.commands.results.compare import compare
from ipulse.cli.commands.results.export import export
from ipulse.cli.commands.results.files import artifacts, download, report
from ipulse.cli.commands.results.metrics import metrics
from ipulse.cli.commands.results.profile import profile, profile_diff
from ipulse.cli.commands.service.completion import completion
from ipulse.cli.commands.service.demo import demo
from ipulse.cli.commands.service.doctor import doctor
from ipulse.cli.commands.service.login import login, logout
from ipulse.cli.commands.service.selftest import selftest
from ipulse.cli.commands.service.token import (
    create_token,
    edit_token,
    list_tokens,
    revoke_token,
)
from ipulse.cli.commands.service.up import up
from ipulse.cli.commands.sweeps.change import (
    delete_sweep,
    extend_sweep,
    pause_sweep,
    resume_sweep,
    retry_sweep,
    stop_sweep,
)
from ipulse.cli.commands.sweeps.run import run_sweep
from ipulse.cli.commands.sweeps.show import best_of_sweep, list_sweeps, show_one, sweep_status
from ipulse.cli.commands.sweeps.translate import import_sweep
from ipulse_core import version as build

from .default_command import DEFAULT
from .exits import Exit
from .options import AsJSON
from .terminal import emit, show


def version(as_json: AsJSON = False) -> Exit:
    """Print the version of IPUlse."""
    if as_json:
        emit({"version": build.version()})
    else:
        show(build.version())
    return Exit.OK


COMMANDS: dict[str, Callable[..., int]] = {
    "up": up,
    "demo": demo,
    "init": init,
    "submit": submit,
    "validate": validate,
    "list": list_jobs,
    "status": status,
    "watch": watch,
    "wait": wait,
    "open": open_page,
    "logs": logs,
    "artifacts": artifacts,
    "download": download,
    "report": report,
    "export": export,
    "import": import_archives,
    "verify": verify,
    "metrics": metrics,
    "stop": stop,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "retry": retry,
    "continue": continue_job,
    "clone": clone,
    "priority": priority,
    "edit": edit,
    "delete": delete,
    "compare": compare,
    "crosscheck": crosscheck,
    "emulate": emulate,
    "devices": list_devices,
    "login": login,
    "logout": logout,
    "doctor": doctor,
    "selftest": selftest,
    "completion": completion,
    "version": version,
}

# Commands in groups, such as `ipulse op check`.
GROUPS: dict[str, dict[str, Callable[..., Exit]]] = {
    "agent": {
        "token": create_join_token,
        "tokens": list_join_tokens,
        "revoke": revoke_join_token,
        "join": join_service,
        "run": run_joined,
        "leave": leave_service,
        "list": list_agents,
        "drain": drain_agent,
        "resume": resume_agent,
        "remove": remove_agent,
    },
    "cache": {"list": list_executables, "prune": prune_executables},
    "data": {
        "push": push,
        "list": list_datasets,
        "show": show_dataset,
        "delete": delete_dataset,
    },
    "neurons": {"check": check_package, "list": list_packages},
    "nir": {"import": import_nir},
    "op": {
        "new": new_op,
        "check": check_library,
        "test": compare_op,
        "push": push_op,
        "list": list_ops,
        "delete": delete_op,
    },
    "profile": {DEFAULT: profile, "diff": profile_diff},
    "program": {"push": push_program},
    "spec": {DEFAULT: print_spec, "fields": print_fields},
    "sweep": {
        "run": run_sweep,
        "list": list_sweeps,
        "show": show_one,
        "status": sweep_status,
        "best": best_of_sweep,
        "pause": pause_sweep,
        "resume": resume_sweep,
        "retry": retry_sweep,
        "stop": stop_sweep,
        "extend": extend_sweep,
        "delete": delete_sweep,
        "import": import_sweep,
    },
    "token": {
        "create": create_token,
        "list": list_tokens,
        "edit": edit_token,
        "revoke": revoke_token,
    },
}
GROUP_HELP = {
    "agent": "Run jobs on other machines: join, list and drain agents.",
    "cache": "List and remove cached programs, which were compiled on this machine.",
    "data": "Upload your own data sets, look at them and delete them.",
    "program": "Upload Poplar programs, to run them as jobs.",
    "neurons": "Check and list installed packages of neurons.",
    "nir": "Import networks of other simulators.",
    "op": "Write, check, test and push custom ops.",
    "profile": "Show the time and memory that a job used, or compare two profiles.",
    "spec": "Show the spec of a job, or the fields that a spec may have.",
    "sweep": "Train one spec with several values of some settings, and compare the trials.",
    "token": "Create, list, edit and revoke access tokens.",
}
