"""Profiles on the page: program tree, memory over time, traces, and the difference of two."""

from __future__ import annotations

import gzip
import json
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from ipulse_worker.runner.report.on_tiles import on_tiles
from ipulse_worker.runner.report.page import render
from tests.service.profiles import profile, profiled_job, tiles
from tests.service.running import InProcess
from tests.worker.runner.report.tile_documents import document

from .conftest import Page

pytestmark = pytest.mark.browser

# A trace of 4 IPUs with a million events, drawn; returns three colours of its first lane, from the
# top.
MILLION = """
    const done = arguments[0];
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    const load = (name) => import(main.replace("app/main.js", `views/profiles/${name}.js`));
    const step = (_, at) => {
      const activeCycles = { cyclesFrom: { min: 100 * at }, cyclesTo: { max: 100 * at + 100 } };
      const ipus = Array.from({ length: 4 }, () => ({ cycles: 100, activeCycles }));
      const cycles = { syncCycles: 10, exchangeCycles: 0, hostCycles: 0, computeCycles: 90 };
      return { program: at % 8, ipus, ...cycles };
    };
    const program = (_, id) => ({ _id: id, name: `step ${id}`, type: "OnTileExecute" });
    Promise.all([load("trace_events"), load("trace")]).then(async ([{ ofPoplar, sums }]) => {
      const trace = ofPoplar({
        compilation: { programs: Array.from({ length: 8 }, program), target: { numIPUs: 4 } },
        execution: { runs: [{ name: "run", steps: Array.from({ length: 125000 }, step) }] },
      });
      const view = Object.assign(document.createElement("ip-trace"), { trace });
      document.querySelector("main").append(view);
      await view.updateComplete;
      view.draw();
      const canvas = view.querySelector("canvas");
      const scale = canvas.width / canvas.clientWidth;
      const drawn = canvas.getContext("2d").getImageData(canvas.width / 2, 0, 1, 40 * scale).data;
      const pixel = (y) => [...drawn.slice(4 * y * scale, 4 * y * scale + 4)].join();
      const colors = [1, 20, 38].map(pixel);
      view.show(100 * 62500, 100 * 62510); // ten steps in the middle
      await view.updateComplete;
      view.draw();
      const seen = sums(trace, ...view.range);
      const events = trace.lanes.reduce((sum, { count }) => sum + count, 0);
      done({ events, end: trace.end, seen: seen.events, kinds: [...seen.byKind], colors });
      view.remove();
    });
"""
LANES = """
    const { trace } = document.querySelector("ip-trace") ?? {};
    return trace?.lanes.map(({ title, count }) => `${title}: ${count}`);
"""


@pytest.fixture(scope="module")
def tiled(service: InProcess) -> str:
    """A job on four IPUs."""
    return profiled_job(service, profile(), tiles(ipus=4), name="tiled")


def test_layers_are_shown_on_their_tiles(page: Page, tiled: str) -> None:
    page.open(f"/jobs/{tiled}/profile?part=memory")
    page.until(lambda: any(row.startswith("Readout") for row in page.texts("main tbody tr")))
    rows = [row.split("\t") for row in page.texts("main tbody tr")]
    [layer] = [row for row in rows if row[0].strip() == "Layer 1"]
    assert [cell.strip() for cell in layer[1:5]] == ["0", "3", "12", "4"]
    assert "Load balance 87.5 %" in page.find("main").text


def test_copies_between_host_and_device_are_shown_by_direction(
    page: Page, service: InProcess
) -> None:
    copied = tiles()
    first, last = copied["execution"]["totals"][0], copied["execution"]["totals"][-1]
    first.update(bytesFromHost=2048, bytesToHost=0)
    last.update(bytesFromHost=0, bytesToHost=512)
    page.open(f"/jobs/{profiled_job(service, profile(), copied, name='copied')}/profile")
    page.until(lambda: any(row.startswith("To the host") for row in page.texts("main tbody tr")))
    rows = [row.split("\t") for row in page.texts("main tbody tr")]
    found = {row[0].strip(): [cell.strip() for cell in row[1:3]] for row in rows}
    assert found["To the device"] == ["1", "2.0 KiB"]
    assert found["To the host"] == ["1", "512 B"]


def test_a_program_is_a_tree_that_opens_where_the_cycles_are(page: Page, tiled: str) -> None:
    page.open(f"/jobs/{tiled}/profile")
    page.press("Program tree")
    page.until(lambda: "layer1/integrate" in page.texts(".tree-name"))
    [line] = [line for line in page.texts(".tree-line") if line.startswith("layer1/integrate")]
    assert "3,640 cycles" in line  # 4 passes of 800 + 20 + 90
    page.find("ip-program-tree [type=search]").send_keys("adjoint")
    page.until(lambda: page.texts(".tree-name") == ["backward/layer1/adjoint"])
    page.press("backward/layer1/adjoint")
    page.until(lambda: "program=5" in page.address())
    page.press("Execution trace")  # the other parts show the chosen program
    field = page.find("ip-trace [type=search]")
    page.until(lambda: field.get_property("value") == "backward/layer1/adjoint")
    page.until(lambda: "8 events in view" in page.driver.find_element("tag name", "ip-trace").text)


def test_memory_over_time_shows_what_is_live(page: Page, tiled: str) -> None:
    page.open(f"/jobs/{tiled}/profile?part=liveness")
    slider = page.find("[role=slider]")
    page.until(lambda: "step 4" in page.texts("ip-liveness h3")[0])  # the peak
    assert page.texts("ip-liveness tbody th") == ["of step 5"]
    slider.send_keys(Keys.HOME)
    page.until(lambda: page.texts("ip-liveness tbody th") == ["of step 1"])
    assert slider.get_attribute("aria-valuenow") == "1"
    page.until(lambda: "program=1" in page.address())


def test_a_trace_of_a_million_events_is_drawn_and_summed(page: Page, tiled: str) -> None:
    page.open(f"/jobs/{tiled}/profile?part=trace")
    page.find("ip-trace canvas")
    found = page.driver.execute_async_script(MILLION)
    assert (found["events"], found["end"]) == (1_000_000, 12_500_000)
    assert found["seen"] == 80  # sync and compute of ten steps on four IPUs
    assert found["kinds"] == [4 * 900, 0, 4 * 100, 0]
    assert len(set(found["colors"])) == 3  # sync above compute, and nothing between the lanes


def test_the_time_line_of_an_attempt_nests_its_spans(page: Page, service: InProcess) -> None:
    spans = [("run", 0, 100), ("step 1", 0, 40), ("forward", 5, 10), ("step 2", 40, 60)]
    events: list[dict[str, Any]] = [
        {"ph": "X", "name": name, "cat": "c", "pid": 1, "tid": 1, "ts": ts, "dur": dur}
        for name, ts, dur in spans
    ]
    events.append({"ph": "M", "name": "thread_name", "tid": 1, "args": {"name": "runner"}})
    packed = gzip.compress(json.dumps({"traceEvents": events}).encode())
    job_id = profiled_job(service, profile(), name="lined", trace=packed)
    page.open(f"/jobs/{job_id}/profile?part=timeline")
    expected = ["runner: 1", "runner 2: 2", "runner 3: 1"]
    page.until(lambda: page.driver.execute_script(LANES) == expected)


def test_two_profiles_are_compared(page: Page, service: InProcess) -> None:
    slow = profiled_job(service, profile(forward=0.008), tiles(), name="slow one")
    fast = profiled_job(service, profile(forward=0.004), tiles(name="ordered"), name="fast one")
    page.open(f"/jobs/{fast}/profile")
    page.press("Compare profiles")
    page.until(lambda: page.find("[name=b]").get_property("value") == fast)
    page.find("[name=a]").send_keys(slow[:12] + Keys.ENTER)
    page.until(lambda: "a=" + slow[:12] in page.address())
    page.until(lambda: page.texts(".sides dd") != [])
    rows = {text.split("\t")[0]: text for text in page.texts(".changes tbody tr")}
    assert "−50 %" in rows["layer 1, forward"]
    assert "readout, backward" not in rows
    assert "gone" in rows["arrange"]
    assert "new" in rows["ordered"]
    page.press("Show what is equal")
    page.until(lambda: any(t.startswith("readout, backward") for t in page.texts(".changes th")))
    page.open(f"/compare?jobs={fast},{slow}")
    page.press("Compare profiles")
    page.until(lambda: f"a={slow}" in page.address())
    page.press("Swap")
    page.until(lambda: f"a={fast}" in page.address())
    page.until(lambda: "+100 %" in " ".join(page.texts(".changes tbody tr")))


@pytest.mark.verify
def test_a_report_does_not_grow_with_the_events(page: Page, tmp_path: Path) -> None:
    """250,000 steps on 4 IPUs make as many elements as 1,000 steps."""
    sizes = {}
    for steps in (500, 125_000):  # of each of two runs
        found = document(tiles=1472, ipus=4)
        for run in found["execution"]["runs"]:
            run["steps"] = list(islice(cycle(run["steps"]), steps))
        network = SimpleNamespace(layers=[None])
        spec = SimpleNamespace(network=network, device=SimpleNamespace(training="host"))
        results: Any = SimpleNamespace(poplar_profile=found, profile={"execution": {}}, spec=spec)
        path = tmp_path / f"{steps}.html"
        path.write_text("<!doctype html>" + render("sections/tiles.html", tiles=on_tiles(results)))
        page.driver.get(path.as_uri())
        assert "Run forward" in page.find("#tiles").text
        script = "return document.querySelectorAll('*').length"
        sizes[steps] = (page.driver.execute_script(script), path.stat().st_size)
    elements, size = sizes[125_000]
    assert elements < 1.2 * sizes[500][0] < 5000
    assert size < 1.5 * sizes[500][1] < 1_000_000
