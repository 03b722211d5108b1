"""Meshes whose rings run from chip to neighbouring chip."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence

import jax
import numpy as np

from collective_matmul import _core


def _place(device) -> tuple[int, int, int, int]:
    """x, y, z of the chip, and which of its cores."""
    return (*device.coords, getattr(device, "core_on_chip", 0))


def ring_mesh(devices: Sequence[jax.Device] | None = None, axis_name: str = "x") -> jax.sharding.Mesh:
    """A mesh of one axis whose neighbours are neighbours on the TPU's network, where that can be.

    ``jax.make_mesh`` does not always do that: on eight chips of v6e every second hop crosses two
    links. Devices that are no TPUs are left in their order.

    Args:
        devices: None: all of this process's backend.
        axis_name: of the mesh.
    """
    devices = list(jax.devices() if devices is None else devices)
    if all(device.platform == "tpu" for device in devices):
        order = _core.tpu.ring_order([_place(device) for device in devices])
        devices = [devices[i] for i in order]
    return jax.sharding.Mesh(np.array(devices), (axis_name,))


def longest_hop(mesh: jax.sharding.Mesh, axis_name: str) -> int:
    """Links that the longest hop between neighbours along the axis crosses, by the chips' places.

    Links that close a torus are not counted on: a ring over one may be better than this says.
    """
    rings = np.moveaxis(mesh.devices, mesh.axis_names.index(axis_name), -1)
    longest = 0
    for ring in rings.reshape(-1, rings.shape[-1]):
        places = np.array([device.coords for device in ring])
        hops = np.abs(places - np.roll(places, -1, axis=0)).sum(axis=1)
        longest = max(longest, int(hops.max()))
    return longest


@functools.lru_cache(maxsize=None)  # once for each mesh
def warn_of_long_hops(mesh, axis_name: str) -> None:
    """Warns where a ring along the axis does not run from chip to neighbouring chip."""
    if not isinstance(mesh, jax.sharding.Mesh) or mesh.devices.flat[0].platform != "tpu":
        return
    hops = longest_hop(mesh, axis_name)
    if hops > 1:
        warnings.warn(
            f"neighbours along axis {axis_name!r} are up to {hops} links apart on the chips, which "
            "slows the ring down; collective_matmul.jax.ring_mesh orders devices along neighbours",
            stacklevel=3,
        )
