"""Meshes whose rings run from chip to neighbouring chip."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping, Sequence

import jax
import numpy as np

from collective_matmul import _core
from collective_matmul._arguments import checked
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.jax import _tpu
from collective_matmul.jax._config import device_kind_of


def _place(device: jax.Device) -> tuple[int, int, int, int]:
    """x, y, z of the chip, and which of its cores."""
    return (*device.coords, getattr(device, "core_on_chip", 0))


@checked
def ring_mesh(
    devices: Sequence[jax.Device] | None = None,
    axis_name: str = "x",
    *,
    shape: Mapping[str, int] | None = None,
) -> jax.sharding.Mesh:
    """A mesh whose neighbours along an axis are neighbours on the TPU's network, where possible.

    ``jax.make_mesh`` does not always do that: on eight chips of v6e every second hop crosses two
    links. Devices that are no TPUs are left in their order.

    Args:
        devices: None: all of this process's backend.
        axis_name: the axis along which the rings run.
        shape: names and sizes of all axes, that one among them; None: it is the only one.

    Raises:
        InvalidArgumentError: the sizes do not fit the number of devices, or name no such axis.
    """
    devices = list(jax.devices() if devices is None else devices)
    sizes = dict(shape) if shape is not None else {axis_name: len(devices)}
    if axis_name not in sizes or math.prod(sizes.values()) != len(devices):
        raise InvalidArgumentError(
            f"shape is {sizes} for {len(devices)} devices and rings along {axis_name!r}; its sizes "
            "must multiply to the number of devices, and that axis must be among them"
        )
    if all(device.platform == "tpu" for device in devices):
        places = [_place(device) for device in devices]
        devices = [devices[i] for i in _core.tpu.ring_order(places, sizes[axis_name])]
    # Ring by ring: the axis is the last one, and then moved to where it belongs.
    others = [size for name, size in sizes.items() if name != axis_name]
    rings = np.array(devices).reshape(*others, sizes[axis_name])
    at = list(sizes).index(axis_name)
    return jax.sharding.Mesh(np.moveaxis(rings, -1, at), tuple(sizes))


def longest_hop(mesh: jax.sharding.Mesh, axis_name: str, chip: str | None = None) -> int:
    """Links that the longest hop between neighbours along the axis crosses, by the chips' places.

    A dimension of the torus that the mesh's devices fill, and that is long enough to be closed by
    links of its own, counts as a ring.
    """
    places = np.array([device.coords for device in mesh.devices.flat])
    extents = places.max(axis=0) - places.min(axis=0) + 1
    closed = extents % _core.tpu.wrap_multiple(_tpu.chip_of(chip, device_kind_of(mesh))) == 0
    rings = np.moveaxis(
        places.reshape(*mesh.devices.shape, -1), mesh.axis_names.index(axis_name), 0
    )
    apart = np.abs(rings - np.roll(rings, -1, axis=0))
    return int(np.where(closed, np.minimum(apart, extents - apart), apart).sum(axis=-1).max())


@functools.lru_cache(maxsize=None)  # once for each mesh
def warn_of_long_hops(mesh: jax.sharding.Mesh, axis_name: str, chip: str | None) -> None:
    """Warns where a ring along the axis does not run from chip to neighbouring chip."""
    if not isinstance(mesh, jax.sharding.Mesh) or device_kind_of(mesh) is None:
        return
    hops = longest_hop(mesh, axis_name, chip)
    if hops > 1:
        warnings.warn(
            f"neighbours along axis {axis_name!r} are up to {hops} links apart on the chips, which "
            "slows the ring down; collective_matmul.jax.ring_mesh orders devices along neighbours",
            stacklevel=3,
        )
