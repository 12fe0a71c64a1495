# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one node shows by itself.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.switchless.spark.plugins.module_utils._driver import dgx
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import OK, UNKNOWN
from ansible_collections.switchless.spark.plugins.module_utils._nccl import memory

from .model import NOTE, STOP, WARN, Finding, Seen, Wanted, field, number, rows

KIB_PER_MIB = 1024


def judge(host: str, seen: Seen, wanted: Wanted) -> Iterator[Finding]:
    """Everything that needs no other node."""
    at = (host,)
    yield from _gb10(at, seen, wanted)
    yield from _identity(at, seen)
    yield from _disk(at, seen)
    yield from _rdma(at, seen)
    yield from _driver(at, seen)
    yield from _memory(at, seen, wanted)
    yield from _desktop(at, seen)
    yield from _ports(at, seen)
    yield from _secure_boot(at, seen)
    yield from _dgx(at, seen)
    yield from _clock(at, seen)


def _gb10(at: tuple[str, ...], seen: Seen, wanted: Wanted) -> Iterator[Finding]:
    found, others = field(seen, "gpu", "gb10"), field(seen, "gpu", "others")
    verdict = STOP if wanted.require_gb10 else NOTE
    remedy = "Take the node out of the inventory, or run with preflight_require_gb10=false"
    if not isinstance(found, list):
        yield Finding("gb10", "gb10_unknown", verdict, at, "no PCI bus can be read", "a GB10 (PCI 10de:2e12)", remedy)
    elif not found:
        words = f"no GB10 among the PCI devices{f', but {", ".join(map(str, others))}' if others else ''}"
        yield Finding("gb10", "gb10_missing", verdict, at, words, "PCI 10de:2e12", remedy)


def _identity(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    if not field(seen, "machine_id"):
        yield Finding(
            "machine_id",
            "machine_id_unknown",
            WARN,
            at,
            "/etc/machine-id holds no machine ID",
            "32 hexadecimal digits",
            "Make one with systemd-machine-id-setup and reboot",
        )
    if not field(seen, "hostname"):
        yield Finding("hostname", "hostname_unknown", NOTE, at, "no host name can be read")


def _disk(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    """What is wanted of several paths of one file system adds up."""
    by_device: dict[object, list[Seen]] = {}
    for row in rows(seen, "disk") or ():
        if number(row, "free_gib") is None or number(row, "device") is None:
            yield Finding(
                "disk",
                "disk_unknown",
                WARN,
                at,
                f"nobody says how much room {row.get('path')} has",
                f"{number(row, 'need_gib') or 0:g} GiB",
                "Look at it with df",
            )
        else:
            by_device.setdefault(row["device"], []).append(row)
    for asks in by_device.values():
        free = min(number(row, "free_gib") or 0 for row in asks)
        need = sum(max(0, (number(row, "need_gib") or 0) - (number(row, "present_gib") or 0)) for row in asks)
        if need > free:
            paths = " and ".join(str(row.get("path")) for row in asks)
            yield Finding(
                "disk",
                "disk_short",
                STOP,
                at,
                f"{free:g} GiB free for {paths}",
                f"{need:g} GiB",
                "Make room there, or name another file system",
            )


def _rdma(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    """No stop: this run may be the one that boots a better kernel, and transport refuses before it tries NCCL."""
    kernel, kho_off = field(seen, "kernel"), bool(field(seen, "memory", "kho_off"))
    total, free = field(seen, "memory", "cma_total_kb"), field(seen, "memory", "cma_free_kb")
    refusal = memory.refusal(at[0], memory.Memory(cma_total_kb=total, cma_free_kb=free, kernel=kernel, kho_off=kho_off))
    if refusal is not None:
        seen_words = f"it cannot register memory with its NIC: {refusal.seen}"
        yield Finding("cma", "cma", WARN, at, seen_words, refusal.expected, refusal.remedy)
    elif total is None or free is None or (total == 0 and not kernel):
        yield Finding("cma", "cma_unknown", NOTE, at, "nobody says whether contiguous memory (CMA) can be had")
    if not kernel:
        yield Finding("kernel", "kernel_unknown", NOTE, at, "nobody says which kernel runs")
    elif memory.BROKEN_KERNELS.match(kernel) and not kho_off:
        yield Finding(
            "kernel",
            "kernel_breaks_rdma",
            WARN,
            at,
            f"kernel {kernel} is known to break RDMA's memory registration",
            f"{memory.GOOD_KERNELS}, or kho=off",
            f"Boot {memory.GOOD_KERNELS}, or add kho=off to the kernel's command line",
        )


def _driver(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    loaded, installed = field(seen, "driver", "loaded"), rows(seen, "driver", "installed")
    if loaded is None:
        if field(seen, "driver", "modules_listed"):
            remedy = "See nvidia_driver_info for why: modules for another kernel, an interrupted upgrade, secure boot"
            yield Finding(
                "driver", "driver_not_loaded", WARN, at, "no NVIDIA driver is loaded", "the module nvidia", remedy
            )
        else:
            yield Finding("driver", "driver_unknown", NOTE, at, "nobody says whether an NVIDIA driver is loaded")
    elif field(seen, "driver", "open") is False:
        yield Finding(
            "driver",
            "driver_proprietary",
            WARN,
            at,
            f"driver {loaded} is loaded as the proprietary module",
            "the open one, the only one that works on GB10",
            "Install nvidia-driver-580-open instead",
        )
    elif field(seen, "driver", "open") is None:
        yield Finding(
            "driver", "driver_flavour_unknown", NOTE, at, f"nobody says whether driver {loaded} is the open one"
        )
    versions = sorted({str(row["driver"]) for row in installed or () if row.get("driver")})
    if not versions:
        yield Finding("driver", "driver_package_unknown", NOTE, at, "no package says which NVIDIA driver is installed")
    elif loaded is not None and loaded not in versions:
        yield Finding(
            "driver",
            "driver_pending",
            WARN,
            at,
            f"driver {loaded} is loaded and {', '.join(versions)} is installed",
            "the same",
            "Look at the next boot with nvidia_driver_info, then reboot all nodes together",
        )
    for row in installed or ():
        if row.get("candidate") not in (None, row.get("version")) and not row.get("held"):
            moved = f"an upgrade would move {row.get('name')} from {row.get('version')} to {row.get('candidate')}"
            yield Finding("driver", "driver_moves", NOTE, at, moved, "a hold", f"apt-mark hold {row.get('name')}")


def _memory(at: tuple[str, ...], seen: Seen, wanted: Wanted) -> Iterator[Finding]:
    if number(seen, "memory", "total_kb") is None:
        yield Finding("memory", "memory_unknown", NOTE, at, "nobody says how much memory there is")
    total, free = number(seen, "memory", "swap_total_kb"), number(seen, "memory", "swap_free_kb")
    if total is None or free is None:
        yield Finding("swap", "swap_unknown", NOTE, at, "nobody says whether swap is in use")
    elif total - free > wanted.max_swap_used_mib * KIB_PER_MIB:
        yield Finding(
            "swap",
            "swap_used",
            WARN,
            at,
            f"{(total - free) / KIB_PER_MIB:.0f} of {total / KIB_PER_MIB:.0f} MiB of swap in use",
            f"no more than {wanted.max_swap_used_mib:g} MiB",
            "See what takes the memory; with none to spare, a model that is loaded will swap",
        )


def _desktop(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    sessions, active = rows(seen, "desktop", "sessions"), field(seen, "desktop", "active")
    users = [str(row.get("user")) for row in sessions or () if row.get("class") != "greeter"]
    manager = field(seen, "desktop", "display_manager") or "a display manager"
    remedy = "Free its memory for the model: systemctl isolate multi-user.target, and systemctl set-default the same"
    if users:
        names = ", ".join(sorted(set(users)))
        yield Finding("desktop", "desktop", WARN, at, f"a desktop session of {names} is running", "none", remedy)
    elif active or sessions:
        yield Finding("desktop", "desktop", WARN, at, f"{manager} shows a login screen", "none", remedy)
    elif active is None or sessions is None:
        yield Finding("desktop", "desktop_unknown", NOTE, at, "nobody says whether a desktop is running")


def _ports(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    """A warning: on a cluster that serves, it is the server itself."""
    wanted, taken = field(seen, "ports", "wanted"), rows(seen, "ports", "taken")
    if wanted and taken is None:
        yield Finding("ports", "ports_unknown", NOTE, at, "nobody says which ports are taken")
    for row in taken or ():
        who = f"{row.get('process')} (pid {row.get('pid')})" if row.get("pid") else "a process that is hidden"
        yield Finding(
            "ports",
            "port_taken",
            WARN,
            at,
            f"{who} listens on {row.get('address')} port {row.get('port')}",
            "a free port",
            "Stop it, or serve on another port, unless it is the server itself",
        )


def _secure_boot(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    """A stock Spark has no NVIDIA modules under DKMS; those that Canonical built are signed."""
    lines, secure = field(seen, "dkms"), field(seen, "secure_boot")
    if lines is None:
        yield Finding("secure_boot", "dkms_unknown", NOTE, at, "nobody says which modules DKMS has built")
    elif lines and secure is None:
        yield Finding("secure_boot", "secure_boot_unknown", NOTE, at, "nobody says whether secure boot is on")
    elif lines and secure:
        loaded = field(seen, "driver", "loaded") is not None
        yield Finding(
            "secure_boot",
            "secure_boot_dkms",
            NOTE if loaded else WARN,
            at,
            f"secure boot is on and DKMS builds the driver ({lines[0]})",
            "modules that Canonical signed" if loaded else "a key of DKMS that the firmware knows",
            "Install linux-modules-nvidia for this kernel instead, or enrol the key: mokutil --import",
        )


def _dgx(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    if not field(seen, "dgx", "version"):
        yield Finding("dgx", "dgx_unknown", NOTE, at, "/etc/dgx-release names no version of DGX OS")
    if not field(seen, "dgx", "torn_asked"):
        return
    reason = dgx.judge(field(seen, "dgx", "torn_score"))
    if reason.verdict != OK:
        verdict = NOTE if reason.verdict == UNKNOWN else WARN
        yield Finding("ota", reason.code, verdict, at, reason.seen, reason.expected, reason.remedy.capitalize())


def _clock(at: tuple[str, ...], seen: Seen) -> Iterator[Finding]:
    synchronized = field(seen, "clock", "ntp_synchronized")
    if synchronized is None:
        yield Finding("ntp", "ntp_unknown", NOTE, at, "nobody says whether the clock is synchronised")
    elif not synchronized:
        yield Finding("ntp", "ntp_off", NOTE, at, "the clock is not synchronised", "NTP", "timedatectl set-ntp true")
