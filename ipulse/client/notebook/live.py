"""A view of a job in a notebook that follows it to its end (anywidget)."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipulse.client.notebook.card import color_of
from ipulse.optional_modules import optional_module
from ipulse_core.errors import IPUlseError

if TYPE_CHECKING:
    from ipulse.client.blocking.job import JobHandle

_LINES = 12  # of the log
_SECONDS = 1.0  # between two looks at the service
_METRICS = ("test_accuracy", "accuracy", "test_loss", "loss")


def live_view(job: JobHandle) -> Any:
    """Return a widget that follows the job in a thread and stops with it.

    Raises MissingDependency without anywidget.
    """
    anywidget = optional_module("anywidget", "a live view")
    traitlets = optional_module("traitlets", "a live view")

    class JobView(anywidget.AnyWidget):  # type: ignore[misc,name-defined]  # made where it is used
        """Phase, curves and the end of the log; at the job's end its card takes their place.

        The output of the cell is the card, which a saved notebook keeps when the kernel is gone;
        the widget's script draws over it. Front ends that run no such script show the card.
        """

        _esm = Path(__file__).with_name("live.js")
        state = traitlets.Dict().tag(sync=True)
        place = traitlets.Unicode().tag(sync=True)  # the mark of the cards that it draws over

        def _repr_mimebundle_(self, **options: Any) -> Any:
            return {"text/html": _picture(self, job), "text/plain": repr(job)}, {}

        def _ipython_display_(self) -> None:
            self.update_picture = _shown(self, job)
            if self.state["ended"]:
                self.update_picture()

    view = JobView(state=state_of(job), place=secrets.token_hex(8))
    view.update_picture = lambda: None  # until it is shown
    thread = threading.Thread(target=_follow, args=(job, view), daemon=True, name="ipulse-live")
    view.follower = thread
    thread.start()
    return view


def state_of(job: JobHandle) -> dict[str, Any]:
    """Return what the widget shows of a job now."""
    job.refresh()
    curves = {}
    try:
        columns = job.metrics(as_="columns")
        curves = {name: columns[name] for name in _METRICS if name in columns}
        epochs = columns["epoch"]
    except IPUlseError:  # there are no metrics yet
        epochs = []
    return {
        "name": job.name,
        "url": job.url,
        "state": job.state.value,
        "color": color_of(job.state),
        "ended": job.state.is_terminal,
        "headline": job.headline,
        "epochs": epochs,
        "all_epochs": job.spec.get("training", {}).get("epochs", 0),
        "curves": curves,
        "log": [str(line) for line in job.logs()[-_LINES:]],
    }


def _follow(job: JobHandle, view: Any) -> None:
    pause = threading.Event()
    while not view.state["ended"]:
        pause.wait(_SECONDS)
        try:
            view.state = state_of(job)
        except IPUlseError as error:  # the job was deleted, or the service is gone
            view.state = {**view.state, "ended": True, "headline": str(error)}
        view.update_picture()


def _picture(view: Any, job: JobHandle) -> str:
    """Return the card of a job, marked for the script of its view until the job has ended."""
    mark = "" if view.state["ended"] else f' data-ipulse-view="{view.place}"'
    return f"<div{mark}>{job._repr_html_()}</div>"


def _shown(view: Any, job: JobHandle) -> Callable[[], None]:
    """Show the card in a notebook, and return what replaces it with the job's card of then."""
    ipython = optional_module("IPython.display", "a live view")
    data, metadata = view._repr_mimebundle_()
    handle = ipython.display(data, metadata=metadata, raw=True, display_id=True)

    def update_picture() -> None:
        try:
            data, _ = view._repr_mimebundle_()
        except IPUlseError:  # the view has said why
            return
        if handle is not None:  # None outside of a notebook
            handle.update(data, raw=True)

    return update_picture
