"""Signatures for type checkers, and that everything public says what it is."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import collective_matmul
import collective_matmul.numpy
from collective_matmul import _core, simulation, timeline, tpu

PACKAGE = Path(collective_matmul.__file__).parent
MODULES = [collective_matmul, collective_matmul.numpy, simulation, timeline, tpu]


def test_the_stubs_are_those_of_the_module(tmp_path):
    """Fails where the module was built and the target cmm_python_stubs was not."""
    folder = Path(_core.__file__).parent
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-r", "-i", str(folder.parent),
         "-m", "collective_matmul._core", "-O", str(tmp_path)],
        check=True,
    )
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.pyi"))
    assert Path("_core/__init__.pyi") in made and Path("_core/tpu.pyi") in made
    for name in made:
        assert (folder / name).read_text() == (tmp_path / name).read_text(), name
    assert (folder / "py.typed").exists()


def public_things():
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for member in vars(thing):
                    if not member.startswith("_") and callable(getattr(thing, member)):
                        yield f"{module.__name__}.{name}.{member}", getattr(thing, member)


@pytest.mark.parametrize("name, thing", sorted(public_things(), key=lambda it: it[0]))
def test_public_things_have_a_docstring_and_types(name, thing):
    # A data class of figures explains its fields where they are declared.
    if not hasattr(thing, "__dataclass_fields__"):
        assert thing.__doc__, f"{name} has no docstring"
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        parts = [*signature.parameters.values()]
        untyped = [it.name for it in parts if it.annotation is it.empty and it.name != "self"]
        assert not untyped, f"{name}: {untyped} have no types"
        assert signature.return_annotation is not signature.empty, f"{name} has no return type"
