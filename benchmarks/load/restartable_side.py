"""A service that one program answers for, which may be killed and started again."""

from __future__ import annotations

from abc import abstractmethod

from benchmarks.load.side import Side


class RestartableSide(Side):
    """Its worker can wait for a service that does not answer yet. `is_whole` is to be said before
    it is entered."""

    @abstractmethod
    def launch_service(self) -> None:
        """Starts what answers requests, sooner or later."""

    def start_service(self) -> None:
        """Starts what answers requests; returns when it does."""
        self.launch_service()
        if self.is_whole:
            self.start_worker()
        self.await_health()

    def kill_service(self) -> None:
        self._programs.kill(self.front)
