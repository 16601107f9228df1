"""The page of one job: its files, its lineage and its report."""

from __future__ import annotations

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest

from ipulse.cli.display.progress import duration
from ipulse_worker.runner.report.page import contained
from tests.service.agents import PHASES, phase
from tests.service.running import SPEC, InProcess

from .conftest import Page
from .test_accessibility import violations

pytestmark = pytest.mark.browser

FITS = "return document.documentElement.scrollWidth <= innerWidth"


def test_all_files_are_downloaded(page: Page, service: InProcess, tmp_path: Path) -> None:
    files = {"manifest.json": "manifest", "weights.npz": "weights", "report.html": "report"}
    job_id = service.submit({**SPEC, "name": "with files"})["id"]
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES))
    for name, role in files.items():
        attempt.put(name, role)
    assert attempt.finish("completed").status_code == 200
    stored = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    assert {file["name"] for file in stored} == set(files)
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    page.open(f"/jobs/{job_id}/files")
    page.until(lambda: [b for b in page.all("button") if b.text.startswith("Download all")])
    [button] = [b for b in page.all("button") if b.text.startswith("Download all")]
    button.click()
    sizes = {file["name"]: file["size"] for file in stored}

    def arrived() -> bool:
        files = [tmp_path / name for name in sizes]
        return all(file.exists() and file.stat().st_size == sizes[file.name] for file in files)

    page.until(arrived)


def test_the_spec_as_it_was_submitted(page: Page, service: InProcess) -> None:
    text = "version: 1  # <b>mine</b>\nnetwork: {layers: [{neurons: 4}]}\n"
    body = {"jobs": [{"spec": SPEC, "submitted": {"form": "yaml", "text": text}}]}
    [answer] = service.user.post("/v1/jobs:batch", json=body).json()["jobs"]
    page.open(f"/jobs/{answer['job']['id']}/config")
    page.until(lambda: [b for b in page.all("button") if b.text == "As submitted"])
    [button] = [b for b in page.all("button") if b.text == "As submitted"]
    button.click()
    page.until(lambda: "# <b>mine</b>" in page.find("pre.yaml").text)
    assert "view=submitted" in page.driver.current_url


def complete(service: InProcess, job_id: str, files: dict[str, tuple[str, bytes]]) -> None:
    """Runs a queued job to its end; `files` have a role and a content."""
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES))
    for name, (role, content) in {"manifest.json": ("manifest", b"{}"), **files}.items():
        assert attempt.put(name, role, content).status_code in (200, 201)
    assert attempt.finish("completed").status_code == 200


def test_the_lineage_is_a_tree_that_leads_to_its_jobs(page: Page, service: InProcess) -> None:
    names = ["ancestor", "parent", "child", "other child"]
    ids: dict[str, str] = {}
    for name, source in zip(names, (None, "ancestor", "parent", "ancestor"), strict=True):
        query = {} if source is None else {"start_from": ids[source], "start_mode": "weights"}
        answer = service.user.post("/v1/jobs", json={**SPEC, "name": name}, params=query)
        assert answer.status_code == 202, answer.text
        ids[name] = answer.json()["id"]
        complete(service, ids[name], {"weights.npz": ("weights", name.encode())})
    page.open(f"/jobs/{ids['ancestor']}")
    page.until(lambda: len(page.all(".family .member")) == len(names))

    def inside(name: str) -> list[str]:
        """Return the jobs below one."""
        script = """
            const member = [...document.querySelectorAll(".family .member")]
              .find((one) => one.firstElementChild.innerText.startsWith(arguments[0]));
            return [...member.parentElement.querySelectorAll(":scope > ul > li > .member")]
              .map((one) => one.firstElementChild.innerText.replace(/ \\w+$/, ""));
        """
        found: list[str] = page.driver.execute_script(script, name)
        return found

    assert [inside(name) for name in names] == [["parent", "other child"], ["child"], [], []]
    assert [text.split()[0] for text in page.texts(".family [aria-current]")] == ["ancestor"]
    assert violations(page) == []
    page.find(f".family a[href='/jobs/{ids['child']}']").click()
    page.until(lambda: page.texts("h1") == ["child"])
    page.until(lambda: len(page.all(".family .member")) == len(["ancestor", "parent", "child"]))


def test_a_network_file_shows_its_nodes(page: Page, service: InProcess, tmp_path: Path) -> None:
    network = tmp_path / "network.nir"
    write_nir(network)
    job_id = service.submit({**SPEC, "name": "with a network"})["id"]
    complete(service, job_id, {"network.nir": ("network", network.read_bytes())})
    page.open(f"/jobs/{job_id}/files")
    page.until(lambda: len(page.all("tbody tr")) == 2)
    [row] = [row for row in page.all("tbody tr") if row.text.startswith("network.nir")]
    row.find_element("css selector", "button[aria-expanded]").click()
    page.until(lambda: len(page.all(".nodes li")) == 4)
    texts = page.texts(".nodes li")
    assert [text.split()[0] for text in texts] == ["Input", "Affine", "LIF", "Output"]
    assert "0.5 to 2" in texts[2]
    assert "itself" in texts[2]
    assert "4 × 2" in texts[1]
    assert violations(page) == []
    page.resize(360)
    page.until(lambda: page.driver.execute_script(FITS))


def write_nir(path: Path) -> None:
    """Two inputs, four recurrent neurons."""
    tau = np.array([0.5, 1.0, 1.5, 2.0], np.float32)
    fields = {"tau": tau, "r": tau, "v_leak": tau, "v_threshold": tau}
    nodes = {
        "output": ("Output", {"shape": np.array([4])}),
        "cells": ("LIF", fields),
        "affine": ("Affine", {"weight": np.ones((4, 2)), "bias": np.zeros(4)}),
        "input": ("Input", {"shape": np.array([2])}),
    }
    edges = [("input", "affine"), ("affine", "cells"), ("cells", "cells"), ("cells", "output")]
    with h5py.File(path, "w") as file:
        file["version"] = "1.0"
        file["node/type"] = "NIRGraph"
        file["node/edges"] = np.array(edges, dtype=h5py.string_dtype())
        for name, (kind, values) in nodes.items():
            file[f"node/nodes/{name}/type"] = kind
            for key, value in values.items():
                file[f"node/nodes/{name}/{key}"] = value


def test_the_report_leads_to_its_job(page: Page, service: InProcess) -> None:
    report = contained("digits", '<p class="over">IPUlse</p><h1>digits</h1>').encode()
    job_id = service.submit({**SPEC, "name": "with a report"})["id"]
    complete(service, job_id, {"report.html": ("report", report)})
    page.open(f"/jobs/{job_id}/report")
    frame = page.find("iframe")
    page.driver.switch_to.frame(frame)
    page.press("Log")
    page.driver.switch_to.default_content()
    page.until(lambda: page.address() == f"/jobs/{job_id}/log")
    page.open(f"/v1/jobs/{job_id}/report")
    page.press("Profile")
    page.until(lambda: page.address() == f"/jobs/{job_id}/profile")


def test_a_trace_is_given_to_perfetto_once_it_answers(page: Page, service: InProcess) -> None:
    trace = gzip.compress(b'{"traceEvents": []}')
    job_id = service.submit({**SPEC, "name": "with a trace"})["id"]
    complete(service, job_id, {"trace.json.gz": ("trace", trace)})
    page.open(f"/jobs/{job_id}/files")
    # Nothing here leaves this machine: a window that notes its messages stands for the viewer.
    page.driver.execute_script("""
        window.sent = [];
        const answer = (origin) =>
          dispatchEvent(new MessageEvent("message", { data: "PONG", origin }));
        const size = (data) => data.perfetto.buffer.byteLength;
        window.open = (address) => {
          window.opened = address;
          return { closed: false, postMessage: (data, origin) => {
            window.sent.push([data === "PING" ? data : size(data), origin]);
            if (data !== "PING") return;
            answer("https://elsewhere.example");
            setTimeout(() => answer(window.opened));
          } };
        };
    """)
    page.press("Perfetto")
    assert page.driver.execute_script("return window.opened") is None, "it asks before"
    page.find("dialog .primary").click()
    viewer = "https://ui.perfetto.dev"
    page.until(lambda: [len(trace), viewer] in page.driver.execute_script("return window.sent"))
    assert page.driver.execute_script("return window.opened") == viewer
    sent = page.driver.execute_script("return window.sent")
    assert {origin for _, origin in sent} == {viewer}


def test_a_part_with_its_defaults_is_shown_if_the_spec_may_leave_it_out(
    page: Page, service: InProcess
) -> None:
    layers = [{"neurons": 4, "quantisation": {"bits": 8}, "second_threshold": 0.5}]
    job_id = service.submit({**SPEC, "network": {"layers": layers}})["id"]
    page.open(f"/jobs/{job_id}/config")
    page.until(lambda: any("quantisation" in text for text in page.texts(".yaml")))
    page.open(f"/new?from={job_id}")
    page.until(lambda: page.texts(".changes p"))
    text = "return document.querySelector('ip-editor').editor.state.doc.toString()"
    assert "quantisation" in page.driver.execute_script(text)
    assert page.texts(".changes li") == []


def test_only_a_job_with_a_checkpoint_can_continue(page: Page, service: InProcess) -> None:
    def buttons() -> list[str]:
        return [each.text for each in page.all(".head button")]

    for has_checkpoint in (False, True):
        attempt = service.attempt(service.submit({**SPEC, "name": "left"})["id"])
        attempt.report(*map(phase, PHASES[:4]))
        if has_checkpoint:
            attempt.put("checkpoint-3", "checkpoint", b"weights")
            attempt.report({"kind": "checkpoint", "path": "c.npz", "epoch": 1, "step": 3})
        attempt.finish("diverged", "no finite loss")
        page.open(f"/jobs/{attempt.claim['job_id']}")
        page.until(lambda: page.all(".outcome.failed") and "Retry" in buttons())
        page.until(lambda: page.texts(".phases"))
        if has_checkpoint:
            page.until(lambda: "Continue" in buttons())
        else:
            assert "Continue" not in buttons()


def test_a_failed_job_is_retried_and_followed_again(page: Page, service: InProcess) -> None:
    job_id = service.submit({**SPEC, "name": "once more"})["id"]
    first = service.attempt(job_id)
    first.report(*map(phase, PHASES))
    first.finish("out_of_memory", "no room")
    page.open(f"/jobs/{job_id}")
    page.until(lambda: page.all(".outcome.failed"))
    [button] = [each for each in page.all(".head button") if each.text == "Retry"]
    button.click()
    page.until(lambda: "queued" in page.texts(".job-head [role=status]"))
    second = service.attempt(job_id)
    second.complete()  # a stream of its own says so
    page.until(lambda: "succeeded" in page.texts(".job-head [role=status]"))
    assert not [each for each in page.all(".head button") if each.text == "Retry"]


def test_durations_are_those_of_the_command_line(page: Page) -> None:
    seconds = [0.0, 0.04, 9.94, 9.96, 99.4, 99.6, 100, 489.2, 5999, 7260, 183_600]
    page.open("/jobs")
    module = page.driver.execute_script(
        "return [...document.querySelectorAll('link[rel=modulepreload]')]"
        ".map(({ href }) => href).find((href) => href.endsWith('/lib/format.js'))"
    )
    shown = page.driver.execute_async_script(
        "const [module, seconds, done] = arguments;"
        "import(module).then(({ duration }) => done(seconds.map(duration)));",
        module,
        seconds,
    )
    assert shown == [duration(each) for each in seconds]
