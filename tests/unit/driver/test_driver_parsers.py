# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each program says, as it says it: dpkg, apt-cache, apt-config, apt's history, nvidia-smi, the kernel log."""

from __future__ import annotations

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._driver import (
    history,
    packages,
    policy,
    said,
    unattended,
)
from ansible_collections.switchless.spark.plugins.module_utils._driver.family import Member, member, of_branch
from ansible_collections.switchless.spark.plugins.module_utils._driver.policy import Offer, Policy
from ansible_collections.switchless.spark.plugins.module_utils._driver.said import Smi
from ansible_collections.switchless.spark.plugins.module_utils._driver.unattended import Unattended
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result
from tests.unit.driver.driver_world import REPOSITORIES, nvrm, smi

PC02 = """nvidia-driver-580-open:
  Installed: 580.173.02-0ubuntu0.24.04.1
  Candidate: 580.178.04-0ubuntu0.24.04.1
  Version table:
     580.178.04-0ubuntu0.24.04.1 500 (phased 40%)
        500 http://ports.ubuntu.com/ubuntu-ports noble-updates/restricted arm64 Packages
 *** 580.173.02-0ubuntu0.24.04.1 500
        500 http://ports.ubuntu.com/ubuntu-ports noble-security/restricted arm64 Packages
        100 /var/lib/dpkg/status
nvidia-driver-580-server:
  Installed: (none)
  Candidate: 580.178.04-0ubuntu0.24.04.1
"""
NEW, OLD = "580.178.04-0ubuntu0.24.04.1", "580.173.02-0ubuntu0.24.04.1"
SECURITY = "http://ports.ubuntu.com/ubuntu-ports noble-security/restricted arm64 Packages"
UPDATES = "http://ports.ubuntu.com/ubuntu-ports noble-updates/restricted arm64 Packages"


def test_policy() -> None:
    """PC02. The numbers before the addresses are priorities; a package that apt does not know is not in its answer."""
    assert policy.parse(PC02) == {
        "nvidia-driver-580-open": Policy(
            OLD, NEW, (Offer(NEW, 500, 40, (UPDATES,)), Offer(OLD, 500, None, (SECURITY, "/var/lib/dpkg/status")))
        ),
        "nvidia-driver-580-server": Policy(None, NEW),
    }
    assert policy.parse("") == {}


def test_a_priority_of_580_is_no_branch() -> None:
    table = "nvidia-modprobe:\n  Installed: (none)\n  Candidate: 610.43.02-1\n  Version table:\n     610.43.02-1 580\n"
    (offer,) = policy.parse(table + "        580 file:/repo ./ Packages\n")["nvidia-modprobe"].offers
    assert offer == Offer("610.43.02-1", 580, None, ("file:/repo ./ Packages",))


def test_a_pin_below_zero_is_read() -> None:
    head = "x:\n  Installed: 1\n  Candidate: 1\n  Version table:\n"
    found = policy.parse(f"{head}     2 -1\n         -1 file:/repo ./ Packages\n *** 1 1001\n")["x"]
    assert [(offer.version, offer.priority) for offer in found.offers] == [("2", -1), ("1", 1001)]
    assert found.pinned
    assert not policy.parse(PC02)["nvidia-driver-580-open"].pinned


def test_origins_are_labels_where_apt_has_them() -> None:
    repositories = policy.parse_repositories(REPOSITORIES)
    cuda = next(source for source in repositories if "nvidia" in source)
    assert policy.origins([UPDATES, cuda, "/var/lib/dpkg/status", SECURITY], repositories) == (
        "Ubuntu noble-updates",
        "NVIDIA CUDA",
        SECURITY,
    )


def test_dpkg() -> None:
    """P22, and the states of an interrupted run."""
    text = "hi \tnvidia-driver-580-open\tarm64\t1\nrc \tnvidia-driver-570-server\tarm64\t2\niFR\tbash\tarm64\t3\n"
    bash, old, driver = packages.parse(text)
    assert [(one.name, one.installed, one.finished, one.held) for one in (driver, old, bash)] == [
        ("nvidia-driver-580-open", True, True, True),
        ("nvidia-driver-570-server", False, True, False),
        ("bash", True, False, False),
    ]
    assert packages.parse("un \tnothing\t\t\n")[0].installed is False


def test_marks() -> None:
    """PC04: what apt-mark says while it works are sentences."""
    said_by_mark = "nvidia-driver-580-open set on hold.\nCanceled hold on nvidia-driver-580-open.\n"
    assert packages.parse_names(said_by_mark) == frozenset()
    assert packages.parse_names("docker-compose-plugin\nlibc6:arm64\n\n") == {"docker-compose-plugin", "libc6"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia-driver-580-open", Member("driver", 580, True)),
        ("nvidia-driver-580", Member("driver", 580, False)),
        ("nvidia-driver-570-server-open", Member("driver", 570, True)),
        ("nvidia-dkms-open", Member("driver", None, True)),  # from branch 590 on
        ("nvidia-open", Member("driver", None, True)),
        ("cuda-drivers", Member("driver")),
        ("nvidia-kernel-common-580", Member("driver", 580)),
        ("libnvidia-compute-580", Member("driver", 580)),
        ("nvidia-firmware-580-580.173.02", Member("firmware", 580)),
        ("linux-modules-nvidia-580-open-6.17.0-1032-nvidia", Member("modules", 580, True, "6.17.0-1032-nvidia")),
        ("linux-modules-nvidia-580-open-nvidia-hwe-24.04", Member("modules", 580, True)),
        ("linux-modules-nvidia-580-6.17.0-1032-nvidia", Member("modules", 580, False, "6.17.0-1032-nvidia")),
        ("nvidia-modprobe", Member("tool")),
        ("linux-image-7.0.0-1019-nvidia", Member("kernel", kernel="7.0.0-1019-nvidia")),
        ("linux-image-nvidia-hwe-24.04", Member("kernel")),
        ("linux-nvidia-hwe-24.04", Member("kernel")),
        ("linux-modules-nvidia-fs-nvidia-hwe-24.04", Member("kernel")),
        # what the driver's pins must not touch
        ("nvidia-container-toolkit", None),
        ("libnvidia-container1", None),
        ("libnccl2", None),
        ("cuda-toolkit-13-3", None),
        ("libnvidia-egl-wayland1", None),
        ("nvidia-driver-pinning-580", None),
        ("nvidia-spark-mlnx-firmware-manager", None),
        ("linux-firmware", None),
        ("linux-libc-dev", None),
    ],
)
def test_family(name: str, expected: Member | None) -> None:
    assert member(name) == expected


def test_of_another_branch() -> None:
    names = ("nvidia-driver-580-open", "linux-modules-nvidia-580-open-6.17.0-1032-nvidia", "nvidia-modprobe", "bash")
    assert [of_branch(name, 590) for name in names] == [
        "nvidia-driver-590-open",
        "linux-modules-nvidia-590-open-6.17.0-1032-nvidia",
        "nvidia-modprobe",
        "bash",
    ]


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("nvidia-", False),
        ("nvidia-*.", False),  # P30, whose author thought it would do
        ("libnvidia-compute-", True),
        (".*nvidia", True),
        ("compute", False),  # from the beginning, not anywhere
        ("libnvidia-compute-470$", True),
        ("[", False),
    ],
)
def test_blacklist_is_matched_as_python_does(pattern: str, covered: bool) -> None:
    assert Unattended(True, (pattern,)).covers("libnvidia-compute-470") is covered


def test_unattended_upgrades() -> None:
    text = (
        'APT "";\nAPT::Periodic "";\nAPT::Periodic::Unattended-Upgrade "1";\n'
        'Unattended-Upgrade::Package-Blacklist "";\nUnattended-Upgrade::Package-Blacklist:: "nvidia-";\n'
        'unattended-upgrade::package-blacklist:: "linux-";\n'
    )
    assert unattended.parse(text) == Unattended(True, ("nvidia-", "linux-"))
    assert unattended.parse(text.replace('Upgrade "1"', 'Upgrade "0"')).enabled is False
    assert unattended.parse(text + 'APT::Periodic::Enable "0";\n').enabled is False
    assert unattended.parse("") == Unattended(False)


def test_history() -> None:
    """P33. Two spaces between date and time; other packages are left out, and so is a paragraph without a beginning."""
    text = (
        "Upgrade: nvidia-driver-580-open:arm64 (1, 2)\nEnd-Date: 2026-09-01  10:00:00\n\n"
        "Start-Date: 2026-09-02  10:00:00\nCommandline: apt install jq\nInstall: jq:arm64 (1.7)\n\n"
        "Start-Date: 2026-09-11  23:53:56\nCommandline: aptdaemon role='role-upgrade-system'\n"
        "Install: linux-image-7.0.0-1019-nvidia:arm64 (7.0.0-1019.19~24.04.2, automatic), jq:arm64 (1.7, automatic)\n"
        "Upgrade: linux-image-nvidia-hwe-24.04:arm64 (6.17.0-1032.32, 7.0.0-1019.19~24.04.2)\n"
        "End-Date: 2026-09-11  23:55:01\n"
    )
    (entry,) = history.parse(text)
    assert entry.as_dict() == {
        "date": "2026-09-11 23:53:56",
        "command": "aptdaemon role='role-upgrade-system'",
        "changes": (
            "install linux-image-7.0.0-1019-nvidia 7.0.0-1019.19~24.04.2",
            "upgrade linux-image-nvidia-hwe-24.04 6.17.0-1032.32 -> 7.0.0-1019.19~24.04.2",
        ),
    }


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result(0, smi()), Smi("gpu", "580.173.02", "580.173.02", "13.0")),  # P01
        (Result(0, smi("580.178.04", watts=11, busy=0)), Smi("gpu", "580.178.04", "580.178.04", "13.0")),  # P02
        (
            Result(0, "| NVIDIA-SMI 610.43.02      KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n"),  # P04
            Smi("gpu", "610.43.02", "610.43.02", "13.3"),
        ),
        (
            Result(18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"),
            Smi("mismatch", library="580.126", text="Failed to initialize NVML: Driver/library version mismatch"),
        ),  # P06
        (
            Result(18, "", "Failed to initialize NVML: Driver/library version mismatch\n"),
            Smi("mismatch", text="Failed to initialize NVML: Driver/library version mismatch"),
        ),
        (
            Result(1, "", "nvidia-container-cli: initialization error: nvml error: driver not loaded\n"),  # P09
            Smi("no_driver", text="nvidia-container-cli: initialization error: nvml error: driver not loaded"),
        ),
        (Result(6, "No devices were found\n"), Smi("no_device", text="No devices were found")),  # P20
        (Result(124), Smi("no_answer", text="nvidia-smi did not answer in 20 s")),
        (
            Result(255, "Unable to determine the device handle\n"),
            Smi("other", text="Unable to determine the device handle"),
        ),
        (Result(COMMAND_NOT_FOUND), None),
    ],
)
def test_nvidia_smi(result: Result, expected: Smi | None) -> None:
    assert said.parse_smi(result) == expected


def test_loaded_module() -> None:
    assert said.parse_module(nvrm()) == ("580.173.02", True)
    proprietary = "NVRM version: NVIDIA UNIX aarch64 Kernel Module  580.142  Tue May  5 10:04:52 UTC 2026"
    assert said.parse_module(proprietary) == ("580.142", False)
    assert said.parse_module("nonsense") == said.parse_module(None) == (None, None)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("nvidia-modeset: Version mismatch:", "two_sources"),
        ("NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000", "wrong_flavour"),
        ("NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)", "wrong_flavour"),
        ("NVRM: ksec2PrepareBootCommands_GB20B: SEC2 secure boot partition timed out.", "firmware"),
        ("NVRM: RmInitAdapter failed! (0x62:0x65:2028)", "firmware"),
        ("NVRM: x: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from y", "out_of_memory"),
        ("NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.173.02", None),
        ("mlx5_core 0000:01:00.0: Detected insufficient power on the PCIe slot (27W).", None),  # E10
    ],
)
def test_causes_in_the_kernel_log(line: str, cause: str | None) -> None:
    found = said.signs(said.driver_lines(f"{line}\n{line}\n"))
    assert found == ({cause: (line,)} if cause else {})


def test_dkms() -> None:
    """P15: nothing on a stock Spark. Both ways in which DKMS has written its lines."""
    assert said.parse_dkms("") == ()
    lines = ("nvidia/580.173.02, 6.17.0-1032-nvidia, aarch64: installed", "nvidia, 580.142, 6.14.0, aarch64: built")
    assert said.parse_dkms("zfs/2.2.2, 6.8.0: installed\n" + "\n".join(lines)) == lines
