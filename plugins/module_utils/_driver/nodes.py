# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of a fabric have the same driver: what nvidia_driver_info returned of each.

B(Private) to the collection: it can change at any time.

The same command leaves two nodes with different packages, since apt gives an update to some machines first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .family import NVIDIA, member
from .verdicts import BLOCKED, CONFIG, Reason, evidence, listed

Driver = Mapping[str, Any]


def differences(nodes: Mapping[str, Driver]) -> tuple[Reason, ...]:
    """Host to C(driver) of nvidia_driver_info."""
    return tuple(_differences(nodes))


def _differences(nodes: Mapping[str, Driver]) -> Iterator[Reason]:
    yield from _phases(nodes)
    loaded = {host: f"{node['loaded']['version']} ({node['loaded']['flavour']})" for host, node in nodes.items()}
    kernels = {host: str(node["running_kernel"]) for host, node in nodes.items()}
    for code, what, values in (("loaded_differs", "driver is loaded", loaded), ("kernels_differ", "runs", kernels)):
        if len(set(values.values())) > 1:
            shown = ", ".join(f"{value} on {host}" for host, value in values.items())
            yield Reason(
                code, CONFIG, f"not the same {what} everywhere: {shown}", "one for all", "pin one for all nodes"
            )
    yield from _packages(nodes)


def _packages(nodes: Mapping[str, Driver]) -> Iterator[Reason]:
    """Compared by the whole version: builds .32 and .32+1 of one kernel hold different drivers."""
    versions: dict[str, dict[str, str]] = {}
    for host, node in nodes.items():
        for row in node["packages"]:
            if row["kind"] in NVIDIA:
                versions.setdefault(row["name"], {})[host] = row["installed"]
    mixed = {name: by_host for name, by_host in sorted(versions.items()) if len(set(by_host.values())) > 1}
    if mixed:
        yield Reason(
            "packages_differ",
            CONFIG,
            f"not the same version everywhere: {listed(mixed)}",
            "the same packages on all nodes",
            "bring all nodes to the pinned version in one run",
            evidence(
                f"{host}: {name} {version}" for name, by_host in mixed.items() for host, version in by_host.items()
            ),
        )


def _phases(nodes: Mapping[str, Driver]) -> Iterator[Reason]:
    held = {host: {row["name"] for row in node["packages"] if row["held"]} for host, node in nodes.items()}
    waiting = {
        host: {name for name in (node["upgrade"] or {}).get("deferred", ()) if member(name) and name not in held[host]}
        for host, node in nodes.items()
    }
    uneven = {
        name: [host for host, names in waiting.items() if name in names]
        for name in sorted(set().union(*waiting.values()))
    }
    apart = {name: hosts for name, hosts in uneven.items() if len(hosts) < len(nodes)}
    if apart:
        yield Reason(
            "phase_differs",
            BLOCKED,
            f"{listed(apart)} would come on some nodes and wait for a phase on others",
            "the same packages on all nodes",
            "upgrade none of them yet, or hold these packages",
            evidence(f"{name} waits on {', '.join(hosts)}" for name, hosts in apart.items()),
        )
