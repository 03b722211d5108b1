"""Timelines of simulations: what was busy when."""

import html
from os import PathLike
from pathlib import Path

from collective_matmul import _core
from collective_matmul._arguments import checked
from collective_matmul.errors import InvalidArgumentError

__all__ = ["Timeline"]


class Timeline:
    """Shows itself where it is the value of a notebook's cell; ``save`` writes it to a file."""

    def __init__(self, core: _core.Timeline) -> None:
        self._core = core

    def html(self) -> str:
        """One page that needs nothing else; can be zoomed, and tells each span's text and times."""
        return self._core.html()

    def trace(self) -> str:
        """Trace Event Format, JSON, which ui.perfetto.dev and chrome://tracing open."""
        return self._core.trace()

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page where the name ends in .html, the trace where it ends in .json.

        Raises:
            InvalidArgumentError: for other names. OSError: as the system says.
        """
        path = Path(path)
        writers = {".html": self.html, ".json": self.trace}
        if path.suffix not in writers:
            raise InvalidArgumentError(f"{path} must end in .html (a page) or .json (a trace)")
        path.write_text(writers[path.suffix](), encoding="utf-8")

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles and scripts stay in it.
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" sandbox="allow-scripts" '
            'style="width: 100%; height: 32em; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Timeline {self._core.title!r}>"
