"""Arguments of public functions, checked by the types of their signatures: the one place for it.

What passes is what the extension module takes, which itself would refuse the rest without a word of
which argument it was. Whether the values make sense is for the library to say.
"""

import functools
import inspect
import itertools
import os
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from collective_matmul.errors import InvalidArgumentError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Integers(NamedTuple):
    """Of an int in a signature: what can be told to C++. Without one, 64 bits with a sign."""

    bits: int = 64
    signed: bool = True

    def __contains__(self, value: object) -> bool:
        least, most = (-1, 1) if self.signed else (0, 2)
        half = 1 << (self.bits - 1)
        return least * half <= value < most * half

    def __str__(self) -> str:
        return f"an integer {'of' if self.signed else 'from 0 on, of'} {self.bits} bits"


Int32 = Annotated[int, Integers(32)]
UInt64 = Annotated[int, Integers(signed=False)]


class _Kind(NamedTuple):
    """What an argument may be: ``converted`` returns it as C++ takes it, or raises _Wrong."""

    text: str
    converted: Callable[[Any], Any]


class _Wrong(Exception):
    pass


def _integer(value: Any, integers: Integers) -> int:
    # To Python, True is an int.
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise _Wrong
    try:
        number = value.__index__()
    except TypeError:  # an array of several
        raise _Wrong from None
    if number not in integers:
        raise _Wrong
    return number


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes, bool, np.bool_)) or not hasattr(value, "__float__"):
        raise _Wrong
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _Wrong from None


def _truth(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _Wrong
    return bool(value)


def _instance(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise _Wrong
    return value


def _list(value: Any, element: _Kind) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _Wrong
    try:
        return [element.converted(each) for each in value]
    except TypeError:  # an array without dimensions
        raise _Wrong from None


def _table(value: Any, name: _Kind, element: _Kind) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise _Wrong
    return {name.converted(key): element.converted(each) for key, each in value.items()}


def _any_of(value: Any, kinds: Sequence[_Kind]) -> Any:
    for kind in kinds:
        try:
            return kind.converted(value)
        except _Wrong:
            pass
    raise _Wrong


def _function(value: Any) -> Any:
    if not callable(value):
        raise _Wrong
    return value


_NAMES = {str: "a str", os.PathLike: "a path"}


def _kind(hint: Any) -> _Kind | None:
    """None: of such a type nothing is checked here."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is int:
        return _kind(Annotated[int, Integers()])
    if origin is Annotated:
        return _Kind(str(of[1]), functools.partial(_integer, integers=of[1]))
    if hint is float:
        return _Kind("a number", _number)
    if hint is bool:
        return _Kind("True or False", _truth)
    if hint is types.NoneType:
        return _Kind("None", functools.partial(_instance, kind=hint))
    if origin is Callable:
        return _Kind("a function", _function)
    if origin in (types.UnionType, typing.Union, Sequence, Mapping):
        kinds = [_kind(each) for each in of]
        if None in kinds:
            return None
        if origin is Sequence:
            text = f"a list, each {kinds[0].text}"
            return _Kind(text, functools.partial(_list, element=kinds[0]))
        if origin is Mapping:
            text = f"a dict from {kinds[0].text} to {kinds[1].text}"
            return _Kind(text, functools.partial(_table, name=kinds[0], element=kinds[1]))
        text = " or ".join(kind.text for kind in kinds)
        kinds.sort(key=lambda kind: kind.text != "None")  # the most frequent first
        return _Kind(text, functools.partial(_any_of, kinds=kinds))
    kind = origin or hint  # of a list[int] only that it is a list
    if hint is not Any and isinstance(kind, type) and not getattr(kind, "_is_protocol", False):
        return _Kind(_NAMES.get(kind, kind.__name__), functools.partial(_instance, kind=kind))
    return None


def shown(value: Any) -> str:
    """A value in a message: whole where that is short, else what it is."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    plain = (types.NoneType, int, float, str, bytes, list, tuple, dict, np.generic)
    if isinstance(value, plain):
        return reprlib.repr(value)
    return f"of type {type(value).__name__}"


class Arguments:
    """The checks of a function's arguments, by name."""

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = typing.get_type_hints(function, include_extras=True)
        self._kinds = {name: _kind(hint) for name, hint in hints.items() if name != "return"}

    def converted(self, name: str, value: Any) -> Any:
        """The value as the library takes it. Raises InvalidArgumentError for any other."""
        kind = self._kinds.get(name)
        if kind is None:
            return value
        try:
            return kind.converted(value)
        except _Wrong:
            raise InvalidArgumentError(
                f"{name} is {shown(value)}; it must be {kind.text}"
            ) from None


def checked(
    function: Callable[Parameters, Result],
    *,
    refused: Callable[..., None] = lambda error, *args, **options: None,
) -> Callable[Parameters, Result]:
    """The function, given only what its signature says; numpy's scalars become Python's. Calls
    refused(error, ...) with the arguments of a call that is refused."""
    @functools.cache  # not yet: signatures may name what is defined after them
    def arguments() -> Arguments:
        return Arguments(function)

    names = inspect.signature(function).parameters.values()
    positional = [it.name for it in names if it.kind is it.POSITIONAL_OR_KEYWORD]
    rest = itertools.repeat(next((it.name for it in names if it.kind is it.VAR_POSITIONAL), ""))

    @functools.wraps(function)
    def call(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        as_taken = arguments().converted
        try:
            given = [as_taken(*each) for each in zip(itertools.chain(positional, rest), args)]
            named = {name: as_taken(name, value) for name, value in options.items()}
        except InvalidArgumentError as error:
            refused(error, *args, **options)
            raise
        return function(*given, **named)

    return call
