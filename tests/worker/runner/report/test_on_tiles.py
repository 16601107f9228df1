from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, Dict, Optional, Sequence

import pytest

from ipulse_worker.runner.report.on_tiles import on_tiles
from ipulse_worker.runner.report.page import render

from .test_page import Page
from .tile_documents import document

pytestmark = pytest.mark.old_python


def values(
    profile: Optional[Dict[str, Any]],
    training: str = "host",
    layers: Sequence[Any] = (None,),
    step: Optional[Dict[str, Any]] = None,
) -> Optional[Dict[str, Any]]:
    """Return the values of the section for a network with one hidden layer."""
    spec = SimpleNamespace(
        network=SimpleNamespace(layers=layers), device=SimpleNamespace(training=training)
    )
    execution = {"step_cycles": step}
    results: Any = SimpleNamespace(
        poplar_profile=profile, spec=spec, profile={"execution": execution}
    )
    return on_tiles(results)


def section(profile: Dict[str, Any]) -> str:
    return render("sections/tiles.html", tiles=values(profile))


def test_is_absent_without_a_poplar_program() -> None:
    assert values(None) is None


def test_is_well_formed_and_fetches_nothing() -> None:
    page = Page(section(document()))
    assert (page.problems, page.open, page.loads) == ([], [], [])


def test_shows_shares_of_the_cycles() -> None:
    text = section(document())
    shares = [100 * part / 6020 for part in (4900, 900, 220)]
    compute, sync, exchange = (f"{share:.1f} %" for share in shares)
    assert f"compute {compute}, sync {sync}, exchange {exchange} and host 0.0 %" in text
    assert "The most expensive step is layer1/integrate with 60.5 %" in text
    assert "the mean tile works 25.0 % of the time" in text
    assert "The fullest, tile 3, uses 15.6 KiB of its 624 KiB (2.5 %)" in text
    assert "6.02 µs at the clock" in text
    assert "4,300 to 8,400 expected on an IPU" in text


def test_a_step_is_shown_beside_its_prediction() -> None:
    layers = [{"name": "features", "forward": 1234.0, "backward": 2345.0}]
    predicted = {"cycles": 3579, "layers": [*layers, {**layers[0], "name": None}]}
    step = {"counted": 3600.0, "predicted": predicted, "not_predicted": None}
    text = render("sections/tiles.html", tiles=values(document(), step=step))
    assert "0.99 of it" in text
    cells = Page(text).text["td"]
    at = cells.index("features")
    assert cells[at + 1 : at + 3] == ["1,234", "2,345"]
    step = {"counted": 3600.0, "predicted": None, "not_predicted": "it is on several IPUs"}
    text = render("sections/tiles.html", tiles=values(document(), step=step))
    assert "it is on several IPUs" in text


def test_copies_between_host_and_device_have_a_row_for_each_direction() -> None:
    profile = document()
    profile["execution"]["totals"][0].update(bytesFromHost=2048, bytesToHost=0, hostCycles=70)
    profile["execution"]["totals"][-1].update(bytesFromHost=0, bytesToHost=512, hostCycles=30)
    cells = Page(section(profile)).text["td"]
    at = cells.index("to the device")
    assert cells[at + 1 : at + 4] == ["1", "2.00 KiB", "70"]
    at = cells.index("to the host")
    assert cells[at + 1 : at + 4] == ["1", "512 B", "30"]


def test_a_profile_from_before_has_no_table_of_copies() -> None:
    cells = Page(section(document())).text["td"]
    assert not {"to the device", "to the host"} & set(cells)


def test_layers_of_steps_count_from_one() -> None:
    cells = Page(section(document())).text["td"]
    assert "layer1/integrate" in cells
    assert "readout/integrate" in cells
    assert "backward/layer1/adjoint" in cells
    assert "arrange" in cells


def test_layers_have_their_names() -> None:
    layer = SimpleNamespace(name="features")
    text = render("sections/tiles.html", tiles=values(document(), layers=[layer]))
    cells = Page(text).text["td"]
    assert "features" in cells
    assert "layer 1" not in cells


def test_every_caption_contains_emulated() -> None:
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", section(document()))
    assert len(captions) == 9
    assert all("emulated" in caption for caption in captions)
    measured = section(document(emulated=False))
    assert "emulat" not in measured
    assert "measured" in measured


@pytest.mark.parametrize(
    ("live", "unit", "top"), [(900 * 1024, "KiB", "1,000"), (10**7, "MiB", "10")]
)
def test_memory_over_the_steps_has_a_suitable_unit(live: int, unit: str, top: str) -> None:
    profile = document()
    for step in profile["compilation"]["livenessProgramSteps"]:
        step["notAlwaysLiveMemory"]["bytes"] = live
    text = Page(section(profile)).text["span"]
    assert unit in text
    assert top in text


def test_names_of_a_program_are_escaped() -> None:
    text = section(document(name="<script>alert(1)</script>"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


def test_a_large_machine_gives_a_small_section_with_a_map_per_ipu() -> None:
    text = section(document(tiles=1472, ipus=2))
    assert len(text) < 60_000
    assert {"IPU 0", "IPU 1"} <= set(Page(text).text["span"])
    assert "tile 1,471" in text
    assert "The first 4 of 8 IPUs are drawn." in section(document(tiles=4, ipus=8))


def test_shows_layers_on_tiles_and_who_waits() -> None:
    profile = document()
    layer = {"ipus": [0], "tiles": 3, "neurons": 12, "most_neurons": 4, "work": 20.0}
    readout = {"ipus": [0], "tiles": 1, "neurons": 2, "most_neurons": 2, "work": 10.0}
    profile["compilation"]["tileMapping"] = {
        "mapping": "capacity",
        "split": "layers",
        "tiles_used": 4,
        "load_balance": 0.875,
        "weight_bytes": 2,
        "layers": [{**layer, "weights_per_neuron": 64}, {**readout, "weights_per_neuron": 12}],
    }
    text = section(profile)
    assert "Load balance 87.5 %" in text
    assert "The busiest tile computes 4.00 times as long as the mean tile." in text
    cells = Page(text).text["td"]
    at = cells.index("layers[0]", cells.index("readout") - 8)
    assert cells[at : at + 7] == ["layers[0]", "0", "3", "12", "4", "512 B", "100.0 %"]
    # The first tile computes 4,900 of 6,020 cycles, which the last one waits for.
    assert cells.count(f"{100 * 4900 / 6020:.1f} %") >= 2


def test_says_where_loss_and_update_ran() -> None:
    found = [values(document(), training=where) for where in ("host", "device")]
    texts = [render("sections/tiles.html", tiles=tiles) for tiles in found]
    assert ["ran on the host" in text for text in texts] == [True, False]
