# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs and what would boot: the loaded module decides, not what dpkg calls installed.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.switchless.spark.plugins.module_utils._boot import judge as boot_judge

from . import said
from .look import FOREIGN
from .node import Node
from .verdicts import BLOCKED, CONFIG, FAULT, OK, PENDING_REBOOT, UNKNOWN, Reason, evidence, flavour

MODULES_FIRST = "look at linux-modules-nvidia-*-open of that kernel first; what fails in a container comes from there"


def rules(node: Node) -> Iterator[Reason]:
    yield from _two_sources(node)
    yield from _next_boot(node)
    yield from _loaded(node)
    yield from _smi(node)
    yield from _kernels(node)


def _two_sources(node: Node) -> Iterator[Reason]:
    """A driver of a .run file over that of the packages."""
    shown = []
    for kernel in node.seen.on_disk:
        disk = node.disk(kernel)
        if disk.source == FOREIGN:
            shown.append(f"{disk.path}: version {disk.version}, put there by no package")
        if disk.modeset is not None and disk.version is not None and disk.modeset != disk.version:
            shown.append(f"{kernel}: nvidia.ko is {disk.version}, nvidia-modeset.ko is {disk.modeset}")
    lines = said.signs(node.seen.log or ()).get(said.TWO_SOURCES, ())
    if shown or lines:
        yield Reason(
            "two_sources",
            FAULT,
            shown[0] if shown else lines[0],
            "all modules of one driver from one source",
            "a reboot does not help: run nvidia-uninstall for the driver of the .run file, then reinstall "
            "linux-modules-nvidia-*-open of this kernel",
            evidence([*shown, *(node.seen.log or ())]),
        )


def _next_boot(node: Node) -> Iterator[Reason]:
    """What boot_info says against a reboot, and whether nvidia.ko of that kernel fits the user space."""
    boot = node.seen.boot
    codes = set()
    for reason in boot_judge.judge(boot, node.pin.kernel).reasons:
        codes.add(reason.code)
        if reason.code in ("same_kernel", "staged_driver"):  # the latter is what loaded and installed say below
            continue
        verdict = {False: BLOCKED, None: UNKNOWN, True: OK}[reason.neutral]
        if reason.code == "to_pinned":
            yield Reason(reason.code, PENDING_REBOOT, reason.seen, "the pinned kernel runs", "reboot the group")
        else:
            yield Reason(reason.code, verdict, reason.seen, reason.expected, reason.remedy)
    if boot.next_kernel is None or node.in_container:
        return
    coming, kernel = boot.driver_next, boot.next_kernel
    if coming is None or not coming.present:
        if "driver_missing" not in codes:
            yield Reason(
                "driver_missing",
                BLOCKED,
                f"{kernel} has no module nvidia",
                f"nvidia.ko below /lib/modules/{kernel}",
                MODULES_FIRST,
            )
    elif coming.version is None:
        yield Reason("next_version_unknown", UNKNOWN, f"modinfo does not say which nvidia.ko {kernel} has", "a version")
    elif node.installed is not None and coming.version != node.installed:
        yield Reason(
            "next_does_not_fit",
            BLOCKED,
            f"{kernel} would load nvidia.ko {coming.version}, the libraries are {node.installed}",
            f"{node.installed} in both",
            "install the build of linux-modules-nvidia-*-open of that kernel that has this driver; there are several "
            "for one kernel, and apt may keep one back for its phase",
            evidence(node.states(row for row in node.rows if row.member.kernel == kernel)),
        )


def _loaded(node: Node) -> Iterator[Reason]:
    seen, wanted = node.seen, node.installed or node.pin.version
    if seen.loaded is None:
        if not seen.modules_listed:
            yield Reason("loaded_unknown", UNKNOWN, "/sys/module cannot be read", "the version of the loaded module")
            return
        yield Reason(
            "not_loaded",
            BLOCKED,
            f"the module nvidia is not loaded in {seen.boot.running_kernel}",
            f"the module of {node.pin.version}",
            MODULES_FIRST,
            evidence(seen.log or ()),
        )
        return
    if seen.loaded_open is None:
        yield Reason(
            "flavour_unknown",
            UNKNOWN,
            "neither /proc/driver/nvidia/version nor modinfo says whether the loaded module is the open one",
            node.pin.flavour,
        )
    elif seen.loaded_open != node.pin.open:
        waits = node.comes_as_pinned
        yield Reason(
            "wrong_flavour_loaded",
            PENDING_REBOOT if waits else CONFIG,
            f"the {flavour(seen.loaded_open)} module {seen.loaded} is loaded",
            f"the {node.pin.flavour} one",
            "reboot the group"
            if waits
            else "install linux-modules-nvidia-*-open of the same version and reboot the group",
        )
    if seen.loaded != wanted:
        yield Reason(
            "loaded_is_another",
            PENDING_REBOOT,
            f"the module {seen.loaded} is loaded, the libraries are {wanted}",
            f"{wanted} in both",
            "reboot the group, unless another reason here speaks against it; until then no CUDA program starts",
            evidence(change for entry in seen.history for change in (f"{entry.date} {entry.command}", *entry.changes)),
        )


def _smi(node: Node) -> Iterator[Reason]:
    smi = node.seen.smi
    if node.seen.loaded is None:
        return
    if smi is None:
        yield Reason(
            "smi_missing",
            UNKNOWN,
            "nvidia-smi is not there, so that nobody says whether the driver sees the GPU",
            "nvidia-utils of the same version",
            "install it",
        )
    elif smi.answer == said.SHOWN:
        if smi.user is not None and smi.kernel is not None and smi.user != smi.kernel:
            shown = f"nvidia-smi is {smi.user}, the module {smi.kernel}"
            yield Reason("smi_mismatch", PENDING_REBOOT, shown, "one version", "reboot the group")
    elif smi.answer == said.MISMATCH:
        library = f" (library {smi.library})" if smi.library else ""
        yield Reason(
            "smi_mismatch",
            PENDING_REBOOT,
            f"nvidia-smi: {smi.text}{library}",
            "libraries of the loaded module's version",
            "reboot the group, unless another reason here speaks against it",
            (smi.text,),
        )
    elif smi.answer == said.NO_DRIVER:
        yield Reason("not_loaded", BLOCKED, f"nvidia-smi: {smi.text}", "a driver", MODULES_FIRST, (smi.text,))
    else:
        yield _no_gpu(node, smi)


def _no_gpu(node: Node, smi: said.Smi) -> Reason:
    """The driver is loaded and shows no GPU: the kernel log has the cause."""
    causes = said.signs(node.seen.log or ())
    if said.WRONG_FLAVOUR in causes:
        code, verdict = "gpu_refuses_flavour", CONFIG
        remedy = "GB10 needs the open module: install linux-modules-nvidia-*-open of the same version, reboot the group"
    elif said.FIRMWARE in causes:
        code, verdict = "gpu_refuses_firmware", CONFIG
        remedy = (
            "the driver does not fit the firmware: finish the OTA update in the DGX Dashboard, or go back to the "
            "driver that came with the firmware and hold it; the GPU is not broken"
        )
    elif said.OUT_OF_MEMORY in causes:
        code, verdict = "gpu_out_of_memory", CONFIG
        remedy = "boot with kho=off, or a kernel before 7.0"
    else:
        code, verdict, remedy = "no_gpu", UNKNOWN, "read journalctl -k -b for lines of NVRM"
    lines = causes.get(next(iter(causes), ""), ())
    return Reason(code, verdict, f"nvidia-smi: {smi.text}", "NVIDIA GB10", remedy, evidence((smi.text, *lines)))


def _kernels(node: Node) -> Iterator[Reason]:
    boot = node.seen.boot
    late = sorted({one for one in (boot.running_kernel, boot.next_kernel) if one is not None and one.startswith("7.")})
    if late:
        yield Reason(
            "kernel_holds_memory",
            OK,
            f"kernel {', '.join(late)} keeps memory for kexec, which can leave RDMA without any",
            "CmaFree below CmaTotal in /proc/meminfo",
            "boot with kho=off, or stay with 6.17.0-1032-nvidia, on nodes of a fabric",
        )
