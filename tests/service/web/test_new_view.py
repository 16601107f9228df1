"""A new job: what a clone changes, and a sweep made from a spec."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from selenium.webdriver.support.ui import Select
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service import pushed_ops
from tests.service.running import InProcess

from .conftest import Page

pytestmark = pytest.mark.browser

SPEC = {
    "version": 1,
    "name": "cloned",
    "network": {"layers": [{"neurons": 4}]},
    "training": {"epochs": 3, "optimizer": {"learning_rate": 0.01}},
}
REPLACE = """
    const { editor } = document.querySelector("ip-editor");
    const text = editor.state.doc.toString().replace(arguments[0], arguments[1]);
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
"""
MARKS = """
    const { renderRoot } = document.querySelector("ip-editor");
    return renderRoot.querySelectorAll(".cm-lint-marker-info").length;
"""


def test_a_clone_shows_what_it_changes(page: Page, service: InProcess) -> None:
    job_id = service.submit(SPEC)["id"]
    page.open(f"/new?from={job_id}")
    page.until(lambda: page.texts(".changes p"))
    assert page.texts(".changes li") == []
    page.driver.execute_script(REPLACE, "epochs: 3", "epochs: 5")
    page.until(lambda: page.texts(".changes li") == ["training.epochs 3 5"])
    page.until(lambda: page.driver.execute_script(MARKS) == 1)
    page.driver.refresh()  # the draft keeps its parent
    page.until(lambda: page.texts(".changes li") == ["training.epochs 3 5"])


def test_the_text_is_stored_with_the_job(page: Page, service: InProcess) -> None:
    job_id = service.submit(SPEC)["id"]
    page.open(f"/new?from={job_id}")
    page.find(".plan-title.ok")
    page.driver.execute_script(REPLACE, "epochs: 3", "epochs: 4 # a few")
    page.until(lambda: page.texts(".changes li") == ["training.epochs 3 4"])
    page.find(".plan-title.ok")
    [button] = [b for b in page.all("button") if b.text == "Submit"]
    button.click()
    page.until(lambda: "/jobs/job_" in page.driver.current_url)
    made = page.driver.current_url.rpartition("/")[2].partition("?")[0]
    kept = service.user.get(f"/v1/jobs/{made}/spec", params={"form": "submitted"}).json()
    assert kept["form"] == "submitted"
    assert "epochs: 4 # a few" in kept["text"]


def test_a_spec_is_submitted_as_a_sweep(page: Page, service: InProcess) -> None:
    job_id = service.submit(SPEC)["id"]
    page.open(f"/new?from={job_id}")
    page.find(".plan-title.ok")
    page.press("Submit as sweep …")
    rate = page.find("dialog .vary input")
    assert rate.get_property("value") == "0.01"
    names = page.texts("dialog .vary option")
    assert {"network.layers[0].neuron.decay", "network.readout.connections[0].bias"} <= {*names}
    assert not any(name.endswith("layers[0].decay") for name in names)
    usual = page.texts("dialog .vary optgroup[label=Usual] option")
    assert [name.removeprefix("network.layers[0].") for name in usual if "layers[0]" in name] == [
        *("neurons", "neuron.decay", "neuron.threshold", "neuron.second_threshold", "capacity"),
    ]
    assert "training.optimizer.learning_rate" in usual
    more = page.texts("dialog .vary optgroup[label=More] option")
    assert {"network.layers[0].neuron.gain", "training.optimizer.beta_1"} <= {*more}
    rate.clear()
    rate.send_keys("0.01, -3")
    page.press("Submit 2 jobs")
    page.until(lambda: any("learning_rate" in text for text in page.texts("dialog .problems p")))
    rate.clear()
    rate.send_keys("0.01, 0.001, 0.003")
    page.all("dialog .usual input")[0].send_keys("1 2")
    page.press("Submit 6 jobs")
    page.until(lambda: page.address().startswith("/sweeps/swp_"))
    sweep = service.user.get(f"/v1{page.address()}").json()
    assert sweep["config"]["seeds"] == [1, 2]
    [(pointer, parameter)] = sweep["config"]["parameters"].items()
    assert pointer == "/training/optimizer/learning_rate"
    assert parameter["values"] == [0.01, 0.001, 0.003]


def test_the_plan_of_a_sweep_is_shown_before_it_is_created(page: Page, service: InProcess) -> None:
    job_id = service.submit(SPEC)["id"]
    with service.database.write() as transaction:
        took = {"state": "succeeded", "phase_ms": '{"run": 60000}'}
        transaction.connection.execute(
            update(tables.jobs).where(tables.jobs.c.id == job_id).values(took)
        )
    quotas = service.user.patch(
        "/v1/projects/default/quotas", json={"limits": {"device_seconds": 200}}
    )
    assert quotas.status_code == 200
    before = service.user.get("/v1/sweeps").json()["sweeps"]
    page.open(f"/new?from={job_id}")
    page.find(".plan-title.ok")
    page.press("Submit as sweep …")
    rate = page.find("dialog .vary input")
    rate.clear()
    rate.send_keys("0.01, 0.001, 0.003")
    page.all("dialog .usual input")[0].send_keys("1 2")
    page.until(lambda: any("3 trials, 6 jobs" in text for text in page.texts("dialog .plan li")))
    lines = page.texts("dialog .plan li")
    assert any("6 min 00 s of device time (3 min" in text for text in lines), lines
    assert any("0 of 200 device seconds" in text and "about 360" in text for text in lines), lines
    assert service.user.get("/v1/sweeps").json()["sweeps"] == before
    rate.clear()
    rate.send_keys("0.01, -3")
    page.until(lambda: any("learning_rate" in text for text in page.texts("dialog .plan .wrong")))
    service.user.patch("/v1/projects/default/quotas", json={"limits": {"device_seconds": None}})


def test_a_sweep_draws_at_random_and_stops_weak_trials(page: Page, service: InProcess) -> None:
    page.open("/new?sweep=1")
    page.press("Submit as sweep …")
    Select(page.find("select[name=method]")).select_by_value("random")
    Select(page.find("select[name=stopping]")).select_by_value("asha")
    count = page.find("input[name=trials]")
    count.clear()
    count.send_keys("2")
    Select(page.all(".vary select")[1]).select_by_value("log_uniform")
    values = page.find(".vary input")
    values.clear()
    values.send_keys("0.001, 0.1")
    page.press("Submit 2 jobs")
    page.until(lambda: page.address().startswith("/sweeps/swp_"))
    config = service.user.get(f"/v1{page.address()}").json()["config"]
    assert (config["method"], config["trials"], config["stopping"]["kind"]) == ("random", 2, "asha")
    [parameter] = config["parameters"].values()
    assert parameter["log_uniform"] == [0.001, 0.1]
    page.until(lambda: any("2 queued" in text for text in page.texts(".sweep-head p")))
    jobs = service.user.get("/v1/jobs", params={"q": f"group:{page.address()[8:]}"}).json()["jobs"]
    assert {job["name"] for job in jobs} == {"digits 1", "digits 2"}
    service.user.post(f"/v1{page.address()}/stop", params={"running": "cancel"})


DROP = """
    const [text, kind] = arguments;
    const data = new DataTransfer();
    if (kind === "drop") data.items.add(new File([text], "mine.yaml"));
    else data.setData("text/plain", text);
    const content = document.querySelector("ip-editor").editor.contentDOM;
    content.focus();
    document.querySelector("ip-editor").editor.dispatch({
      selection: { anchor: 0, head: document.querySelector("ip-editor").editor.state.doc.length },
    });
    const more = { bubbles: true, cancelable: true, composed: true };
    content.dispatchEvent(kind === "drop" ? new DragEvent("drop", { dataTransfer: data, ...more })
      : new ClipboardEvent("paste", { clipboardData: data, ...more }));
"""


SET = """
    const [words, value] = arguments;
    const label = [...document.querySelectorAll("ip-new label")]
      .find((one) => one.textContent.trim() === words);
    const input = label.querySelector("input");
    if (input.type === "checkbox") input.click();
    else { input.value = value; input.dispatchEvent(new Event("change")); }
"""


def test_an_op_has_fields_for_its_attributes_and_weights(page: Page, service: InProcess) -> None:
    weights = [{**pushed_ops.GAIN, "maximum": 2}, {**pushed_ops.GAIN, "name": "decay"}]
    trained = ["x", "gain", "decay"]
    content = pushed_ops.package(note="a form", weights=weights, gradients=trained)
    with pushed_ops.coding(service) as coder:
        pushed_ops.pushed(coder, content)
        job_id = coder.post("/v1/jobs", json=pushed_ops.spec(content)).json()["id"]
        page.sign_in(coder)
    page.open(f"/new?from={job_id}")
    page.until(lambda: "layers[1]: pool_op" in page.texts(".side h2"))
    shown = " ".join(page.texts(".side section li"))
    assert all(part in shown for part in ("gain [senders]", "ones", "at most 2", "decay"))
    read = "return document.querySelector('ip-editor').editor.state.doc.toString()"

    def layer() -> Any:
        return yaml.safe_load(page.driver.execute_script(read))["network"]["layers"][1]

    before = layer()
    page.driver.execute_script(SET, "Train its weights", "")
    page.until(lambda: layer() == {**before, "trained": False})
    page.driver.execute_script(SET, "width", "4")
    wide = {**before["op"], "attributes": {"width": 4}}
    page.until(lambda: layer() == {**before, "trained": False, "op": wide})
    page.until(lambda: page.texts(".plan-title") == ["1 problem"])
    page.driver.execute_script(SET, "width", "")
    page.driver.execute_script(SET, "Train its weights", "")
    page.until(lambda: layer() == before)
    page.find(".plan-title.ok")


def test_a_text_of_version_1_is_written_in_version_2(page: Page) -> None:
    page.open("/new")
    page.find(".plan-title.ok")
    layer = "{neurons: 4, decay: 0.8, recurrent: true}"
    text = f"version: 1\nname: old\nnetwork: {{layers: [{layer}]}}\n"
    page.driver.execute_script(DROP, text, "paste")
    page.press("Write it in version 2")
    read = "return document.querySelector('ip-editor').editor.state.doc.toString()"
    page.until(lambda: yaml.safe_load(page.driver.execute_script(read))["version"] == 2)
    [made] = yaml.safe_load(page.driver.execute_script(read))["network"]["layers"]
    assert made["neuron"] == {"decay": 0.8}
    page.find(".plan-title.ok")
    words = [text for text in page.texts(".layer > details > .usual .field span") if text]
    assert words == ["Neurons", "Capacity", "Decay", "Threshold", "Second threshold"]
    page.driver.execute_script(SET, "Recurrent connection", "")
    page.until(lambda: "recurrent" not in page.driver.execute_script(read))
    page.driver.execute_script(SET, "Decay", "2")
    page.until(lambda: page.texts(".plan-title") == ["1 problem"])
    assert "maximum" in page.find(".plan .wrong").text


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_a_spec_is_dropped_and_pasted(page: Page, service: InProcess, kind: str) -> None:
    text = f"version: 1\nname: by {kind} # mine\nnetwork: {{layers: [{{neurons: 4}}]}}\n"
    page.open("/new")
    page.find(".plan-title.ok")
    page.driver.execute_script(DROP, text, kind)
    read = "return document.querySelector('ip-editor').editor.state.doc.toString()"
    page.until(lambda: page.driver.execute_script(read).strip() == text.strip())
    page.find(".plan-title.ok")


def test_the_form_keeps_a_loss_of_equations(page: Page, service: InProcess) -> None:
    loss = {"kind": "equations", "name": "mine", "loss": "mean(label * last(membrane))"}
    job_id = service.submit({**SPEC, "training": {"epochs": 3, "loss": loss}})["id"]
    page.open(f"/new?from={job_id}")
    page.find(".plan-title.ok")
    field = "//label[span='Loss']//select"
    assert page.driver.find_element("xpath", field).get_property("value") == "equations"
    epochs = page.driver.find_element("xpath", "//label[span='Epochs']//input")
    epochs.clear()
    epochs.send_keys("4\t")
    page.until(lambda: page.texts(".changes li") == ["training.epochs 3 4"])
    page.driver.find_element("xpath", f"{field}/option[.='step_cross_entropy']").click()
    page.until(lambda: any("training.loss" in text for text in page.texts(".changes li")))
    page.find(".plan-title.ok")


def test_the_plan_has_the_cycles_of_a_training_step(page: Page, service: InProcess) -> None:
    spec = {**SPEC, "device": {"kind": "emulator"}}
    planned = service.user.post("/v1/jobs:plan", json=spec).json()["cycles"]
    page.open(f"/new?from={service.submit(spec)['id']}")
    page.find(".plan-title.ok")
    page.find(".plan details summary").click()
    page.until(lambda: len(page.texts(".plan td.number")) == 2 * len(planned["layers"]))
    assert page.texts(".plan td.number")[0] == f"{planned['layers'][0]['forward']:,}"
    assert page.texts(".plan tbody th")[0] == planned["layers"][0]["name"]
