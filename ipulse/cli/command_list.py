"""The commands, their places in the code, and their lines in the help, without importing them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from .default_command import DEFAULT

# Modules below ipulse.cli.commands, and functions of them.
COMMANDS: dict[str, str] = {
    "up": "service.up:up",
    "demo": "service.demo:demo",
    "init": "inputs.init:init",
    "submit": "jobs.submit:submit",
    "validate": "jobs.validate:validate",
    "plan": "jobs.plan:plan",
    "list": "jobs.listing:list_jobs",
    "status": "jobs.status:status",
    "watch": "jobs.watch:watch",
    "open": "jobs.open:open_page",
    "logs": "jobs.watch:logs",
    "download": "results.files:download",
    "report": "results.files:report",
    "export": "results.export:export",
    "import": "results.archives:import_archives",
    "verify": "results.archives:verify",
    "metrics": "results.metrics:metrics",
    "stop": "jobs.lifecycle:stop",
    "cancel": "jobs.lifecycle:cancel",
    "pause": "jobs.lifecycle:pause",
    "resume": "jobs.lifecycle:resume",
    "retry": "jobs.lifecycle:retry",
    "continue": "jobs.submit:continue_job",
    "clone": "jobs.clone:clone",
    "edit": "jobs.edit:edit",
    "delete": "jobs.lifecycle:delete",
    "compare": "results.compare:compare",
    "table": "results.table:table",
    "crosscheck": "develop.crosscheck:crosscheck",
    "emulate": "develop.emulate:emulate",
    "devices": "agents.agents:list_devices",
    "usage": "service.quotas:show_usage",
    "login": "service.login:login",
    "logout": "service.login:logout",
    "doctor": "service.doctor:doctor",
    "selftest": "service.selftest:selftest",
    "backup": "service.backup:backup",
    "restore": "service.backup:restore",
    "migrate": "service.backup:migrate",
    "completion": "service.completion:completion",
}

# Commands in groups, such as `ipulse op check`.
GROUPS: dict[str, dict[str, str]] = {
    "agent": {
        "token": "agents.agents:create_join_token",
        "join": "agents.membership:join_service",
        "run": "agents.membership:run_joined",
        "leave": "agents.membership:leave_service",
        "list": "agents.agents:list_agents",
        "drain": "agents.agents:drain_agent",
        "remove": "agents.agents:remove_agent",
    },
    "audit": {
        "list": "service.audit:list_audit_log",
        "verify": "service.audit:verify_audit_log",
    },
    "cache": {
        "list": "develop.cache:list_executables",
        "prune": "develop.cache:prune_executables",
    },
    "data": {
        "push": "inputs.datasets:push",
        "list": "inputs.datasets:list_datasets",
        "show": "inputs.datasets:show_dataset",
        "delete": "inputs.datasets:delete_dataset",
    },
    "neurons": {
        "check": "develop.neurons:check_package",
        "list": "develop.neurons:list_packages",
    },
    "nir": {
        "import": "inputs.nir:import_nir",
    },
    "op": {
        "new": "develop.op_project:new_op",
        "check": "develop.op:check_library",
        "test": "develop.op_project:compare_op",
        "push": "develop.pushed_ops:push_op",
        "list": "develop.pushed_ops:list_ops",
        "delete": "develop.pushed_ops:delete_op",
    },
    "pool": {
        "create": "agents.pools:create_pool",
        "list": "agents.pools:list_pools",
        "edit": "agents.pools:edit_pool",
        "delete": "agents.pools:delete_pool",
        "reserve": "agents.pools:reserve",
        "reservations": "agents.pools:list_reservations",
        "release": "agents.pools:release",
    },
    "profile": {
        DEFAULT: "results.profile:profile",
        "diff": "results.profile:profile_diff",
    },
    "program": {
        "push": "jobs.programs:push_program",
    },
    "project": {
        "create": "service.people:create_project",
        "list": "service.people:list_projects",
        "show": "service.people:show_project",
        "edit": "service.people:edit_project",
        "member": "service.people:set_member",
        "quota": "service.quotas:project_quota",
    },
    "spec": {
        DEFAULT: "jobs.spec:print_spec",
        "fields": "jobs.spec:print_fields",
        "runs": "jobs.spec_runs:print_runs",
        "schema": "jobs.spec:print_schema",
        "upgrade": "jobs.spec:print_upgraded",
    },
    "sweep": {
        "run": "sweeps.run:run_sweep",
        "list": "sweeps.show:list_sweeps",
        "show": "sweeps.show:show_one",
        "status": "sweeps.show:sweep_status",
        "best": "sweeps.show:best_of_sweep",
        "pause": "sweeps.change:pause_sweep",
        "resume": "sweeps.change:resume_sweep",
        "retry": "sweeps.change:retry_sweep",
        "stop": "sweeps.change:stop_sweep",
        "extend": "sweeps.change:extend_sweep",
        "delete": "sweeps.change:delete_sweep",
        "import": "sweeps.translate:import_sweep",
    },
    "token": {
        "create": "service.token:create_token",
        "list": "service.token:list_tokens",
        "edit": "service.token:edit_token",
        "revoke": "service.token:revoke_token",
    },
    "user": {
        "add": "service.people:add_user",
        "list": "service.people:list_users",
        "edit": "service.people:edit_user",
        "me": "service.people:show_me",
        "quota": "service.quotas:user_quota",
        "sessions": "service.people:list_sessions",
        "sign-out": "service.people:sign_out",
    },
    "webhook": {
        "add": "service.webhook:add_webhook",
        "list": "service.webhook:list_webhooks",
        "test": "service.webhook:check_webhook",
        "deliveries": "service.webhook:list_deliveries",
        "delete": "service.webhook:delete_webhook",
    },
}
GROUP_HELP = {
    "agent": "Run jobs on other machines: join, list and drain agents.",
    "audit": "Show who did what, and check that the log is whole.",
    "cache": "List and remove cached programs, which were compiled on this machine.",
    "data": "Upload your own data sets, look at them and delete them.",
    "program": "Upload Poplar programs, to run them as jobs.",
    "project": "Create projects, and say who may read, submit and change what in them.",
    "neurons": "Check and list installed packages of neurons.",
    "nir": "Import networks of other simulators.",
    "op": "Write, check, test and push custom ops.",
    "pool": "Group workers into pools, choose who may use them, and reserve them.",
    "profile": "Show the time and memory that a job used, or compare two profiles.",
    "spec": "Show the spec of a job, the fields that a spec may have, or a file as version 2.",
    "sweep": "Train one spec with several values of some settings, and compare the trials.",
    "token": "Create, list, edit and revoke access tokens.",
    "user": "Add people, list and disable them, and show who you are.",
    "webhook": "Tell programs, chats and people by mail when jobs end.",
}

# The help of `ipulse` itself: what everybody needs has a line, the others are named.
SECTIONS: dict[str, dict[str, str]] = {
    "Run": {
        "init": "Write a commented spec to begin with.",
        "submit": "Submit trainings or Poplar programs from their specs.",
        "sweep": "Train a spec with several values of some settings.",
        "clone": "Submit the spec of a job again, with other values.",
        "continue": "Train a job that has ended for more epochs.",
        "stop": "Finish a training now and keep its results.",
    },
    "Look": {
        "list": "List jobs, newest first, or those that a query finds.",
        "status": "Show the state, the times and the results of a job.",
        "watch": "Follow jobs to their ends.",
        "logs": "Show the log of a job.",
        "report": "Download the report of a job.",
        "profile": "Show the time and memory that a job used.",
    },
    "Compare": {
        "compare": "Compare jobs: the settings that differ and their results.",
        "table": "Print the table of a paper: accuracy, operations, energy.",
        "metrics": "Show the metrics of jobs by epoch or step.",
        "export": "Write jobs for TensorBoard, MLflow, W&B, tables or archives.",
    },
    "Data": {
        "data": "Upload your own data sets, look at them and delete them.",
        "download": "List or download the files of a job.",
    },
    "Service": {
        "up": "Run a service on this machine until Ctrl-C.",
        "login": "Sign in to a service on another machine.",
        "doctor": "Check what this machine and the service need.",
    },
}
MORE: dict[str, tuple[str, ...]] = {
    "jobs": ("cancel", "pause", "resume", "retry", "edit", "delete", "open", "import", "verify"),
    "networks": (
        *("spec", "validate", "plan", "nir", "neurons"),
        *("op", "program", "emulate", "crosscheck"),
    ),
    "machines": (
        *("demo", "agent", "pool", "devices", "cache"),
        *("backup", "restore", "migrate", "selftest"),
    ),
    "people": ("user", "project", "usage", "token", "audit", "webhook", "logout", "completion"),
}


def load(place: str) -> Callable[..., int]:
    """Import the function of a command, which is named as in COMMANDS."""
    module, _, name = place.partition(":")
    found = getattr(import_module(f"ipulse.cli.commands.{module}"), name)
    return cast("Callable[..., int]", found)
