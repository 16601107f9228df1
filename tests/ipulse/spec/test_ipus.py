"""Validation of the fields of emulated and real IPUs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ipulse.spec import EmulatorDevice, IPUDevice, parse_spec, spec_to_json
from ipulse_core.errors import InvalidSpec
from ipulse_core.poplar_environment import poplar_environment
from tests.ipulse.spec_documents import minimal
from tests.losses import loss_document, margin, squared_spikes


class TestIPUs:
    """Specs that the Poplar op cannot run are refused."""

    def problems(self, device: dict[str, Any], **network: Any) -> list[str]:
        spec = minimal()
        spec["device"] = device
        spec["network"].update(network)
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(spec)
        return [problem.pointer for problem in caught.value.problems]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_options(self, kind: str) -> None:
        spec = minimal()
        options = {"ipus": 4, "mapping": "neurons", "steps_per_execution": 4}
        spec["device"] = {"kind": kind, "connection_type": "ALWAYS", **options}
        device = parse_spec(spec).device
        assert isinstance(device, (EmulatorDevice, IPUDevice))
        assert (device.kind, device.ipus, device.connection_type) == (kind, 4, "ALWAYS")

    def test_tiles_are_the_emulators(self) -> None:
        spec = minimal()
        spec["device"] = {"kind": "emulator"}
        device = parse_spec(spec).device
        assert isinstance(device, EmulatorDevice)
        assert device.tiles == 1472
        assert self.problems({"kind": "ipu", "tiles": 16}) == ["/device/tiles"]
        assert self.problems({"kind": "emulator", "tiles": 1473}) == ["/device/tiles"]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_what_the_op_has_not(self, kind: str) -> None:
        if kind == "ipu":
            assert self.problems({"kind": kind}, trainable=["decay"]) == ["/network/trainable"]
        assert self.problems({"kind": kind, "ipus": 3}) == ["/device/ipus"]
        top = [{"neurons": 8, "capacity": 2, "policy": "top"}]
        problems = self.problems({"kind": kind, "ipus": 4}, layers=top)
        assert problems == ["/network/layers/0/policy"]
        assert self.problems({"kind": kind, "threads": 2}) == ["/device/threads"]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_how_ipus_share_a_network(self, kind: str) -> None:
        spec = minimal()
        top = [{"neurons": 8, "capacity": 2, "policy": "top"}]
        for split, ipus in ((None, 1), ("layers", 2), ("neurons", 4)):
            spec["device"] = {"kind": kind, "ipus": ipus, "split": split}
            assert spec_to_json(parse_spec(spec))["device"]["split"] == split
        spec["network"]["layers"] = top
        for split, ipus in ((None, 2), ("layers", 2), ("neurons", 1)):
            spec["device"] = {"kind": kind, "ipus": ipus, "split": split}
            parse_spec(spec)
        split_top = self.problems({"kind": kind, "ipus": 2, "split": "neurons"}, layers=top)
        assert split_top == ["/network/layers/0/policy"]
        assert self.problems({"kind": kind, "ipus": 4, "split": "layers"}) == ["/device/split"]
        assert self.problems({"kind": kind, "split": "spikes"}) == ["/device/split"]
        assert self.problems({"kind": "cpu", "split": "neurons"}) == ["/device/split"]

    @pytest.mark.parametrize(
        ("options", "pointer"),
        [
            ({"engine_options": {"autoReport.al": "true"}}, "/engine_options/autoReport.al"),
            ({"engine_options": {"autoReport.all": "yes"}}, "/engine_options/autoReport.all"),
            (
                {"engine_options": {"autoReport.executionProfileProgramRunCount": "100"}},
                "/engine_options/autoReport.executionProfileProgramRunCount",
            ),
            (
                {"engine_options": {"autoReport.directory": "."}},
                "/engine_options/autoReport.directory",
            ),
            (
                {"engine_options": {"target.saveArchive": "/etc/x"}},
                "/engine_options/target.saveArchive",
            ),
            (  # a name alone is a place, too: where the agent was started
                {"engine_options": {"debug.loweredVarDumpFile": "vars"}},
                "/engine_options/debug.loweredVarDumpFile",
            ),
            ({"poplar_flags": ["--allow_nans", "--alow_nans"]}, "/poplar_flags/1"),
            ({"poplar_flags": ["--allow_nans=1"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--log_cycle_count"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--executable_cache_path=/x"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--allow_nans --help"]}, "/poplar_flags/0"),
            ({"pvti_options": {"directory": "x"}}, "/pvti_options/directory"),
            ({"pvti_options": {"enable": "1"}}, "/pvti_options/enable"),
            ({"ipus": 3}, "/ipus"),
        ],
    )
    def test_options_of_poplar_that_there_are_not(
        self, options: dict[str, Any], pointer: str
    ) -> None:
        network = {"layers": [{"neurons": 4}] * 3}
        assert self.problems({"kind": "ipu", **options}, **network) == [f"/device{pointer}"]

    def test_an_attempts_process_receives_the_options(self) -> None:
        device = IPUDevice(
            engine_options={"autoReport.all": "true"},
            poplar_flags=("--allow_nans", "--log_cycle_count=1"),
            pvti_options={"enable": "true"},
        )
        variables = poplar_environment(device, "/attempt")
        assert json.loads(variables["POPLAR_ENGINE_OPTIONS"]) == {
            "autoReport.all": "true",
            "autoReport.directory": "/attempt/poplar_reports",
        }
        assert variables["TF_POPLAR_FLAGS"] == "--allow_nans --log_cycle_count=1"
        assert json.loads(variables["PVTI_OPTIONS"]) == {
            "enable": "true",
            "directory": "/attempt/pvti",
        }
        assert poplar_environment(IPUDevice(), "/attempt") == {}


def with_loss(loss: Any, readout: str) -> dict[str, Any]:
    spec = minimal()
    spec["device"] = {"kind": "ipu"}
    spec["network"]["readout"] = {"kind": readout}
    spec["training"] = {**spec.get("training", {}), "loss": loss}
    return spec


def test_takes_losses_with_equations_of_membranes_and_spike_counts() -> None:
    for loss, readout in ((margin(), "leaky"), (squared_spikes(), "spiking")):
        assert parse_spec(with_loss(loss, readout)).device.kind == "ipu"


def test_refuses_losses_with_times_of_first_spikes() -> None:
    loss = loss_document("-sum(label * log_softmax(-first_spike / 5))")
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(with_loss(loss, "spiking"))
    assert [problem.pointer for problem in caught.value.problems] == ["/training/loss"]
