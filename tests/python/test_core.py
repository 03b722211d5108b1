"""The extension module alone: errors cross the border as classes of their own."""

import pytest

from collective_matmul import DeadlineError, Error, InvalidArgumentError, _core


def test_an_error_of_the_library_is_an_exception_of_its_code():
    with pytest.raises(InvalidArgumentError, match="at least 1") as caught:
        _core.Mesh.threads([("tp", 0)])
    assert isinstance(caught.value, Error) and isinstance(caught.value, ValueError)
    assert caught.value.code == "invalid argument" and caught.value.rank == -1


def test_a_deadline_is_a_timeout():
    meshes = _core.Mesh.threads([("tp", 2)])
    with pytest.raises(TimeoutError) as caught:
        meshes[0].axis("tp").barrier(deadline_seconds=0.05)
    assert isinstance(caught.value, DeadlineError) and caught.value.rank == 1


def test_a_deadline_must_be_above_zero():
    mesh = _core.Mesh.threads([("tp", 1)])[0]
    with pytest.raises(ValueError, match="above 0"):
        mesh.axis("tp").barrier(deadline_seconds=float("nan"))
