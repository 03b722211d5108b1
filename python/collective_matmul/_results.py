"""Results of the extension module as data classes, and figures as text."""

from dataclasses import fields
from typing import Any

from collective_matmul import _core
from collective_matmul.timeline import Timeline


def copied(kind: Any, core: Any, **others: Any) -> Any:
    """A data class with the attributes of the same names, but for the others."""
    names = [field.name for field in fields(kind) if field.name not in others]
    return kind(**{name: getattr(core, name) for name in names}, **others)


def timeline_of(core: _core.Timeline, recorded: bool) -> Timeline | None:
    return Timeline(core) if recorded else None


def seconds_text(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def percent_text(share: float) -> str:
    return f"{100 * share:.1f} %"


def table(lines: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:{width}}  {text}" for name, text in lines)
