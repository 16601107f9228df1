"""The page with odd input: curves without numbers, very many tags, and names in any script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.service.agents import METRIC
from tests.service.running import SPEC, InProcess

from .conftest import ENTER, Page
from .test_accessibility import OVERFLOW

pytestmark = pytest.mark.browser

# A chart of any values; returns its scales, its legend, and the points that its path has.
DRAW = """
    const [series, log, smooth, done] = arguments;
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    const value = (given) => (given === null ? null : Number(given));
    const read = ({ x, y }) => ({ x, y: y.map(value) });
    import(main.replace("app/main.js", "charts/curve.js")).then(async () => {
      const view = document.createElement("ip-curve");
      const more = (_, at) => ({ id: `${at}`, label: `curve ${at}`, color: "--s1" });
      view.series = series.map((one, at) => ({ ...more(one, at), ...read(one) }));
      Object.assign(view, { log, smooth, name: "drawn", hasTable: true });
      document.querySelector("main").append(view);
      await view.updateComplete;
      await new Promise(requestAnimationFrame);
      const { x, y } = view.plot.scales;
      const box = view.querySelector(".curve-box");
      for (const key of ["ArrowRight", "End", "+", "Escape"])
        box.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
      const canvas = view.querySelector("canvas");
      const pixels = new Uint32Array(
        canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      const colour = pixels.reduce((sum, pixel) => sum + (pixel !== 0), 0);
      const cells = [...view.querySelectorAll("td")].map((one) => one.textContent);
      done({ y: [y.min, y.max], colour, cells, legend: view.querySelector("b").textContent });
      view.remove();
    }, (error) => done(`${error}`));
"""
LARGEST = 1.7976931348623157e308
CURVES: dict[str, tuple[Sequence[float], Sequence[float | str | None]]] = {
    "nan": ((1, 2, 3, 4), (0.5, "NaN", 0.25, "NaN")),
    "infinite": ((1, 2, 3), (1, "Infinity", "-Infinity")),
    "all nan": ((1, 2), ("NaN", "NaN")),
    "one point": ((7,), (0.5,)),
    "no point": ((), ()),
    "gaps": ((1, 2, 3), (None, 0.5, None)),
    "huge": ((1, 2, 3), (-LARGEST, 0, LARGEST)),
    "tiny": ((1, 2), (5e-324, LARGEST)),
    "one place": ((3, 3), (1, 2)),
}
NAMES = (
    "تجربة 12 (أولى)",
    "ניסוי 7",
    "实验 三",
    "परीक्षण ४",
    "การทดลอง",
    "опыт №5",
    "e\u0301tude 🧠🏳️‍🌈",
    "W" * 128,
)
# Where a text of its own direction could move what stands beside it: not in an isolate, nor alone.
LOOSE = """
    const name = arguments[0];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const { currentNode: text } = walker;
      if (!text.data.includes(name) || !text.parentElement.checkVisibility()) continue;
      let place = text.parentElement;
      const isLoose = ({ display, unicodeBidi }) =>
        display === "inline" && !/isolate|plaintext/.test(unicodeBidi);
      while (isLoose(getComputedStyle(place))) place = place.parentElement;
      if (place.matches("option, textarea, code, pre")) continue;
      if (place.textContent.trim() === name) continue;
      found.push(place.outerHTML.slice(0, 300));
    }
    return found;
"""


@pytest.mark.parametrize("kind", CURVES)
def test_a_chart_draws_what_it_can_of_any_values(page: Page, kind: str) -> None:
    page.open("/device")
    page.find("main h1")
    x, y = CURVES[kind]
    for is_log in (False, True):
        for smooth in (0, 0.9):
            curve = {"x": x, "y": y}
            drawn: Any = page.driver.execute_async_script(DRAW, [curve], is_log, smooth)
            low, high = drawn["y"]
            assert low < high, drawn
            assert high - low < LARGEST, drawn
            assert drawn["colour"], "axes at least"
            assert len(drawn["cells"]) == 2 * len(set(x))


def test_a_job_with_one_point_or_none_has_charts(page: Page, service: InProcess) -> None:
    ids = []
    for values in ({}, {"loss": 1e308, "test_accuracy": 0.5, "test_loss": -1e308}):
        ids.append(service.submit({**SPEC, "name": "few points"})["id"])
        attempt = service.attempt(ids[-1])
        if values:
            attempt.report({**METRIC, "scope": "epoch", "values": values})
        attempt.complete()
    for job_id, shown in zip(ids, (".empty", "ip-curve canvas"), strict=True):
        page.open(f"/jobs/{job_id}/metrics")
        page.find(f"ip-job {shown}")
    page.open(f"/compare?jobs={','.join(ids)}")
    page.find("ip-curve canvas")
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)


def test_names_in_any_script_keep_their_place(page: Page, service: InProcess) -> None:
    ids = []
    for name in NAMES:
        metadata = {"key": name[:64]}
        ids.append(service.submit({**SPEC, "name": name, "metadata": metadata})["id"])
        service.attempt(ids[-1]).complete()
    page.open("/jobs")
    page.until(lambda: set(NAMES) <= set(page.texts("tbody a.name")))
    paths = ["/jobs", f"/compare?jobs={','.join(ids)}"]
    paths += [f"/jobs/{ids[0]}{tab}" for tab in ("", "/config", "/attempts", "/files")]
    paths += [f"/new?from={ids[0]}", "/devices"]
    for width in (1280, 360):
        page.resize(width)
        for path in paths:
            page.open(path)
            page.find("main h1")
            page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)
            assert page.driver.execute_script(LOOSE, NAMES[0]) == [], path
    page.open(f"/jobs/{ids[0]}")
    page.until(lambda: page.texts("h1") == [NAMES[0]])
    assert NAMES[0] in page.driver.title
    page.open("/jobs")
    page.find("ip-search input").send_keys(f'name:"{NAMES[1]}"\n')
    page.until(lambda: page.texts("tbody a.name") == [NAMES[1]])


@pytest.mark.verify
def test_ten_thousand_tags_are_searched_and_suggested(page: Page, service: InProcess) -> None:
    jobs, each = 625, 16
    for job in range(jobs):
        tags = [f"tag-{each * job + number:05}" for number in range(each)]
        answer = service.user.post("/v1/jobs", json=SPEC, params={"tag": tags})
        assert answer.status_code == 202, answer.text
    for width in (1280, 360):
        page.resize(width)
        page.open("/jobs?columns=name,tags")
        page.find("table a.name")
        page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)
    page.resize(1280)
    field = page.find("ip-search input")
    field.send_keys("tag:tag-0999")
    page.until(lambda: any("tag-0999" in text for text in page.texts("#suggestions li")))
    assert len(page.texts("#suggestions li")) < 100
    field.send_keys("9", ENTER)
    page.until(lambda: len(page.texts("tbody a.name")) == 1)
    page.find("tbody a.name").click()
    page.until(lambda: page.find("main").text.count("tag-099") >= each)
    page.resize(360)
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)
