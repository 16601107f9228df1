"""Measure the service, and compare it with other job services.

    python -m benchmarks.service commands            processor time of commands of the command line
    python -m benchmarks.service submit              submissions, one after the other
    python -m benchmarks.service first-step          from a submission to the first training step
    python -m benchmarks.service digits              a job of the digits until its report
    python -m benchmarks.service pick                the pick among 100,000 queued jobs
    python -m benchmarks.service week                a simulated week of a lab of ten people
    python -m benchmarks.service search              searches and curves among 10,000 jobs
    python -m benchmarks.service page                the same in a browser: lists, curves, logs
    python -m benchmarks.service upload              a data set, beside a plain copy of its bytes
    python -m benchmarks.service mlflow              the lists, searches and curves of MLflow, too
    python -m benchmarks.service load                every part on every system, 15 minutes
    python -m benchmarks.service load --part submissions --system sqlite --system celery
    python -m benchmarks.service load --quick        small numbers: whether it works
    python -m benchmarks.service load-goals FILE     what `load --output FILE` wrote, and goals

`COMMAND --help` lists the options; --output FILE writes the table as CSV.
"""

from __future__ import annotations

import sys

from benchmarks.common import command_line

COMMANDS = {
    "commands": "commands",
    "submit": "submit",
    "first-step": "first_step",
    "digits": "digits_job",
    "pick": "pick",
    "week": "week",
    "search": "search",
    "page": "page",
    "upload": "upload",
    "mlflow": "mlflow_comparison",
    "load": "load",
    "load-goals": "load_goals",
}

if __name__ == "__main__":
    sys.exit(command_line.run("benchmarks.service", __doc__, COMMANDS))
