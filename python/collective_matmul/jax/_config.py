"""What of a call is fixed when it is traced, and the checks that need no data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul._dtypes import numpy_name
from collective_matmul.errors import InvalidArgumentError

ACTIVATIONS = ("none", "relu", "gelu_tanh", "gelu_erf", "silu")


@dataclasses.dataclass(frozen=True)
class TpuOptions:
    """What the lowering for TPUs needs beside the parameters that all platforms share.

    Attributes:
        mesh: sizes of all axes of the mesh; a device's number is its position in them, row-major.
        axis: position in ``mesh`` of the axis along which x is gathered.
        device_kind: that of the mesh's devices, or None where it is not known.
    """

    mesh: tuple[int, ...]
    axis: int
    collective_id: int
    bn: int
    bk: int
    chip: str | None
    device_kind: str | None
    debug: bool


@dataclasses.dataclass(frozen=True)
class Config:
    """A call without its arrays. Equal configs share what has been traced and compiled."""

    mesh_axes: tuple[tuple[str, int], ...]
    axis_name: str
    collective_id: int | None = 0
    bn: int | None = None
    bk: int | None = None
    rhs_transpose: bool = False
    return_gathered: bool = False
    activations: tuple[str, ...] = ()
    swiglu: bool = False
    out_dtype: str | None = None
    algorithm: str | None = None
    chip: str | None = None
    device_kind: str | None = None
    num_processes: int | None = None  # that the mesh's devices belong to; None: it does not say
    deadline_seconds: float = DEADLINE_SECONDS
    debug: bool = False

    @property
    def num_ranks(self) -> int:
        return dict(self.mesh_axes)[self.axis_name]

    @property
    def other_axes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.mesh_axes if name != self.axis_name)

    @property
    def has_epilogue(self) -> bool:
        return self.swiglu or any(name != "none" for name in self.activations)

    def primitive_params(self) -> dict[str, Any]:
        return {
            "num_ranks": self.num_ranks,
            "num_groups": math.prod(size for _, size in self.mesh_axes) // self.num_ranks,
            "rhs_transpose": self.rhs_transpose,
            "return_gathered": self.return_gathered,
            "activations": self.activations,
            "swiglu": self.swiglu,
            "out_dtype": self.out_dtype,
            "algorithm": self.algorithm,
            "num_processes": self.num_processes,
            "deadline_seconds": self.deadline_seconds,
            "tpu": TpuOptions(
                mesh=tuple(size for _, size in self.mesh_axes),
                axis=[name for name, _ in self.mesh_axes].index(self.axis_name),
                collective_id=self.collective_id or 0,
                bn=self.bn or 0,
                bk=self.bk or 0,
                chip=self.chip,
                device_kind=self.device_kind,
                debug=self.debug,
            ),
        }


@checked
def make_config(
    mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh,
    axis_name: str,
    num_right_sides: int,
    *,
    collective_id: Int32 | None = 0,
    bn: int | None = None,
    bk: int | None = None,
    rhs_transpose: bool = False,
    algorithm: str | None = None,
    return_gathered: bool = False,
    activation: str | Sequence[str] | None = None,
    swiglu: bool = False,
    out_dtype: jax.typing.DTypeLike | None = None,
    chip: str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    debug: bool = False,
) -> Config:
    """The config of a call on ``mesh``, with what has many spellings brought into one.

    Raises:
        InvalidArgumentError: an option has no such value.
    """
    if isinstance(activation, str):
        activation = [activation] * num_right_sides
    config = Config(
        mesh_axes=tuple(mesh.shape.items()),
        axis_name=axis_name,
        collective_id=collective_id,
        bn=bn,
        bk=bk,
        rhs_transpose=rhs_transpose,
        return_gathered=return_gathered,
        activations=tuple(activation or ()),
        swiglu=swiglu,
        out_dtype=None if out_dtype is None else numpy_name(out_dtype, "out_dtype"),
        algorithm=algorithm,
        chip=chip,
        device_kind=device_kind_of(mesh),
        num_processes=_num_processes_of(mesh),
        deadline_seconds=deadline_seconds,
        debug=debug,
    )
    for name in config.activations:
        if name not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise InvalidArgumentError(f"no activation {name!r}; there are {known}")
    if config.activations and len(config.activations) != num_right_sides:
        raise InvalidArgumentError(
            f"{len(config.activations)} activations are given for {num_right_sides} right sides; "
            "give one name for all, or one for each"
        )
    if config.swiglu and (num_right_sides != 2 or config.activations):
        raise InvalidArgumentError(
            f"swiglu=True with {num_right_sides} right sides and "
            f"{len(config.activations)} activations; it takes y=[gate, up] and no activation"
        )
    if config.chip is not None and config.chip not in _core.tpu.chips():
        known = ", ".join(_core.tpu.chips())
        raise InvalidArgumentError(f"no chip {config.chip!r}; there are {known}")
    if not config.deadline_seconds > 0:
        raise InvalidArgumentError(
            f"deadline_seconds is {config.deadline_seconds}; it must be above 0"
        )
    return config


def device_kind_of(mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh) -> str | None:
    """What JAX calls the mesh's devices, None for CPUs and where the mesh does not know."""
    if isinstance(mesh, jax.sharding.Mesh):
        device = mesh.devices.flat[0]
        return device.device_kind if device.platform == "tpu" else None
    abstract = getattr(mesh, "abstract_device", None)  # JAX has it from 0.7 on
    kind = getattr(abstract, "device_kind", None)
    return kind if kind is not None and kind.upper().startswith("TPU") else None


def _num_processes_of(mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh) -> int | None:
    if not isinstance(mesh, jax.sharding.Mesh):
        return None
    return len({device.process_index for device in mesh.devices.flat})


def check_operands(
    config: Config,
    x: jax.Array | jax.ShapeDtypeStruct,
    ys: Sequence[jax.Array | jax.ShapeDtypeStruct],
) -> None:
    """Checks what holds on every platform, of arrays of all devices.

    Raises:
        InvalidArgumentError: the message names the right side at fault, its values, and what
            would be right.
    """
    for i, y in enumerate(ys):
        try:
            _core.tpu.check_call(
                x_shape=x.shape,
                y_shape=y.shape,
                x_dtype=x.dtype.name,
                y_dtype=y.dtype.name,
                mesh=config.mesh_axes,
                axis_name=config.axis_name,
                collective_id=config.collective_id,
                bn=config.bn,
                bk=config.bk,
                rhs_transpose=config.rhs_transpose,
            )
        except InvalidArgumentError as error:
            if len(ys) == 1:
                raise
            raise InvalidArgumentError(f"right side {i}: {error}") from None
    if config.swiglu and ys[0].shape != ys[1].shape:
        raise InvalidArgumentError(
            f"swiglu=True with y of shapes {ys[0].shape} and {ys[1].shape}; "
            "gate and up must have the same shape"
        )
    out = config.out_dtype and jnp.dtype(config.out_dtype)
    if out and jnp.issubdtype(x.dtype, jnp.floating) and not jnp.issubdtype(out, jnp.floating):
        raise InvalidArgumentError(
            f"out_dtype is {out.name}, of products of {x.dtype.name}; give a type of floats"
        )
    if config.has_epilogue and not jnp.issubdtype(x.dtype, jnp.floating):
        raise InvalidArgumentError(
            f"an activation of products of {x.dtype.name}, which are summed as whole numbers; "
            "leave it out and apply it to the result, scaled as your quantisation demands"
        )
