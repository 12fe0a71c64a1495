# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with their verdicts and the codes of the reasons.

P and PC numbers are the collected reports of packages, D and E numbers those of whole nodes.
"""

from __future__ import annotations

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW
from tests.unit.driver.driver_world import (
    ALL_LATER,
    BLACKLIST,
    CUDA,
    DRIVER_NAMES,
    FULL,
    GUARDED,
    IMAGE_META,
    LATER,
    LATER_KERNEL,
    MODULES,
    MODULES_META,
    PORTS,
    PREAMBLE,
    PROPRIETARY,
    STAGED,
    TOOL,
    boot,
    moves,
    nvrm,
    smi,
    spark,
    with_packages,
)

FAULT, BLOCKED, CONFIG, UNKNOWN, PENDING, OK = "fault", "blocked", "config", "unknown", "pending_reboot", "ok"
NO_GPU = Result(6, "No devices were found\n")
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"
GSP = """NVRM: Xid (PCI:000f:01:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP!
NVRM: ksec2PrepareBootCommands_GB20B: SEC2 secure boot partition timed out.
NVRM: RmInitAdapter: Cannot initialize GSP firmware RM
NVRM: RmInitAdapter failed! (0x62:0x65:2028)
"""
FLAVOUR = """NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000
NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)
"""
NO_MEMORY = (
    "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from "
    "_memdescAllocInternal(pMemDesc) @ mem_desc.c:1359\n"
)
TWO_SOURCES = "nvidia-modeset: Version mismatch:\nnvidia.ko (590.48.01)\nnvidia-modeset.ko (580.142)\n"
UNMET = """Reading package lists...
Building dependency tree...
The following packages have unmet dependencies:
 linux-modules-nvidia-580-open-6.17.0-1014-nvidia : Depends: nvidia-kernel-common-580 (>= 580.142) but \
580.95.05-0ubuntu0.24.04.2 is to be installed
 linux-nvidia-hwe-24.04 : Depends: linux-image-nvidia-hwe-24.04 (= 6.17.0-1014.14) but 6.11.0-1016.16 is to be installed
 nvidia-driver-580-open : Depends: nvidia-dkms-580-open (<= 580.95.05-1)
"""
RESOLVER = "E: Error, pkgProblemResolver::Resolve generated breaks, this may be caused by held packages.\n"
OLD_610 = "| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n"
KERNEL_7 = (
    f"Inst linux-image-{BAD} ({LATER_KERNEL} Ubuntu:24.04/noble-updates [arm64])",
    f"Inst {IMAGE_META} [6.17.0-1032.32] ({LATER_KERNEL} Ubuntu:24.04/noble-updates [arm64])",
)
LATER_BOOT = boot(drivers={NEW: LATER_DRIVER})
SEVEN = {name.replace(NEW, BAD): version for name, version in with_packages().items()}
KERNEL_SEVEN = boot(running=BAD, kernels=(BAD,))

CASES = [
    ("stock, pinned and held", spark(), {}, OK, ["as_pinned"]),
    ("P01 under load", spark(smi=Result(0, smi(watts=44, busy=96))), {}, OK, ["as_pinned"]),
    (
        "P02 a newer one of the branch, wanted",
        spark(packages=ALL_LATER, proc=nvrm(LATER_DRIVER), boot=LATER_BOOT, smi=Result(0, smi(LATER_DRIVER))),
        {"version": LATER_DRIVER},
        OK,
        ["as_pinned"],
    ),
    (
        "P02 a newer one of the branch, not wanted",
        spark(packages=ALL_LATER, proc=nvrm(LATER_DRIVER), boot=LATER_BOOT, smi=Result(0, smi(LATER_DRIVER))),
        {},
        CONFIG,
        ["not_the_pin"],
    ),
    (
        "P04 610 where 580 is wanted",
        spark(
            packages=ALL_LATER | dict.fromkeys(DRIVER_NAMES, "610.43.02-1ubuntu1"),
            proc=nvrm("610.43.02"),
            boot=boot(drivers={NEW: "610.43.02"}),
            smi=Result(0, OLD_610),
        ),
        {},
        CONFIG,
        ["not_the_pin"],
    ),
    (
        "P05 P26 kernel 7.0 is a note beside a sound driver",
        spark(packages=SEVEN, status=dict.fromkeys(SEVEN, "hi"), boot=KERNEL_SEVEN),
        {},
        OK,
        ["as_pinned", "kernel_holds_memory"],
    ),
    (
        "P06 P17 libraries newer than the module, 20:13",
        spark(packages=ALL_LATER, boot=LATER_BOOT, smi=Result(18, MISMATCH + "NVML library version: 580.178\n")),
        {"version": LATER_DRIVER},
        PENDING,
        ["loaded_is_another", "smi_mismatch"],
    ),
    (
        "P30 unattended-upgrades moved the libraries, the modules of this kernel too",
        spark(packages=ALL_LATER, boot=LATER_BOOT, smi=Result(18, MISMATCH), blacklist=["nvidia-*."]),
        {"version": LATER_DRIVER},
        PENDING,
        ["loaded_is_another", "smi_mismatch", "blacklist_too_short"],
    ),
    (
        "P18 libraries newer than nvidia.ko of the next boot: a reboot does not help",
        spark(packages=ALL_LATER, smi=Result(18, MISMATCH)),
        {"version": LATER_DRIVER},
        BLOCKED,
        ["next_does_not_fit", "loaded_is_another", "smi_mismatch"],
    ),
    (
        "P08 a .run file over the packages",
        spark(proc=nvrm("590.48.01"), log=TWO_SOURCES, boot=boot(drivers={NEW: "590.48.01"})),
        {},
        FAULT,
        ["two_sources", "next_does_not_fit", "loaded_is_another"],
    ),
    (
        "P08 the same, by the files",
        spark(modules={("version", "nvidia-modeset"): "580.142"}),
        {},
        FAULT,
        ["two_sources"],
    ),
    (
        "P08 a module that no package brought",
        spark(modules={("filename", "nvidia"): f"/lib/modules/{NEW}/kernel/drivers/video/nvidia.ko"}),
        {},
        FAULT,
        ["two_sources"],
    ),
    (
        "modules built by DKMS are as good",
        spark(modules={("filename", "nvidia"): f"/lib/modules/{NEW}/updates/dkms/nvidia.ko.zst"}),
        {},
        OK,
        ["as_pinned"],
    ),
    (
        "P09 not loaded",
        spark(proc=None, boot=boot(loaded=None)),
        {},
        BLOCKED,
        ["not_loaded"],
    ),
    (
        "P09 nvidia-smi says so",
        spark(smi=Result(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")),
        {},
        BLOCKED,
        ["not_loaded"],
    ),
    (
        "P16 D3 the next kernel has no nvidia.ko",
        spark(boot=boot(kernels=(BAD, NEW), drivers={NEW: DRIVER})),
        {"kernel": BAD},
        BLOCKED,
        ["driver_missing", "to_pinned", "kernel_holds_memory"],
    ),
    (
        "D4 neither kernel has one: an installation aborted",
        spark(boot=boot(drivers={}, loaded=None), proc=None),
        {},
        BLOCKED,
        ["driver_missing", "not_loaded"],
    ),
    (
        "D4 an aborted installation left no initrd",
        spark(boot=boot(files={f"boot/initrd.img-{NEW}": ""})),
        {},
        BLOCKED,
        ["initrd_missing"],
    ),
    ("P33 another kernel is staged", spark(boot=STAGED), {}, BLOCKED, ["staged_kernel", "kernel_holds_memory"]),
    (
        "P33 the same kernel, wanted",
        spark(boot=STAGED),
        {"kernel": BAD},
        PENDING,
        ["to_pinned", "kernel_holds_memory"],
    ),
    ("P20 D1 the firmware is older", spark(smi=NO_GPU, log=GSP), {}, CONFIG, ["gpu_refuses_firmware"]),
    (
        "P21 D2 the proprietary flavour",
        spark(
            packages=with_packages("nvidia-driver-580-open", MODULES, MODULES_META)
            | {"nvidia-driver-580": FULL, f"linux-modules-nvidia-580-{NEW}": "6.17.0-1032.32"},
            status={"nvidia-driver-580": "hi", f"linux-modules-nvidia-580-{NEW}": "hi"},
            proc=nvrm(kind=PROPRIETARY),
            smi=NO_GPU,
            log=FLAVOUR,
        ),
        {},
        CONFIG,
        ["wrong_flavour_loaded", "gpu_refuses_flavour", "wrong_flavour"],
    ),
    (
        "the flavour by modinfo where /proc has no file",
        spark(proc=None, modules={("license", "nvidia"): "NVIDIA"}),
        {},
        CONFIG,
        ["wrong_flavour_loaded"],
    ),
    ("P26 no memory for the GPU", spark(smi=NO_GPU, log=NO_MEMORY), {}, CONFIG, ["gpu_out_of_memory"]),
    ("no GPU and no cause", spark(smi=NO_GPU), {}, UNKNOWN, ["no_gpu"]),
    ("the driver does not answer", spark(smi=Result(124)), {}, UNKNOWN, ["no_gpu"]),
    (
        "P22 a version that a redaction damaged",
        spark(packages=with_packages(**{"nvidia-driver-580-open": "580.173.02-0ubuntu192.0.2.10"})),
        {},
        UNKNOWN,
        ["version_unreadable"],
    ),
    (
        "P22 only configuration files of another branch are left",
        spark(
            packages=with_packages(**{"nvidia-driver-570-server": "570.86.15-0ubuntu1"}),
            status={"nvidia-driver-570-server": "rc"},
        ),
        {},
        OK,
        ["as_pinned"],
    ),
    (
        "P24 held packages that do not fit each other",
        spark(answers={("apt-get",): Result(100, UNMET, RESOLVER)}),
        {},
        BLOCKED,
        ["apt_refuses"],
    ),
    (
        "P24 a part of the family was left behind",
        spark(packages=with_packages(**{"nvidia-kernel-common-580": "580.95.05-0ubuntu0.24.04.2"})),
        {},
        CONFIG,
        ["mixed_family", "not_the_pin"],
    ),
    (
        "P25 modules of a PPA, all held",
        spark(
            packages=with_packages(**{MODULES: "6.17.0-1032.32+1000"}),
            gone=(MODULES,),
        ),
        {},
        OK,
        ["as_pinned"],
    ),
    (
        "P26 kernels held, the driver not",
        spark(status=dict.fromkeys((*DRIVER_NAMES, TOOL), "ii")),
        {},
        CONFIG,
        ["not_held"],
    ),
    (
        "PC04 holds taken off by hand",
        spark(status=dict.fromkeys(GUARDED, "ii")),
        {},
        CONFIG,
        ["not_held"],
    ),
    (
        "PC04 no hold, and a preference that keeps all",
        spark(status=dict.fromkeys(GUARDED, "ii"), priority=1001),
        {},
        OK,
        ["as_pinned"],
    ),
    (
        "PC02 an update waits, not held",
        spark(
            status={"nvidia-driver-580-open": "ii"},
            offers={"nvidia-driver-580-open": [(LATER, 501, PORTS)]},
            plan=moves(f"Inst nvidia-driver-580-open [{FULL}] ({LATER} Ubuntu:24.04/noble-updates [arm64])"),
        ),
        {},
        BLOCKED,
        ["would_move", "not_held"],
    ),
    (
        "D4 all of it marked automatic",
        spark(auto=GUARDED),
        {},
        CONFIG,
        ["marked_automatic"],
    ),
    (
        "D5 nvidia-modprobe 610 on offer",
        spark(
            status={TOOL: "ii"},
            offers={TOOL: [("610.43.02-1ubuntu1", 501, CUDA)]},
            plan=moves(f"Inst {TOOL} [580.95.05-1] (610.43.02-1ubuntu1 NVIDIA CUDA:localhost [arm64])"),
        ),
        {},
        BLOCKED,
        ["would_move", "not_held"],
    ),
    (
        "D5 nvidia-modprobe 610 installed",
        spark(packages=with_packages(**{TOOL: "610.43.02-1ubuntu1"})),
        {},
        CONFIG,
        ["tool_of_other_branch"],
    ),
    (
        "P28 deferred on this node: it comes, so it moves",
        spark(
            plan=moves(deferred=MODULES_META),
            phased=moves(f"Inst {MODULES_META} [6.17.0-1032.32] (6.17.0-1032.32+1 Ubuntu:24.04/noble-updates [arm64])"),
        ),
        {},
        BLOCKED,
        ["would_move"],
    ),
    ("P28 dnsmasq is deferred", spark(plan=moves(deferred="dnsmasq-base")), {}, OK, ["as_pinned"]),
    ("P29 kept back", spark(plan=moves(kept=IMAGE_META)), {}, OK, ["as_pinned", "kept_back"]),
    (
        "P29 held packages would change",
        spark(
            answers={
                ("apt-get",): Result(
                    100, "", "E: Held packages were changed and -y was used without --allow-change-held-packages.\n"
                )
            }
        ),
        {},
        BLOCKED,
        ["apt_refuses"],
    ),
    (
        "P30 the blacklist misses what is not held",
        spark(blacklist=["nvidia-"], status={"libnvidia-compute-580": "ii"}),
        {},
        CONFIG,
        ["not_held", "blacklist_too_short"],
    ),
    ("P32 no blacklist, all held", spark(blacklist=[]), {}, OK, ["as_pinned", "blacklist_too_short"]),
    ("no blacklist, and nothing that upgrades unattended", spark(blacklist=[], enabled="0"), {}, OK, ["as_pinned"]),
    ("a pattern that is none", spark(blacklist=[*BLACKLIST, "*nvidia"]), {}, OK, ["as_pinned"]),
    ("P34 a kernel with its modules, not wanted", spark(plan=moves(*KERNEL_7)), {}, BLOCKED, ["would_move"]),
    (
        "dpkg interrupted",
        spark(status={"nvidia-kernel-common-580": "iF", "bash": "iU"}),
        {},
        BLOCKED,
        ["dpkg_interrupted", "not_held"],
    ),
    ("dpkg's journal", spark(boot=boot(files={"var/lib/dpkg/updates/0001": ""})), {}, BLOCKED, ["dpkg_interrupted"]),
    (
        "a repository is gone",
        spark(gone=GUARDED, answers={("apt-cache", "policy", "libnvidia"): None}),
        {},
        UNKNOWN,
        ["no_repository"],
    ),
    (
        "E10 the 27 W line is no reason",
        spark(log="mlx5_core: Detected insufficient power on the PCIe slot (27W).\n"),
        {},
        OK,
        ["as_pinned"],
    ),
    (
        "590 is loaded and installed",
        spark(
            packages=ALL_LATER | dict.fromkeys(DRIVER_NAMES, "590.48.01-1ubuntu1"),
            proc=nvrm("590.48.01"),
            boot=boot(drivers={NEW: "590.48.01"}),
            smi=Result(0, smi("590.48.01", "13.1")),
        ),
        {},
        CONFIG,
        ["not_the_pin"],
    ),
    (
        "no driver at all",
        spark(packages={"bash": "5"}, proc=None, boot=boot(loaded=None, drivers={})),
        {},
        BLOCKED,
        ["driver_missing", "not_loaded", "no_driver"],
    ),
    (
        "no apt",
        spark(answers={("apt-get",): None, ("apt-cache",): None, ("apt-mark",): None, ("apt-config",): None}),
        {},
        UNKNOWN,
        ["auto_unknown", "policy_unknown", "unattended_unknown", "plan_unknown"],
    ),
    ("apt's plan has no end", spark(plan=PREAMBLE), {}, UNKNOWN, ["plan_unreadable"]),
    (
        "a line that is not understood",
        spark(plan=moves(f"Inst {MODULES_META} 6.17.0-1032.32 => 7.0.0")),
        {},
        UNKNOWN,
        ["plan_unreadable"],
    ),
    (
        "a container, as in the lab",
        spark(
            boot=boot(kernels=(), cfg=None, container="systemd-nspawn", packages="", running=NEW),
        ),
        {},
        OK,
        ["as_pinned", "container"],
    ),
]
