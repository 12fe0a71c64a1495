# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A node's planned ports joined with the functions that its NIC shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .errors import FabricError, shown
from .plain import plain

Record = Mapping[str, object]


def bind(host: object, functions: object) -> list[dict[str, object]]:
    """The ports of a host's plan (`host_to_dict`), each with `netdev`, `mac` and `rdma` of its (cage, root).

    `functions` is `cx7.functions` of the module cx7_info. `rdma` may be null: then the kernel has no RDMA device for
    the port, which is for those to judge who need one. Raises FabricError naming each (cage, root) that is missing,
    doubled or without a network device, and what the node shows instead.
    """
    name, ports = _ports(plain(host))
    shows = _functions(name, plain(functions))
    seen = ", ".join(_function(function) for function in shows) or "no ConnectX-7 function at all"
    problems: list[str] = []
    bound: list[dict[str, object]] = []
    for port in ports:
        what = f"{name}: cage {port['cage']} on PCIe root {port['root']} (cable {port['cable']})"
        found = [item for item in shows if (item.get("cage"), item.get("root")) == (port["cage"], port["root"])]
        if not found:
            problems.append(
                f"{what}: has no ConnectX-7 function; the node shows {seen}: look with lspci, and run "
                "with --tags cx7 for the reason and the cure"
            )
        elif len(found) > 1:
            problems.append(
                f"{what}: is claimed by {len(found)} functions ({', '.join(map(_function, found))}): "
                "expected one; report this with the output of cx7_info"
            )
        elif not found[0].get("netdev") or not found[0].get("mac"):
            problems.append(
                f"{what}: has the function {_function(found[0])}, but no network device with a MAC address: "
                "load the driver mlx5_core and see the kernel's log"
            )
        else:
            bound.append({**port, **{key: found[0].get(key) or None for key in ("netdev", "mac", "rdma")}})
    if problems:
        raise FabricError(*problems)
    return bound


def _ports(host: object) -> tuple[str, list[Record]]:
    if isinstance(host, Mapping) and isinstance(host.get("ports"), list) and isinstance(host.get("host"), str):
        ports = host["ports"]
        if all(isinstance(port, Mapping) and {"cage", "root", "cable"} <= port.keys() for port in ports):
            return host["host"], ports
    raise FabricError(f"the host is {shown(host)}: expected what the filter fabric_host gives")


def _functions(name: str, functions: object) -> Sequence[Record]:
    if isinstance(functions, list) and all(isinstance(item, Mapping) for item in functions):
        return functions
    raise FabricError(f"{name}: functions is {shown(functions)}: expected the list cx7.functions of cx7_info")


def _function(function: Record) -> str:
    return (
        f"{function.get('cage')}/{function.get('root')} {function.get('pci') or 'without PCI address'} "
        f"({function.get('netdev') or 'no netdev'})"
    )
