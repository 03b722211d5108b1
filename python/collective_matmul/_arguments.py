"""Arguments of public functions, checked by the types of their signatures: the one place for it.

What passes is what the extension module takes, which itself would refuse the rest without a word of
which argument it was. Whether the values make sense is for the library to say.
"""

import contextlib
import functools
import inspect
import itertools
import os
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
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
        return f"an integer{'' if self.signed else ' from 0 on'}"


Int32 = Annotated[int, Integers(32)]
UInt64 = Annotated[int, Integers(signed=False)]


class _Kind(NamedTuple):
    """What an argument may be: ``converted`` returns it as C++ takes it, or raises _Wrong."""

    text: str
    converted: Callable[[Any], Any]
    limit: str = ""  # the text for a _CannotHold, where it says more

    @property
    def exact(self) -> str:
        return self.limit or self.text


class _Wrong(Exception):
    pass


class _CannotHold(_Wrong):
    """The value is of the right kind; C++ has no room for it."""


def _integer(value: Any, integers: Integers) -> int:
    # To Python, True is an int.
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise _Wrong
    try:
        number = value.__index__()
    except TypeError:  # an array of several
        raise _Wrong from None
    if number not in integers:
        raise _CannotHold
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _CannotHold from None
    return value


def _number(value: Any) -> float:
    # numpy would drop the imaginary part with a warning, and take the one element of an array.
    other = (str, bytes, bool, np.bool_, np.complexfloating)
    if isinstance(value, other) or not hasattr(value, "__float__"):
        raise _Wrong
    if isinstance(value, np.ndarray) and (value.ndim > 0 or value.dtype.kind == "c"):
        raise _Wrong
    try:
        return float(value)
    except OverflowError:
        raise _CannotHold from None
    except (TypeError, ValueError):
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
    # A set has no order.
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
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
    wrong: type[_Wrong] = _Wrong
    for kind in kinds:
        try:
            return kind.converted(value)
        except _CannotHold:
            wrong = _CannotHold
        except _Wrong:
            pass
    raise wrong


def _function(value: Any) -> Any:
    if not callable(value):
        raise _Wrong
    return value


def _alternatives(texts: Sequence[str]) -> str:
    if len(texts) == 2 and "," not in "".join(texts):
        return " or ".join(texts)
    return ", ".join(texts[:-1]) + ", or " + texts[-1]


def class_name(kind: type) -> str:
    """Of a class, as its users write it: with the shortest module that has it for the public."""
    if kind is os.PathLike:
        return "a path"
    if kind.__module__ == "builtins":
        return kind.__name__
    package = kind.__module__.partition(".")[0]
    modules = [
        name
        for name, module in list(sys.modules.items())
        if (name == package or name.startswith(f"{package}."))
        and "._" not in name
        and getattr(module, "__dict__", {}).get(kind.__name__) is kind
    ]
    module = min(modules, key=lambda name: (len(name), name), default=kind.__module__)
    return f"{module}.{kind.__name__}"


def _kind(hint: Any) -> _Kind | None:
    """None: of such a type nothing is checked here."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is int:
        return _kind(Annotated[int, Integers()])
    if origin is Annotated:
        convert = functools.partial(_integer, integers=of[1])
        return _Kind(str(of[1]), convert, f"{of[1]} of {of[1].bits} bits")
    if hint is str:
        return _Kind("a str", _text, "a str that UTF-8 can hold")
    if hint is float:
        return _Kind("a number", _number, "a number of 64 bits")
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
            convert, words = functools.partial(_list, element=kinds[0]), "a list, each {}"
        elif origin is Mapping:
            convert = functools.partial(_table, name=kinds[0], element=kinds[1])
            words = "a dict from {} to {}"
        else:
            # None is the most frequent, and behind a list would read as one of its elements.
            kinds.sort(key=lambda kind: (kind.text != "None", "," in kind.text))
            texts, exacts = [it.text for it in kinds], [it.exact for it in kinds]
            return _Kind(
                _alternatives(texts),
                functools.partial(_any_of, kinds=kinds),
                _alternatives(exacts),
            )
        texts, exacts = (it.text for it in kinds), (it.exact for it in kinds)
        return _Kind(words.format(*texts), convert, words.format(*exacts))
    kind = origin or hint  # of a list[int] only that it is a list
    if hint is not Any and isinstance(kind, type) and not getattr(kind, "_is_protocol", False):
        return _Kind(class_name(kind), functools.partial(_instance, kind=kind))
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
        self._words = {
            it.name: f"an extent of {it.name}"
            for it in inspect.signature(function).parameters.values()
            if it.kind is it.VAR_POSITIONAL  # as *shape, the one use of it here
        }

    def converted(self, name: str, value: Any) -> Any:
        """The value as the library takes it. Raises InvalidArgumentError for any other."""
        kind = self._kinds.get(name)
        if kind is None:
            return value
        try:
            return kind.converted(value)
        except _Wrong as wrong:
            words = kind.exact if isinstance(wrong, _CannotHold) else kind.text
            raise InvalidArgumentError(
                f"{self._words.get(name, name)} is {shown(value)}; it must be {words}"
            ) from None


def checked(
    function: Callable[Parameters, Result],
    *,
    refused: Callable[[Exception, Mapping[str, Any]], None] = lambda error, given: None,
) -> Callable[Parameters, Result]:
    """The function, given only what its signature says; numpy's scalars become Python's. Calls
    refused(error, given) for a call that is refused, given being those arguments of it that are
    right, by name."""
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
            refused(error, right_ones(args, options))
            raise
        try:
            return function(*given, **named)
        except TypeError as error:
            if not has_begun(error):
                refused(error, right_ones(args, options))
            raise

    def right_ones(args: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        right = {}
        for name, value in (*zip(positional, args), *options.items()):
            with contextlib.suppress(InvalidArgumentError):
                right[name] = arguments().converted(name, value)
        return right

    return call


def has_begun(error: BaseException) -> bool:
    """Whether a function that the code around has called, and that raised the error, had begun: it
    has not where its arguments do not fit its signature."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None
