"""The sections of docs/load.md, one for each part."""

from __future__ import annotations

from typing import Any

from benchmarks.load.jobs import PRINTING_JOBS
from benchmarks.load.table import table
from benchmarks.load.transfers import DOWNLOADS, UPLOADS

Row = dict[str, Any]
QUANTILES = ("p50", "p99")
ENDS = ("first_line", "end_seen", "end_polled")
FILES = ("", "file, MiB", "MiB a second", "service grew by, MiB")


def submissions(rows: Row) -> list[str]:
    body = [
        (
            *(side, f["requests"], f["p50"], f["p99"], f["max"]),
            sum(f.get("errors", {}).values()),
            *(f["status"][quantile] for quantile in QUANTILES),
        )
        for side, f in rows.items()
    ]
    head = ("", "submissions", "p50", "p99", "greatest", "errors")
    return [
        "## One submission after the other",
        "",
        "Over one connection, for at most ten seconds, while a worker runs the jobs (MLflow makes"
        " records of runs), and then one job's status, asked as often; milliseconds.",
        "",
        *table((*head, "status p50", "p99"), body),
    ]


def rate(rows: Row) -> list[str]:
    body = [
        (side, f["held_per_second"], f.get("p50", ""), f.get("p99", ""), _next(f))
        for side, f in rows.items()
    ]
    return [
        "## Submissions a second",
        "",
        "At planned instants, while a worker runs the jobs: the greatest rate of a ladder (each"
        " step half as much again) that was held for ten seconds without an error and with p99"
        " below half a second. Times count from the planned instant.",
        "",
        *table(("", "held, a second", "p50 ms", "p99 ms", "first step that failed"), body),
    ]


def _next(figures: Row) -> str:
    failed = [step for step in figures["ladder"] if step.get("errors") or step["p99"] >= 500]
    if not failed:
        return ""
    step = failed[0]
    errors = f", {step['errors']}" if step.get("errors") else ""
    return f"{step['offered']:.0f} a second: p99 {step.get('p99', 0):.0f} ms{errors}"


def backlog(rows: Row) -> list[str]:
    body = [
        (
            side,
            f["queued"],
            f["per_second_first_tenth"],
            f["per_second_last_tenth"],
            f["p99_first_tenth"],
            f["p99_last_tenth"],
            f["bytes_per_queued_job"] / 1024,
            f["errors"],
        )
        for side, f in rows.items()
    ]
    head = ("", "queued", "first tenth, a second", "last tenth", "p99 ms, first tenth")
    return [
        "## A backlog",
        "",
        "Sixteen connections submit as fast as they are answered; nobody runs the jobs.",
        "",
        *table((*head, "last tenth", "KiB a queued job", "errors"), body),
    ]


def stored(rows: Row) -> list[str]:
    body = [
        (
            side,
            row["jobs"],
            row["status"]["p50"],
            row["status"]["p99"],
            row["status_16"]["per_second"],
            row["status_16"]["p99"],
            row["list"]["p50"],
            row["list"]["p99"],
        )
        for side, figures in rows.items()
        for row in figures
    ]
    head = ("", "stored jobs", "status p50 ms", "p99", "16 connections, a second", "p99 ms")
    return ["## Many stored jobs", "", *table((*head, "list of 100, p50 ms", "p99"), body)]


def streams(rows: Row) -> list[str]:
    body = [
        (side, f["streams"], f["received"], f["p50"], f["p99"], f["max"])
        for side, f in rows.items()
    ]
    return [
        "## Event streams",
        "",
        "From an agent's word to its arrival on each of many open streams of one job; in ms.",
        "",
        *table(("", "streams", "events received", "p50", "p99", "greatest"), body),
    ]


def downloads(rows: Row) -> list[str]:
    return [
        "## Downloads",
        "",
        f"Median of {DOWNLOADS}; IPUlse checks each MiB as it reads.",
        "",
        *table(FILES, _file_rows(rows)),
    ]


def _file_rows(rows: Row) -> list[Any]:
    return [(side, f["mebibytes"], f["mib_per_second"], f["grown_mib"]) for side, f in rows.items()]


def cold(rows: Row) -> list[str]:
    body = [
        (side, f["answers_seconds"], f.get("first_job_seconds", "")) for side, f in rows.items()
    ]
    return [
        "## From nothing",
        "",
        "Seconds from the start of the first program, in an empty folder, to a good answer and to"
        " the end of a first job; a PostgreSQL that is needed runs already. A worker that can wait"
        " for its service is started beside it.",
        "",
        *table(("", "answers", "first job done"), body),
    ]


def one_by_one(rows: Row) -> list[str]:
    body = [
        (side, f["jobs"], *(f[what][q] for what in ENDS for q in QUANTILES))
        for side, f in rows.items()
    ]
    return [
        "## One job after the other",
        "",
        "Each a process of its own, started cold; milliseconds from the submission to its first"
        " instruction, and from its last until its end is seen: of every other job in the best way"
        " that a service documents (IPUlse answers a question with `Prefer: wait` at the job's end,"
        " the others have to be asked every 20 ms), of the rest by asking every 20 ms. Prefect's"
        " worker asks for jobs every ten seconds: one submitted at the end of the one before waits"
        " nearly as long.",
        "",
        *table(("", "jobs", "begun p50", "p99", "end seen p50", "p99", "asked p50", "p99"), body),
    ]


def first_step(rows: Row) -> list[str]:
    body = [
        (what, f["p50"], f["p99"], f["max"]) for side in rows.values() for what, f in side.items()
    ]
    return [
        "## The first training step",
        "",
        "IPUlse with the real runner, which waits warm, with TensorFlow imported; milliseconds from"
        " the submission until the client's event stream says so.",
        "",
        *table(("", "p50", "p99", "greatest"), body),
    ]


def memory(rows: Row) -> list[str]:
    body = [(side, f["idle_mib"], f.get("running_mib", "")) for side, f in rows.items()]
    return [
        "## Memory",
        "",
        "MiB of all processes, a page shared by several counted once; without a warm runner. A"
        " running job's are those beyond a bare interpreter's.",
        "",
        *table(("", "idle", "each running job"), body),
    ]


def lines(rows: Row) -> list[str]:
    body = [
        (side, f["lines"], f["lost"], f["whole_after_seconds"], f["read_seconds"])
        for side, f in rows.items()
    ]
    return [
        "## A job that prints",
        "",
        "As fast as it can; seconds from its last line until the whole log has been read, and for"
        f" reading it; medians of {PRINTING_JOBS} jobs.",
        "",
        *table(("", "lines", "lost", "whole after", "reading"), body),
    ]


def uploads(rows: Row) -> list[str]:
    return [
        "## Uploads",
        "",
        f"Median of {UPLOADS} files that are not there yet; IPUlse checks each MiB, hashes and"
        " syncs the file, the others do not.",
        "",
        *table(FILES, _file_rows(rows)),
    ]


def kill(rows: Row) -> list[str]:
    body = [
        (
            side,
            f["rerun_seconds"] or f"not within {f['watched_seconds']:.0f}",
            "alive" if f["is_old_alive"] else "dead",
            f["state"],
        )
        for side, f in rows.items()
    ]
    return [
        "## A killed worker",
        "",
        "SIGKILL while its job runs; two seconds later a worker is started again, IPUlse's as on"
        " another machine, which has to wait for the lease. Seconds until the job runs again.",
        "",
        *table(("", "runs again after", "the old process is", "state"), body),
    ]


def kill_job(rows: Row) -> list[str]:
    body = [
        (side, f["seen_seconds"] or f"not within {f['watched_seconds']:.0f}", f["state"])
        for side, f in rows.items()
    ]
    return [
        "## A job's killed process",
        "",
        "SIGKILL to the process of a running job alone. Seconds until its state is another one, or"
        " it runs again.",
        "",
        *table(("", "seen after", "state"), body),
    ]


def answers_again(rows: Row) -> list[str]:
    return [
        "## A killed service",
        "",
        "SIGKILL; two seconds later it is started again. Seconds until it lists its jobs.",
        "",
        *table(("", "answers after"), [(side, f["seconds"]) for side, f in rows.items()]),
    ]


SECTIONS = {
    "cold": cold,
    "submissions": submissions,
    "one_by_one": one_by_one,
    "first_step": first_step,
    "rate": rate,
    "backlog": backlog,
    "stored": stored,
    "streams": streams,
    "memory": memory,
    "lines": lines,
    "downloads": downloads,
    "uploads": uploads,
    "kill": kill,
    "kill_job": kill_job,
    "answers_again": answers_again,
}
