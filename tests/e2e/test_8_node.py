# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node under the model: driver, kernel, CUDA and the system stay as they are wanted, whatever apt and people do.

The tests go on from one another, on two nodes with apt, dpkg and GRUB of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.cluster import Cluster, Played
from tests.e2e.test_7_clocks import rest, under_load

ROLES = ("host", "nvidia_driver", "cuda", "clock_cap")
PINNED, LATER, OTHER_BRANCH = "580.173.02", "580.178.04", "590.48.01"
KERNEL = "6.17.0-1032-nvidia"
GUARDED = re.compile(r"nvidia-(?!container)|libnvidia-(?!container)|linux-")
MOVED = re.compile(r"^(?:Inst|Remv) (\S+)", re.MULTILINE)
QUIET = "DEBIAN_FRONTEND=noninteractive apt-get -y -qq"
CDI = "/etc/cdi/nvidia.yaml"
LOADED = "cat /sys/module/nvidia/version; uname -r"


def driver(pair: Cluster, *words: str) -> Played:
    return pair.play(*words, playbook="playbooks/nvidia_driver.yml")


def moved(pair: Cluster, node: str, *, guarded: bool) -> set[str]:
    """What an upgrade by hand would change, of the guarded packages or of all others."""
    said = pair.node(node, "LC_ALL=C apt-get -s dist-upgrade")
    return {name for name in MOVED.findall(said) if (GUARDED.match(name) is not None) is guarded}


def holds(pair: Cluster, node: str) -> set[str]:
    return set(pair.node(node, "apt-mark showhold").split())


def boots(pair: Cluster) -> dict[str, str]:
    return {node: said.strip() for node, said in pair.nodes("cat /proc/sys/kernel/random/boot_id").items()}


@contextmanager
def gone(pair: Cluster, node: str, path: str) -> Iterator[None]:
    """Without a file or a folder of the node, for a while."""
    pair.node(node, f"mv {path} {path}.away")
    try:
        yield
    finally:
        pair.node(node, f"mv {path}.away {path}")


def test_a_full_disk_is_seen_before_anything_is_installed(pair: Cluster) -> None:
    pair.node("spark2", "mount -t tmpfs -o size=64m tmpfs /var/cache/apt/archives")
    try:
        played = pair.play(playbook="playbooks/cuda.yml")
    finally:
        pair.node("spark2", "umount /var/cache/apt/archives")
    assert played.rc != 0
    assert played.said("spark2: cuda-toolkit-13-0, cuda-toolkit-13-3 cannot be installed. Nothing was changed.")
    assert pair.node("spark2", "dpkg-query -W -f '${Package}' 'cuda-toolkit-*' 2>/dev/null || true") == ""


def test_driver_and_toolkits_are_brought_once(pair: Cluster) -> None:
    """The system and the clock follow with site.yml, below."""
    assert {"nvidia-modprobe", "linux-image-7.0.0-1019-nvidia"} <= moved(pair, "spark1", guarded=True)
    pair.node("spark1", "apt-mark hold jq")
    played = pair.play("--tags", "nvidia_driver,cuda")
    assert played.rc == 0, played.text
    assert played.said("nvcc 13.0.88 in /usr/local/cuda-13.0", "nvcc 13.3.33 in /usr/local/cuda-13.3")
    assert played.said("nvidia-smi says CUDA 13.0: that is the newest CUDA that driver 580.173.02 has")


def test_an_upgrade_by_hand_moves_the_rest_alone(pair: Cluster) -> None:
    for node in pair.names:
        assert moved(pair, node, guarded=True) == set()
        assert {"dgx-dashboard", "nvidia-container-toolkit"} <= moved(pair, node, guarded=False)
    pair.node("spark1", f"{QUIET} dist-upgrade")
    assert moved(pair, "spark1", guarded=False) == set()
    assert pair.node("spark1", LOADED).split() == [PINNED, KERNEL]


def test_holds_that_somebody_removed_come_back(pair: Cluster) -> None:
    before = holds(pair, "spark2")
    pair.node("spark2", "apt-mark unhold nvidia-modprobe linux-nvidia-hwe-24.04")
    checked = driver(pair, "--check")
    assert (checked.rc, checked.changed["spark1"], checked.changed["spark2"]) == (0, 0, 1), checked.text
    assert holds(pair, "spark2") < before, "check mode changes nothing"
    played = driver(pair)
    assert played.rc == 0, played.text
    assert played.changed == {"spark1": 0, "spark2": 1}
    assert holds(pair, "spark2") == before


def test_gone_repositories_and_an_interrupted_dpkg_stop_their_nodes(pair: Cluster) -> None:
    """Each node is judged by itself, so one run shows both."""
    deb = "/var/lib/spark-lab/apt/spark/pool/common/dgx-dashboard_0.21.0_all.deb"
    sources = "/etc/apt/sources.list.d"
    pair.node("spark2", f"dpkg --unpack {deb}")
    try:
        with gone(pair, "spark1", sources):
            pair.node("spark1", f"mkdir {sources}")
            played = driver(pair)
            pair.node("spark1", f"rmdir {sources}")
    finally:
        pair.node("spark2", "dpkg --configure -a")
    assert played.rc != 0
    assert played.failed == {"spark1": 1, "spark2": 1}, played.text
    assert played.said("apt knows no repository that has the driver")
    assert played.said("dpkg was interrupted at dgx-dashboard", "dpkg --configure -a")
    assert not any(played.changed.values())


def test_another_driver_is_not_taken_without_leave(pair: Cluster) -> None:
    played = driver(pair, "-e", f"nvidia_driver_version={LATER}")
    assert played.rc != 0
    assert played.said(f"expected: the pinned {LATER}", "nvidia_driver_allow_change")
    missing = driver(pair, "-e", "nvidia_driver_version=580.200.01", "-e", "nvidia_driver_allow_change=true")
    assert missing.rc != 0
    assert missing.said("no repository has it for")
    assert not any({*played.changed.values(), *missing.changed.values()})


def test_site_brings_another_driver_by_one_reboot_of_all(pair: Cluster) -> None:
    newer = ("-e", f"nvidia_driver_version={LATER}", "-e", "nvidia_driver_allow_change=true")
    pair.node("spark1", f"mkdir -p /etc/cdi && nvidia-ctk cdi generate --output={CDI} && grep -q {PINNED} {CDI}")
    before = boots(pair)
    played = pair.play(*newer)
    assert played.rc == 0, played.text
    after = boots(pair)
    assert f"libcuda.so.{LATER}" in pair.node("spark1", f"cat {CDI}"), (
        "containers get the libraries of the loaded driver"
    )
    assert all(after[node] != before[node] for node in pair.names)
    assert {said.split()[0] for said in pair.nodes(LOADED).values()} == {LATER}
    again = driver(pair, *newer)
    assert again.rc == 0, again.text
    assert not any(again.changed.values()), again.text
    assert boots(pair) == after


def test_what_was_brought_is_there_after_another_reboot_and_caps_the_clock(pair: Cluster) -> None:
    for node in pair.names:
        pair.lab("poweroff", node)
    pair.lab("up")
    assert under_load(pair) == {"2190"}
    rest(pair)
    assert "passed" in pair.asked_from_outside(*ROLES, "fabric", "cx7", "transport")


def test_another_branch_that_somebody_installed_is_refused(pair: Cluster) -> None:
    """The kernel's modules of the other branch come with it, and after a reboot they are loaded."""
    held = " ".join(holds(pair, "spark2"))
    modules = f"linux-modules-nvidia-590-open-{KERNEL}"
    pair.node(
        "spark2",
        f"apt-mark unhold {held}; {QUIET} install nvidia-driver-590-open {modules}; systemctl stop lldpd; true",
    )
    pair.lab("poweroff", "spark2")
    pair.lab("up")
    assert pair.node("spark2", LOADED).split()[0] == OTHER_BRANCH
    played = driver(pair, "-e", f"nvidia_driver_version={LATER}")
    assert played.rc != 0
    assert played.said("another branch of the driver is installed", OTHER_BRANCH)
    assert not any(played.changed.values())


def test_reset_wants_to_know_what(pair: Cluster) -> None:
    for words in ((), ("--tags", "fabrik")):
        played = pair.play(*words, playbook="playbooks/reset.yml")
        assert played.rc != 0
        assert played.said("Name what to undo: --tags", "Nothing was changed.")


def test_reset_takes_all_of_it_back(pair: Cluster) -> None:
    tags = ("--tags", "report,transport,clock_cap,link_test,fabric,cx7,cabling,cuda,nvidia_driver,host")
    played = pair.play(*tags, playbook="playbooks/reset.yml")
    assert played.rc == 0, played.text
    again = pair.play(*tags, playbook="playbooks/reset.yml")
    assert again.rc == 0, again.text
    assert not any(again.changed.values()), again.text
    left = "find /etc /usr/local/lib -xdev -name '*switchless*.*'; nft list tables | grep switchless"
    assert not any(pair.nodes(f"{left}; true").values()), pair.nodes(left)
    assert holds(pair, "spark1") == {"jq"}, "what is the user's stays"
    for node in pair.names:
        assert "unmanaged" not in pair.node(node, "nmcli -t -f DEVICE,STATE device | grep ^enp1s0f0np0")
