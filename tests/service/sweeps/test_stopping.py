"""The rules of early stopping."""

from __future__ import annotations

from ipulse.sweeps import AshaStopping, MedianStopping, SweepObjective

ACCURACY = SweepObjective()
LOSS = SweepObjective(metric="test_loss", goal="minimize")


def epochs_of(values: list[float], rule: AshaStopping, most: int) -> list[int]:
    """The epochs that trials of these qualities train, which come one after the other."""
    rungs: dict[int, list[float]] = {}
    trained = []
    for value in values:
        epoch = 0
        goes_on = True
        while goes_on and epoch < most:
            epoch += 1
            if rule.decides_after(epoch, most):
                goes_on = rule.goes_on(value, rungs.setdefault(epoch, []), ACCURACY)
                rungs[epoch].append(value)
        trained.append(epoch)
    return trained


def test_the_rungs_of_asha() -> None:
    rule = AshaStopping(min_epochs=2, factor=3)
    assert [epoch for epoch in range(1, 60) if rule.decides_after(epoch, 60)] == [2, 6, 18, 54]


def test_the_first_rung_is_a_share_of_the_epochs() -> None:
    for epochs, factor, rungs in ((20, 3, [2, 6, 18]), (5, 3, [1, 3]), (100, 4, [6, 24, 96])):
        rule = AshaStopping(factor=factor)
        shown = [epoch for epoch in range(1, epochs + 1) if rule.decides_after(epoch, epochs)]
        assert shown == rungs


def test_27_trials_of_27_epochs_train_far_fewer() -> None:
    """With the best first, each rung keeps a third of those that have reached it."""
    best_first = [1 - number / 100 for number in range(27)]
    trained = epochs_of(best_first, AshaStopping(min_epochs=1), 27)
    assert trained[0] == 27
    assert sum(trained) < 27 * 27 / 4
    worst_first = epochs_of(best_first[::-1], AshaStopping(min_epochs=1), 27)
    assert sum(trained) < sum(worst_first), "asynchronous: an early trial is promoted early"


def test_the_first_at_a_rung_goes_on() -> None:
    assert AshaStopping().goes_on(0.1, [], ACCURACY)
    assert not AshaStopping().goes_on(0.1, [0.2], ACCURACY)
    assert AshaStopping().goes_on(0.3, [0.2], ACCURACY)
    assert AshaStopping(factor=2).goes_on(0.15, [0.2, 0.1, 0.1], ACCURACY)
    assert AshaStopping().goes_on(0.1, [0.2], LOSS)


def test_the_median_needs_enough_trials() -> None:
    rule = MedianStopping(warmup_epochs=3, startup_trials=3)
    assert [rule.decides_after(epoch, 60) for epoch in (3, 4)] == [False, True]
    assert rule.goes_on(0.0, [0.5, 0.6], ACCURACY)
    assert not rule.goes_on(0.4, [0.5, 0.6, 0.4], ACCURACY)
    assert rule.goes_on(0.5, [0.5, 0.6, 0.4], ACCURACY)
    assert not rule.goes_on(0.6, [0.5, 0.6, 0.4], LOSS)
