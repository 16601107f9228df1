"""Jobs side by side: curves, settings that differ, spread over seeds, axes that filter."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from selenium.webdriver.support.ui import Select

from tests.service.running import InProcess

from .conftest import Page
from .test_program_page import submitted

pytestmark = pytest.mark.browser

RATES, SEEDS, EPOCHS = (0.001, 0.01), (1, 2, 3), 4
SCALES = """
    return [...document.querySelectorAll("ip-curve")]
      .map(({ plot }) => [plot.scales.x.min, plot.scales.x.max]);
"""
OPTION = """
    const [, { chart }] = document.querySelectorAll("ip-chart");
    return chart?.getOption().series.map(({ data }) => data);
"""
BRUSH = """
    const { chart } = document.querySelector("ip-chart");
    const axis = chart.getModel().getComponent("parallelAxis", arguments[0]);
    const intervals = arguments[1];
    chart.dispatchAction({ type: "axisAreaSelect", parallelAxisId: axis.id, intervals });
"""


def accuracy(rate: float, seed: int, epoch: int) -> float:
    return 0.5 + 10 * rate + 0.013 * seed * seed + 0.05 * epoch


@pytest.fixture(scope="module")
def group(service: InProcess) -> str:
    """Jobs with curves, and a search that finds them."""
    for rate in RATES:
        for seed in SEEDS:
            spec = {
                "version": 1,
                "name": f"rate {rate}",
                "seed": seed,
                "network": {"layers": [{"neurons": 4}]},
                "training": {"epochs": EPOCHS, "optimizer": {"learning_rate": rate}},
            }
            attempt = service.attempt(service.submit(spec)["id"])
            for epoch in range(1, EPOCHS + 1):
                values = {"test_accuracy": accuracy(rate, seed, epoch), "learning_rate": rate}
                attempt.report(metric(epoch, **values, test_loss=1.5))
            attempt.complete()
    return "name:rate*"


def metric(epoch: int, **values: float) -> dict[str, Any]:
    facts = {"epoch": epoch, "epochs": EPOCHS, "step": 10 * epoch, "steps": 10 * EPOCHS}
    return {"kind": "metric", "scope": "epoch", "values": values, **facts}


def test_what_differs_is_shown_with_the_best_result(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}")
    page.until(lambda: len(page.texts(".chips li")) == len(RATES) * len(SEEDS))
    heads = page.texts("section[aria-label='Settings and metrics'] thead th")
    assert heads[:2] == ["Job", "Test acc."], "results stand beside the names"
    assert heads[heads.index("State") + 1 :] == ["Seed", "Learning rate"]
    assert not any("epochs" in head.lower() for head in heads), "all jobs have as many"
    best = accuracy(RATES[-1], SEEDS[-1], EPOCHS)
    assert f"{100 * best:.1f} %" in page.texts("td.best")[0]


def test_the_spread_over_seeds_is_that_of_the_statistics(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}")
    page.find("svg.dots")
    rows = page.driver.execute_script("""
        return [...document.querySelectorAll("section[aria-label='Groups'] tbody tr")]
          .map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
    """)
    shown = {row[0]: row for row in rows}
    for rate in RATES:
        values = [100 * accuracy(rate, seed, EPOCHS) for seed in SEEDS]
        row = shown[str(rate)]
        assert row[1] == str(len(SEEDS))
        assert row[2] == f"{statistics.mean(values):.1f} %"
        assert row[3] == f"{statistics.stdev(values):.1f} %"


def test_a_group_is_one_line_with_a_band(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}&metrics=test_accuracy")
    page.find("ip-curve canvas")
    Select(page.find("select[name=lines]")).select_by_value("range")
    page.until(lambda: len(page.all(".curve-legend li")) == len(RATES))
    lines = page.driver.execute_script("""
        return document.querySelector("ip-curve").series.filter((one) => one.low)
          .map(({ label, x, y, low, high }) => [label, x, y, low, high]);
    """)
    for rate in RATES:
        [(_, x, mean, low, high)] = [line for line in lines if f" {rate} " in line[0]]
        assert x == list(range(1, EPOCHS + 1))
        for epoch in x:
            values = [100 * accuracy(rate, seed, epoch) for seed in SEEDS]
            shown = mean[epoch - 1], low[epoch - 1], high[epoch - 1]
            assert shown == pytest.approx((statistics.mean(values), min(values), max(values)))


def test_results_are_compared_with_a_baseline(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}+seed:1&metrics=test_accuracy")
    table = "section[aria-label='Settings and metrics']"
    page.find(f"{table} tbody tr")
    page.press("Transpose")
    select = Select(page.find("select[name=baseline]"))
    select.select_by_visible_text(next(o.text for o in select.options if "0.001" in o.text))
    by = 100 * (accuracy(0.01, 1, EPOCHS) - accuracy(0.001, 1, EPOCHS))
    page.until(lambda: f"+{by:.1f} pts" in page.texts(f"{table} .difference.good"))
    assert len(page.all(f"{table} td.changed")) == 1, "the learning rate"


def test_jobs_are_found_sorted_and_grouped_in_place(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}&metrics=test_accuracy")
    table = "section[aria-label='Settings and metrics']"
    page.until(lambda: len(page.all(f"{table} tbody tr")) == len(RATES) * len(SEEDS))
    page.find(f"{table} thead th.main button").click()
    page.until(lambda: page.texts(f"{table} tbody td.main")[0].startswith("91.7"))
    page.find("input.find").send_keys("learning 0.001 seed 2")
    page.until(lambda: len(page.all(f"{table} tbody tr")) == 1)
    page.until(lambda: len(page.all(".curve-legend li")) == 1)
    page.open(f"/compare?q={group}&group=learning_rate&find=0.01")
    page.until(lambda: len(page.texts("section[aria-label='Groups'] tbody tr")) == len(RATES))
    [[worse], [better]] = [
        [row for row in page.texts("section[aria-label='Groups'] tbody tr") if row.startswith(rate)]
        for rate in ("0.001", "0.01")
    ]
    # scipy.stats.ttest_ind of the accuracies of both rates, equal_var=False: 0.1039
    assert "0.1" in worse.split()
    assert "best" in better


def test_boxes_and_bars_are_those_of_the_statistics(page: Page, group: str) -> None:
    values = [accuracy(0.01, seed, EPOCHS) for seed in SEEDS]
    for chart in ("box", "bar"):
        page.open(f"/compare?q={group}&chart={chart}&sx=training.optimizer.learning_rate")
        page.until(lambda: len(page.all("ip-chart")) == 2)
        page.driver.execute_script("arguments[0].scrollIntoView()", page.all("ip-chart")[1])
        option = page.until(lambda: page.driver.execute_script(OPTION))
        if chart == "box":
            box = [min(values), *statistics.quantiles(values, method="inclusive"), max(values)]
            assert option[0][1] == pytest.approx(box)
        else:
            assert option[0][1] == pytest.approx(statistics.mean(values))


def test_a_queued_job_takes_no_colour(page: Page, service: InProcess, group: str) -> None:
    spec = {"version": 1, "name": "later", "network": {"layers": [{"neurons": 4}]}}
    job_id = service.submit(spec)["id"]
    page.open(f"/compare?q={group}+seed:1+OR+name:later")
    page.until(lambda: len(page.all(".chips li")) == len(RATES) + 1)
    assert len(page.all(".chips li svg.swatch")) == len(RATES)
    service.user.post(f"/v1/jobs/{job_id}/cancel")


def test_a_view_is_kept_for_other_jobs(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}&x=share&lines=range")
    page.find("ip-curve canvas")
    page.press("Views")
    page.press("Save this view")
    page.find("dialog input").send_keys("spread\n")
    page.open(f"/compare?q={group}+seed:1")
    page.find("ip-curve canvas")
    page.press("Views")
    page.press("spread")
    page.until(lambda: "x=share" in page.address())
    assert "seed" in page.address()
    xs = "return document.querySelector('ip-curve')?.lines?.at(-1)?.x"
    page.until(lambda: page.driver.execute_script(xs) == [25, 50, 75, 100])


def test_charts_zoom_together_and_the_address_has_the_view(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}&metrics=test_accuracy,test_loss,learning_rate")
    page.until(lambda: len(page.driver.execute_script(SCALES)) == 3)
    low, high = page.all(".zoom input")
    low.send_keys("2")
    high.send_keys("3\t")
    page.until(lambda: page.driver.execute_script(SCALES) == [[2, 3]] * 3)
    page.find(".curve-bar input[type=checkbox]").click()
    page.until(lambda: "log=y" in page.address())
    page.driver.refresh()
    page.until(lambda: page.find(".curve-bar input[type=checkbox]").is_selected())


def test_an_axis_filters_the_table(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}")
    rows = "section[aria-label='Settings and metrics'] tbody tr"
    page.until(lambda: len(page.all(rows)) == len(RATES) * len(SEEDS))
    chart = page.find("ip-chart")
    page.driver.execute_script("arguments[0].scrollIntoView()", chart)
    page.until(lambda: page.driver.execute_script("return Boolean(arguments[0].chart)", chart))
    page.driver.execute_script(BRUSH, 0, [[0.9, 1.1]])  # the first axis: the seed
    page.until(lambda: len(page.all(rows)) == len(RATES))
    page.driver.execute_script("scrollTo(0, 0)")  # from below the bar of the page
    page.press("Show all")
    page.until(lambda: len(page.all(rows)) == len(RATES) * len(SEEDS))


def test_two_configurations_show_their_changed_lines(page: Page, group: str) -> None:
    page.open(f"/compare?q={group}+seed:1")
    page.until(lambda: page.texts(".diff tbody th"))
    assert set(page.texts(".diff tbody th")) == {"name", "training.optimizer.learning_rate"}


def test_an_address_may_name_the_latest_jobs(page: Page, service: InProcess, group: str) -> None:
    recent = service.user.get("/v1/jobs", params={"page_size": 2}).json()["jobs"]
    last, before = (job["id"] for job in recent)
    page.open("/compare?jobs=latest~1,latest&x=step")
    page.until(lambda: page.address() == f"/compare?jobs={before},{last}&x=step")
    page.until(lambda: len(page.all(".chips li")) == 2)


def test_without_jobs_the_page_says_how_to_choose_them(page: Page, group: str) -> None:
    page.open("/compare")
    page.press("Compare the last two jobs")
    page.until(lambda: len(page.texts(".chips li")) == 2)


def test_an_outlier_shows_unzoomed_and_exactly_after_zooming(
    page: Page, service: InProcess
) -> None:
    spec = {"version": 1, "name": "outlier", "network": {"layers": [{"neurons": 4}]}}
    job_id = service.submit(spec)["id"]
    attempt = service.attempt(job_id)
    epochs, at = 2500, 1777
    points = [metric(epoch, test_loss=7.25 if epoch == at else 1.0) for epoch in range(1, epochs)]
    for first in range(0, len(points), 500):
        attempt.report(*points[first : first + 500])
    page.open(f"/compare?jobs={job_id}")
    line = """
        const [line] = document.querySelector("ip-curve")?.lines ?? [];
        return line ? line.x.map((x, i) => [x, line.y[i]]).filter(([, y]) => y > 2) : [];
    """
    page.until(lambda: page.driver.execute_script(line))
    low, high = page.all(".zoom input")
    low.send_keys("1700")
    high.send_keys("1800\t")
    page.until(lambda: page.driver.execute_script(line) == [[at, 7.25]])


def test_unlike_jobs_are_compared_by_what_both_have_first(page: Page, service: InProcess) -> None:
    layers = {"layers": [{"neurons": 4}]}
    ids = []
    for name, data in (("digits", {"kind": "digits"}), ("manifolds", {"kind": "randman"})):
        spec = {"version": 1, "name": name, "data": data, "network": layers}
        ids.append(service.submit(spec)["id"])
        attempt = service.attempt(ids[-1])
        attempt.report(metric(1, test_accuracy=0.5 + 0.1 * len(ids)))
        attempt.complete()
    page.open(f"/compare?jobs={','.join(ids)}")
    table = "section[aria-label='Settings and metrics']"
    page.until(lambda: page.texts(f"{table} .best"))
    heads = page.texts(f"{table} thead th")
    assert "Data kind" in heads
    assert "Smoothness" not in heads, "the digits have none"
    page.find(f"{table} .bar > button[aria-pressed]").click()
    page.until(lambda: "Smoothness" in page.texts(f"{table} thead th"))
    fits = "return document.documentElement.scrollWidth <= innerWidth"
    assert page.driver.execute_script(fits), "the wide table scrolls within itself"


def test_a_name_that_reverses_text_ends_before_what_follows_it(
    page: Page, service: InProcess
) -> None:
    name = "turned \u202egpj.exe"
    for rate in (0.1, 0.2, 0.3):
        spec = {
            "version": 1,
            "name": name,
            "network": {"layers": [{"neurons": 4}]},
            "training": {"epochs": EPOCHS, "optimizer": {"learning_rate": rate}},
        }
        attempt = service.attempt(service.submit(spec)["id"])
        attempt.report(metric(1, test_accuracy=rate), metric(2, test_accuracy=rate))
        attempt.complete()
    page.open("/compare?q=name:turned*")
    page.until(lambda: page.all("ip-curve canvas") and len(page.all("ip-chart")) == 2)
    for at, chart in enumerate(page.all("ip-chart")):  # each is drawn when it is seen
        page.driver.execute_script("arguments[0].scrollIntoView()", chart)
        page.until(lambda at=at: page.all("ip-chart")[at].find_elements("tag name", "canvas"))
    texts = page.driver.execute_script("""
        const options = [...document.querySelectorAll("option")].map((one) => one.textContent);
        const curves = [...document.querySelectorAll("ip-curve")]
          .flatMap(({ plot }) => plot.series.map(({ label }) => label));
        const tips = [...document.querySelectorAll("ip-chart")].flatMap(({ chart }) => {
          const [{ formatter }] = chart.getOption().tooltip;
          return [0, 1, 2].map((dataIndex) => formatter({ dataIndex }));
        });
        return { options: options.join(), curves: curves.join(), ...tips };
    """)
    assert len(texts) == 2 + 3 + 3, "two lists; a tip of each job on both charts"
    for place, text in texts.items():
        assert "\u202e" not in text, place
        assert "turned \\u202egpj.exe" in text, place


@pytest.fixture(scope="module")
def kinds(service: InProcess) -> str:
    """Jobs whose groups differ in more settings than stand beside results, a program among them."""
    for neurons, decay, rate, batch in ((4, 0.9, 0.1, 8), (5, 0.8, 0.1, 4), (4, 0.8, 0.2, 4)):
        for seed in SEEDS[:2]:
            spec = {
                "version": 1,
                "name": f"kind {neurons}",
                "seed": seed,
                "network": {"layers": [{"neurons": neurons, "decay": decay}]},
                "training": {"batch_size": batch, "optimizer": {"learning_rate": rate}},
            }
            attempt = service.attempt(service.submit(spec)["id"])
            attempt.report(metric(1, test_accuracy=accuracy(rate, seed, 1)))
            attempt.complete()
    wide = {"version": 1, "name": "kind 6", "network": {"layers": [{"neurons": 6}, {"neurons": 7}]}}
    attempt = service.attempt(service.submit(wide)["id"])
    attempt.report(metric(1, test_accuracy=0.7))
    attempt.complete()
    return "name:kind*"


def test_groups_of_several_kinds_are_named_after_their_jobs(page: Page, kinds: str) -> None:
    page.open(f"/compare?q={kinds}&lines=sd")
    table = "section[aria-label='Groups']"
    page.until(lambda: len(page.all(f"{table} tbody tr")) == 4)
    assert page.texts(f"{table} thead th")[:3] == ["Group", "Jobs", "Mean"]
    names = page.texts(f"{table} tbody th")
    assert sorted(name.split(",")[0] for name in names) == ["kind 4", "kind 4", "kind 5", "kind 6"]
    assert len(set(names)) == 4, "settings tell groups of one name apart"
    assert {"kind 5", "kind 6"} < set(names)
    page.until(lambda: page.all(".curve-legend li span"))
    assert "kind 5 (2)" in page.texts(".curve-legend li span")
    page.find(f"{table} details summary").click()
    page.until(lambda: "Learning rate" in page.texts(f"{table} details")[0])


def test_a_program_among_trainings_hides_no_settings(
    page: Page, service: InProcess, kinds: str
) -> None:
    submitted(service, "kind of program")
    page.open(f"/compare?q={kinds}")
    heads = "section[aria-label='Settings and metrics'] thead th"
    page.until(lambda: "Batch size" in page.texts(heads))


def test_another_job_is_added_in_place(page: Page, service: InProcess, group: str) -> None:
    found = service.user.get("/v1/jobs", params={"q": f"{group} seed:1"}).json()["jobs"]
    page.open(f"/compare?jobs={found[0]['id']}")
    page.until(lambda: len(page.all(".chips li")) == 1)
    page.press("Add a job")
    page.find(".head .menu:popover-open button").click()
    page.until(lambda: len(page.all(".chips li")) == 2)
    assert page.address().startswith("/compare?jobs=")
