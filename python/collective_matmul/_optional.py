"""Packages that only one part of this one needs."""

import importlib


def require(module: str) -> None:
    """Raises ImportError that says how to get a module that is missing."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(
            f"collective_matmul.{module} needs {module}: pip install 'collective-matmul[{module}]'",
            name=module,
        ) from None
