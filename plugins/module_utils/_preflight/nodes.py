# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes show side by side. What is not known of a node takes no part.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .model import NOTE, STOP, WARN, Finding, Seen, Wanted, field, number

KIB_PER_MIB = 1024
SKEW_REMEDY = "Let both take the time from NTP (timedatectl set-ntp true), and see timedatectl timesync-status"

Nodes = Mapping[str, Seen]


def judge(nodes: Nodes, wanted: Wanted) -> Iterator[Finding]:
    """Everything that needs several nodes."""
    yield from _machine_ids(nodes)
    yield from _hostnames(nodes)
    yield from _skew(nodes, wanted)
    for check, code, what, keys in (
        ("dgx", "ota_differs", "DGX OS", ("dgx", "version")),
        ("kernel", "kernel_differs", "kernel", ("kernel",)),
        ("driver", "driver_differs", "driver", ("driver", "loaded")),
    ):
        yield from _different(nodes, check, code, what, keys)
    yield from _sizes(nodes)


def _same(values: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Values that several hosts have."""
    hosts: dict[str, list[str]] = {}
    for host, value in values.items():
        hosts.setdefault(value, []).append(host)
    yield from ((value, tuple(found)) for value, found in hosts.items() if len(found) > 1)


def _known(nodes: Nodes, *keys: str) -> dict[str, str]:
    return {host: str(value) for host, seen in nodes.items() if (value := field(seen, *keys))}


def _machine_ids(nodes: Nodes) -> Iterator[Finding]:
    """Two hosts that are one machine would be given two ranks; two machines of one identity, one address by DHCP."""
    for value, hosts in _same(_known(nodes, "machine_id")):
        boots = {field(nodes[host], "boot_id") for host in hosts}
        if len(boots) == 1 and None not in boots:
            yield Finding(
                "machine_id",
                "same_machine",
                STOP,
                hosts,
                "these are one machine (same machine ID, same boot)",
                "a machine each",
                "Correct ansible_host in the inventory",
            )
        else:
            yield Finding(
                "machine_id",
                "machine_id_duplicate",
                STOP,
                hosts,
                f"the same /etc/machine-id, {value}",
                "one of its own each",
                "On all but one: rm /etc/machine-id /var/lib/dbus/machine-id, systemd-machine-id-setup, reboot",
            )


def _hostnames(nodes: Nodes) -> Iterator[Finding]:
    """By the first label, as mDNS and NCCL take it."""
    names = {host: name.partition(".")[0].lower() for host, name in _known(nodes, "hostname").items()}
    for name, hosts in _same(names):
        remedy = "Give each a name of its own: hostnamectl set-hostname NAME"
        yield Finding("hostname", "hostname_duplicate", STOP, hosts, f"all are called {name}", "a name each", remedy)


def _skew(nodes: Nodes, wanted: Wanted) -> Iterator[Finding]:
    """Each clock was read at some time between the controller's start of that look and its judgement of all.

    So an offset is known as a range, and only what lies between two ranges is certain, however slow a node answers.
    """
    ahead: dict[str, float] = {}
    behind: dict[str, float] = {}
    for host, seen in nodes.items():
        epoch, asked, until = number(seen, "clock", "epoch"), number(seen, "clock", "asked"), wanted.judged_at
        if epoch is None or asked is None or until is None or until < asked:
            yield Finding("clock", "clock_unknown", NOTE, (host,), "its clock cannot be compared with the others'")
            continue
        ahead[host], behind[host] = epoch - until, epoch - asked
    if not ahead:
        return
    first, last = max(ahead, key=ahead.__getitem__), min(behind, key=behind.__getitem__)
    skew = ahead[first] - behind[last]
    if skew > wanted.max_clock_skew_seconds:
        yield Finding(
            "clock",
            "clock_skew",
            STOP,
            (first, last),
            f"the clock of {first} is at least {skew:.0f} s ahead of that of {last}",
            f"no more than {wanted.max_clock_skew_seconds:g} s",
            SKEW_REMEDY,
        )


def _different(nodes: Nodes, check: str, code: str, what: str, keys: tuple[str, ...]) -> Iterator[Finding]:
    values = _known(nodes, *keys)
    if len(set(values.values())) > 1:
        shown = ", ".join(f"{value} on {host}" for host, value in values.items())
        yield Finding(
            check, code, WARN, tuple(values), f"not the same {what}: {shown}", "one for all", "Bring all to the same"
        )


def _sizes(nodes: Nodes) -> Iterator[Finding]:
    """Two healthy nodes differ by a page, so only a MiB is a difference."""
    sizes = {host: size for host, seen in nodes.items() if (size := number(seen, "memory", "total_kb")) is not None}
    if sizes and max(sizes.values()) - min(sizes.values()) >= KIB_PER_MIB:
        shown = ", ".join(f"{size / KIB_PER_MIB:.0f} MiB on {host}" for host, size in sizes.items())
        yield Finding(
            "memory",
            "memory_differs",
            WARN,
            tuple(sizes),
            f"not the same memory: {shown}",
            "the same",
            "The smallest decides what a model may take; firmware of one version leaves the same to all",
        )
