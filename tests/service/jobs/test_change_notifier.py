from __future__ import annotations

import asyncio
import threading
import time

from ipulse_service.jobs.change_notifier import JobNotifier

FOREVER = 30.0  # seconds that no wait of these tests takes unless a wake-up was lost


def test_a_change_in_another_thread_wakes_only_its_waiters() -> None:
    async def wait() -> tuple[bool, bool]:
        notifier = JobNotifier()
        with notifier.watch("job_1") as mine, notifier.watch("job_2") as other:
            threading.Thread(target=notifier.publish, args=(["job_1"],)).start()
            began = time.monotonic()
            await mine.wait(FOREVER)
            woken = time.monotonic() - began < FOREVER / 2
            began = time.monotonic()
            await other.wait(0.01)
            return woken, time.monotonic() - began >= 0.01

    assert asyncio.run(wait()) == (True, True)


def test_a_change_between_the_look_and_the_wait_is_not_missed() -> None:
    async def wait() -> float:
        notifier = JobNotifier()
        with notifier.watch("job_1") as watch:
            watch.clear()
            notifier.publish(["job_1"])
            began = time.monotonic()
            await watch.wait(FOREVER)
            return time.monotonic() - began

    assert asyncio.run(wait()) < FOREVER / 2


def test_stopping_wakes_all_waiters() -> None:
    async def wait() -> bool:
        notifier = JobNotifier()
        with notifier.watch("job_1") as first, notifier.watch("job_2") as second:
            notifier.stop()
            await asyncio.gather(first.wait(FOREVER), second.wait(FOREVER))
        return notifier.stopping

    assert asyncio.run(wait())


def test_nothing_is_kept_of_a_watch_that_ended() -> None:
    async def watch() -> int:
        notifier = JobNotifier()
        with notifier.watch("job_1"):
            pass
        notifier.publish(["job_1"])
        return len(notifier._watches)

    assert asyncio.run(watch()) == 0
