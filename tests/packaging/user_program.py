"""The program of a user who has the client and its extra `notebook`, and no TensorFlow.

It says with its exit status whether everything holds. `test_user_program.py` runs it with several
versions of Python.
"""

import asyncio
import math
import pickle
import sys
import uuid
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import ipulse
from ipulse import LIF, Adam, Experiment, Leaky, data
from ipulse_core.errors import InvalidInput, MissingDependency

E = TypeVar("E", bound=Exception)


def error_of(kind: type[E], act: Callable[[], object]) -> E:
    """Return the error of this kind that a call raises."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


experiment = Experiment(
    name="program",
    data=data.Digits(steps=10, samples=200),
    layers=[LIF(24), LIF(16, second_threshold=0.5, capacity=8)],
    readout=Leaky(decay=0.97),
    optimizer=Adam(0.01),
    epochs=2,
    batch_size=32,
    seed=5,
    device="cpu",
)
experiment.check()
experiment.to_yaml("program.yaml")
assert Experiment.load("program.yaml") == experiment
wide = Experiment.load("program.yaml").replace(epochs=1, **{"layers[0].neurons": 32})
spec = wide.spec()
assert (spec.training.epochs, spec.network.layers[0].neurons) == (1, 32)
problems = error_of(InvalidInput, experiment.replace(epochs=0).check).problems
assert [problem.pointer for problem in problems] == ["/training/epochs"]

connection = ipulse.connect()
tag = uuid.uuid4().hex  # other versions of Python use this service, too
assert connection.plan(experiment).able_agents >= 1
job = connection.submit(experiment, tags=[tag])
assert job.url.endswith(job.id)
assert pickle.loads(pickle.dumps(job)) == job  # noqa: S301 - our own bytes
assert job.wait(progress=True) is job

accuracy = job.summary["test_accuracy"]
assert job.best("test_accuracy").epoch in (1, 2)
frame = job.metrics()
assert list(frame.index) == [1, 2]
assert frame["test_accuracy"].iloc[-1] == accuracy
steps = job.metrics("loss", scope="step", x="samples", as_="columns")
assert all(map(math.isfinite, steps["loss"]))
weights = job.weights()
assert weights["layer_1"].shape == (64, 24)
assert len(job.network("nir").nodes) > 3
assert "pip install" in str(error_of(MissingDependency, job.network))
assert job.spikes(0).plot() is not None
assert list(job.logs(level="warning")) == []
assert job.files["report.html"].download("out").stat().st_size > 10_000
assert list(job.profile().layers["neurons"]) == [24, 16]
assert "succeeded" in job._repr_html_()

tuned = connection.submit(
    experiment.replace(learning_rate=0.003), start_from=job, start_mode="weights"
)
more = job.continue_training(epochs=1)
assert more.wait().summary["epochs"] == 3
assert tuned.wait().experiment.spec().training.optimizer.learning_rate == 0.003
assert len(job.profile().diff(job.profile())) == 0

jobs = connection.jobs(f"tag:{tag} test_accuracy>=0 epochs=2", sort="-test_accuracy")
assert [one.id for one in jobs] == [job.id]
assert list(jobs.frame(columns=["learning_rate", "test_accuracy"])["learning_rate"]) == [0.01]
comparison = ipulse.compare([job, tuned])
assert "learning_rate" in str(comparison.config())
assert comparison.curves("test_accuracy").shape[1] == 2

sweep = connection.create_sweep(
    wide.replace(name="swept"), vary={"learning_rate": [1e-3, 1e-2]}, seeds=2
)
assert len([one.summary["test_accuracy"] for one in sweep.as_completed()]) == 4
assert sweep.frame().groupby("learning_rate").test_accuracy.agg(["mean", "std"]).shape == (2, 2)
assert sweep.best().parameters.keys() == {"/training/optimizer/learning_rate"}

spikes = np.random.default_rng(1).random((40, 10, 6)) < 0.2
version = connection.push_dataset(name="drawn", spikes=spikes, labels=np.arange(40) % 2)
own = connection.submit(wide.replace(data=data.Uploaded(version)))
assert own.wait().summary["epochs"] == 1


async def follow() -> None:
    """Follows a job that has ended from its first epoch on."""
    async with ipulse.connect_async() as asynchronous:
        handle = await asynchronous.job(job.id)
        epochs = [point["epoch"] async for point in handle.follow("test_accuracy")]
    assert epochs == [1, 2]


asyncio.run(follow())
connection.close()
sys.stdout.write("all of the program holds\n")
