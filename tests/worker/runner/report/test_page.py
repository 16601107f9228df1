from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from ipulse_core.limits import DECEPTIVE_CHARACTERS
from ipulse_worker.runner.report.page import contained
from ipulse_worker.runner.report.quantities import size
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.report.page import Page, report_in_a_browser


@pytest.fixture(scope="module")
def html(finished_dir: Path, finished: DrivenRunner) -> str:
    return (finished_dir / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_curves_are_drawn_by_the_library_of_the_web_page() -> None:
    """The version and style sheet are those that scripts/vendor has put into both packages."""
    root = Path(__file__).parents[4]
    bundles = root / "service/ipulse_service/http/web/vendor/bundles"
    templates = root / "worker/ipulse_worker/runner/report/templates"
    listed = json.loads((bundles / "bundles.json").read_text("utf-8"))
    (packages,) = [entry["packages"] for entry in listed if entry["bundle"] == "uplot"]
    version = packages[0].split()[1]
    assert f"(v{version})" in (templates / "uplot.js").read_text("utf-8")[:100]
    assert (templates / "uplot.css").read_bytes() == (bundles / "uplot.css").read_bytes()


class TestReportHTML:
    def test_is_well_formed(self, page: Page) -> None:
        assert page.problems == []
        assert page.open == []

    def test_fetches_nothing_and_runs_only_its_own_script(self, html: str, page: Page) -> None:
        """The policy names the digests of the one script and the one style sheet."""
        assert all(address.startswith("#") for address in page.loads)
        assert not re.search(r"url\(|@import", html)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
        assert policy is not None
        rules = dict(rule.split(" ", 1) for rule in unescape(policy.group(1)).split("; "))
        assert rules["default-src"] == "'none'"
        for kind, tag in (("script-src", "script"), ("style-src", "style")):
            (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert rules[kind] == f"'sha256-{digest}'"
        assert 'style="' not in html

    def test_is_small(self, html: str) -> None:
        assert len(html.encode()) <= 400_000

    def test_escapes_text_from_users(self, html: str, page: Page) -> None:
        assert "small <digits> & more" in "".join(page.text["h1"])
        assert "small <digits>" not in html
        assert "<script>alert(1)</script>" in "".join(page.text["dd"])
        assert "<script>alert" not in html

    def test_warns_of_dropped_spikes(self, page: Page, finished: DrivenRunner) -> None:
        dropped = finished.events[-1]["summary"]["dropped_spikes"]
        advice = "".join(page.text["li"] + page.text["b"])
        assert "layers[1] dropped" in advice
        assert f"{dropped:,.0f} in training" in advice
        assert "layers[0] dropped" not in advice

    def test_has_every_part(self, page: Page) -> None:
        assert [text for text in page.text["h2"] if text.strip()] == [
            "What to do next",
            "Learning curves",
            "One test sample",
            "Activity",
            "Gradients and learning rate",
            "Confusion matrix",
            "Time",
            "Network",
            "Operations and energy",
            "Terms",
            "Reproduction",
        ]
        labels = "".join(page.text["span"])
        for axis in (
            "accuracy (%)",
            "cross-entropy (nats)",
            "time (ms)",
            "spiking per step (%)",
            "learning rate",
        ):
            assert axis in labels

    def test_shows_the_figures_of_the_summary(self, page: Page, finished: DrivenRunner) -> None:
        accuracy = finished.events[-1]["summary"]["test_accuracy"]
        assert f"{100 * accuracy:.1f} %" in "".join(page.text["dd"])

    def test_shows_the_memory_stored_for_the_backward_pass(
        self, finished_dir: Path, html: str
    ) -> None:
        """The full history is a float32 for each of 32 + 24 neurons in 40 steps."""
        memory = json.loads((finished_dir / "profile.json").read_text("utf-8"))["memory"]
        assert memory["fullHistory"]["bytes_per_sample"] == 4 * 40 * (32 + 24)
        kept = memory["savedForBackward"]["bytes_per_sample"]
        assert 0 < kept < memory["fullHistory"]["bytes_per_sample"]
        assert f"{size(kept)} per sample; every membrane of every step would take" in html
        assert f"would take {size(4 * 40 * (32 + 24))}" in html

    @pytest.mark.browser
    def test_renders_in_a_browser_without_console_messages(
        self, finished_dir: Path, html: str, tmp_path: Path
    ) -> None:
        browser = shutil.which("chromium")
        if browser is None:
            pytest.skip("Debian's chromium is not installed: apt-get install chromium")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
        command += ["--no-first-run", "--disable-background-networking", "--disable-sync"]
        command += ["--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"]
        command += ["--enable-logging=stderr", "--log-level=0", "--window-size=1280,2400"]
        command += [f"--screenshot={tmp_path / 'report.png'}", "--hide-scrollbars"]
        address = (finished_dir / "report.html").as_uri()
        drawn = subprocess.run(
            [*command, address], capture_output=True, timeout=120, text=True, check=True
        )
        messages = [line for line in drawn.stderr.splitlines() if "CONSOLE" in line]
        assert messages == []
        picture = (tmp_path / "report.png").read_bytes()
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        # A blank page of this size compresses to a tenth of this.
        assert len(picture) > 100_000

    @pytest.mark.browser
    @pytest.mark.parametrize("width", [360, 1280])
    def test_charts_fit_a_screen(self, finished_dir: Path, html: str, width: int) -> None:
        """On a phone, too: nothing of a chart is cut off, and its texts can be read."""
        with report_in_a_browser(finished_dir / "report.html", width) as driver:
            assert driver.execute_script("return document.documentElement.scrollWidth") == width
            outside, small, charts = driver.execute_script(MEASURE)
        assert charts >= 10
        assert outside == []
        assert small == []

    @pytest.mark.browser
    def test_is_complete_with_scripts_disabled(self, finished_dir: Path) -> None:
        """Every section shows the texts that it has with scripts, but for what they operate."""
        seen = []
        for scripts in (True, False):
            with report_in_a_browser(finished_dir / "report.html", 1000, scripts) as driver:
                live = driver.find_elements("css selector", ".live canvas")
                assert bool(live) is scripts
                seen.append(driver.execute_script(SECTIONS))
        interactive, plain = seen
        assert [section["title"] for section in plain] == [s["title"] for s in interactive]
        assert len(plain) == 11
        for section, same in zip(plain, interactive):
            title = section["title"]
            assert set(same["words"]) <= set(section["words"]), title
            assert section["figures"] == same["figures"], title
            assert section["empty"] == [], title

    def test_layers_add_up_to_the_step(self, finished_dir: Path) -> None:
        (run,) = json.loads((finished_dir / "profile.json").read_text("utf-8"))["execution"]["runs"]
        layers = run["layers"]["layers"]
        assert [layer["layer"] for layer in layers] == [1, 2, "readout"]
        parts = {part["name"]: part["seconds"].get("mean") for part in run["steps"]["parts"]}
        for kind in ("forward", "backward"):
            assert sum(layer[kind] for layer in layers) == pytest.approx(parts[kind])
            assert all(layer[kind] > 0 for layer in layers)

    def test_spikes_are_stored_for_several_samples(self, finished_dir: Path) -> None:
        """The firing rates of the file are those of the evaluation, neuron by neuron."""
        spikes = json.loads((finished_dir / "spikes.json").read_text("utf-8"))
        activity = json.loads((finished_dir / "profile.json").read_text("utf-8"))["activity"]
        assert spikes["measured_samples"] == activity["samples"] == 40
        for layer, measured in zip(spikes["layers"], activity["layers"]):
            mean = sum(layer["firing_rates"]) / layer["neurons"]
            assert mean == pytest.approx(measured["firing_rate"], abs=1e-5)
            assert layer["dead"] == [n for n, rate in enumerate(layer["firing_rates"]) if not rate]
        assert {sample["label"] for sample in spikes["samples"]} == set(range(10))
        for sample in spikes["samples"]:
            assert len(sample["spikes"]) == 3
            assert len(sample["readout_membrane"]) == 10

    @pytest.mark.browser
    def test_curves_are_read_by_keyboard(self, finished_dir: Path) -> None:
        metrics = (finished_dir / "metrics.jsonl").read_text("utf-8").splitlines()
        epochs = [r for r in map(json.loads, metrics) if r["scope"] == "epoch"]
        with report_in_a_browser(finished_dir / "report.html", 800) as driver:
            chart = driver.find_element("css selector", "#learning .live")
            for key in ("\ue010", "\ue011", "\ue014"):  # End, Home, right arrow
                chart.send_keys(key)
            spoken = driver.find_element("css selector", "#learning .spoken")
            value = float(f"{100 * epochs[1]['test_accuracy']:.4g}")
            assert f"epoch 2: test {value:g}" in spoken.get_attribute("textContent")
            button = driver.find_elements("css selector", "#learning .tools button")[2]
            button.send_keys("\ue007")
            rows = driver.find_elements("css selector", "#learning .values tbody tr")
            assert len(rows) == len(epochs)
            assert [entry["message"] for entry in driver.get_log("browser")] == []


# Of each section: the words that can be seen, its figures, and those in which nothing is drawn.
SECTIONS = """
const isSeen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
return [...document.querySelectorAll("h2")].filter((h) => h.textContent.trim()).map((head) => {
  const section = head.closest("section") ?? head.parentElement;
  const walk = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walk.nextNode()) {
    const { parentElement: e, data } = walk.currentNode;
    const isControl = e.closest(".live, .tools, .spoken, .values");
    if (isSeen(e) && !isControl) words.push(...data.split(/\\s+/));
  }
  const figures = [...section.querySelectorAll("figure")].filter(isSeen);
  const drawn = "svg, canvas, .chart, table, .stack, .bar, img";
  const empty = figures.filter((figure) => ![...figure.querySelectorAll(drawn)]
    .some((e) => isSeen(e) && e.getBoundingClientRect().height > 10));
  return { title: head.textContent.trim(), words: words.filter(Boolean), figures: figures.length,
    empty: empty.map((figure) => figure.textContent.slice(0, 60)) };
});
"""
# Elements of charts that leave their figure; texts of less than 10 pixels; the number of charts.
MEASURE = """
const outside = [], small = [];
for (const figure of document.querySelectorAll("figure")) {
  const frame = figure.getBoundingClientRect();
  for (const e of figure.querySelectorAll("svg, svg text, .chart, .chart *")) {
    const box = e.getBoundingClientRect();
    const part = e.closest(".part")?.getBoundingClientRect();
    if (part && box.top >= part.bottom - 1) continue; // it does not fit its bar and is not shown
    if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1))
      outside.push(e.outerHTML.slice(0, 100));
    const drawn = e.ownerSVGElement ? e.getScreenCTM() : { a: 1, b: 0 };
    const scale = Math.hypot(drawn.a, drawn.b);
    const size = scale * parseFloat(getComputedStyle(e).fontSize);
    if (e.children.length === 0 && e.textContent.trim() && e.tagName !== "title" && size < 10)
      small.push(`${e.textContent}: ${size}`);
  }
}
return [outside, small, document.querySelectorAll(".chart, svg.matrix").length];
"""


def test_a_name_does_not_reorder_the_page() -> None:
    made = contained("run \u202etxt", "<p>\u200bhidden</p>")
    assert "run \\u202etxt" in made
    assert "\\u200bhidden" in made
    assert not DECEPTIVE_CHARACTERS.search(made)
