# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings nodes give. Every verdict here is written by hand, from facts and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.preflight_findings import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._preflight.judge import CODES
from tests.unit.preflight.preflight_world import FIT, JUDGED, NOW, four, node, room

findings: Callable[..., list[dict[str, Any]]] = FilterModule().filters()["preflight_findings"]  # type: ignore[assignment]

KERNEL_7 = "7.0.0-1019-nvidia"
DKMS = ["nvidia/580.173.02, 6.17.0-1032-nvidia, aarch64: installed"]
LISTENS = {"port": 8000, "address": "0.0.0.0", "pid": 4711, "process": "vllm"}  # noqa: S104 (somebody else does)
GREETER = {"user": "gdm", "type": "wayland", "class": "greeter"}
USER = {"user": "nvidia", "type": "x11", "class": "user"}


def package(**changes: Any) -> list[dict[str, Any]]:
    return [FIT["driver"]["installed"][0] | changes]


def judged(nodes: object, **settings: Any) -> list[dict[str, Any]]:
    return findings(nodes, **({"judged_at": JUDGED} | settings))


def short(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(finding["verdict"], finding["code"]) for finding in found]


def test_four_fit_nodes_have_no_finding() -> None:
    assert judged(four()) == []


# What one of four nodes shows, and what is found of it.
ONE = [
    pytest.param({"gpu__gb10": []}, ("stop", "gb10_missing"), id="no GPU"),
    pytest.param(
        {"gpu": {"gb10": [], "others": ["0000:01:00.0 10de:2684"]}}, ("stop", "gb10_missing"), id="another GPU"
    ),
    pytest.param({"gpu": {"gb10": None, "others": None}}, ("stop", "gb10_unknown"), id="no PCI bus"),
    pytest.param({"machine_id": None}, ("warn", "machine_id_unknown"), id="empty machine ID"),
    pytest.param({"hostname": None}, ("note", "hostname_unknown"), id="no host name"),
    pytest.param({"disk": [room()]}, None, id="enough room"),
    pytest.param({"disk": [room(free_gib=100.0)]}, None, id="just enough room"),
    pytest.param({"disk": [room(free_gib=99.9)]}, ("stop", "disk_short"), id="too little room"),
    pytest.param({"disk": [room(), room("/srv/b")]}, ("stop", "disk_short"), id="enough for each and not for both"),
    pytest.param({"disk": [room(), room("/b", device=2)]}, None, id="two file systems"),
    pytest.param({"disk": [room(free_gib=1.0, present_gib=99.5)]}, None, id="a checkpoint that is there already"),
    pytest.param({"disk": [room(free_gib=1.0, present_gib=500.0)]}, None, id="more there than asked for"),
    pytest.param(
        {"disk": [room(free_gib=99.0), room("/srv/b", free_gib=99.0, present_gib=500.0)]},
        ("stop", "disk_short"),
        id="what one has too much is not the other's room",
    ),
    pytest.param({"disk": [room(free_gib=None)]}, ("warn", "disk_unknown"), id="unreadable disk"),
    pytest.param({"disk": [room(free_gib=0.0, need_gib=0.0)]}, None, id="nothing asked of a full disk"),
    pytest.param(
        {"memory__cma_total_kb": 32768, "memory__cma_free_kb": 9814671},
        ("warn", "cma"),
        id="P26: KHO, 9.36 of 0.03 GiB",
    ),
    pytest.param({"memory__cma_total_kb": 0, "memory__cma_free_kb": 0}, None, id="a kernel built without CMA"),
    pytest.param({"memory__cma_free_kb": 131072}, None, id="all of it free"),
    pytest.param({"memory__cma_total_kb": None}, ("note", "cma_unknown"), id="no CMA in meminfo"),
    pytest.param({"driver__loaded": None}, ("warn", "driver_not_loaded"), id="P16: no module"),
    pytest.param(
        {"driver__loaded": None, "driver__modules_listed": False}, ("note", "driver_unknown"), id="nobody to ask"
    ),
    pytest.param({"driver__open": False}, ("warn", "driver_proprietary"), id="P21: proprietary"),
    pytest.param({"driver__open": None}, ("note", "driver_flavour_unknown"), id="no /proc/driver"),
    pytest.param(
        {"driver__installed": package(driver="580.178.04", version="580.178.04-0ubuntu0.24.04.1")},
        ("warn", "driver_pending"),
        id="P06 P17: the next boot has another one",
    ),
    pytest.param({"driver__installed": package(driver=None)}, ("note", "driver_package_unknown"), id="P22: redacted"),
    pytest.param({"driver__installed": []}, ("note", "driver_package_unknown"), id="NVIDIA's .run file"),
    pytest.param({"driver__installed": package(held=False)}, ("note", "driver_moves"), id="PC02: not on hold"),
    pytest.param(
        {"driver__installed": package(held=False, candidate=FIT["driver"]["installed"][0]["version"])},
        None,
        id="newest",
    ),
    pytest.param({"driver__installed": package(candidate=None)}, None, id="apt offers nothing"),
    pytest.param({"memory__swap_free_kb": 16777212 - 1024 * 1024}, None, id="1 GiB of swap"),
    pytest.param({"memory__swap_free_kb": 16777212 - 1024 * 1025}, ("warn", "swap_used"), id="more than 1 GiB of swap"),
    pytest.param({"memory__swap_total_kb": 0, "memory__swap_free_kb": 0}, None, id="no swap"),
    pytest.param({"memory__swap_free_kb": None}, ("note", "swap_unknown"), id="half of what says it"),
    pytest.param({"desktop__sessions": [USER]}, ("warn", "desktop"), id="desktop"),
    pytest.param({"desktop": {"active": True, "sessions": [GREETER]}}, ("warn", "desktop"), id="login screen"),
    pytest.param({"desktop__active": None}, ("note", "desktop_unknown"), id="no systemd"),
    pytest.param({"ports": {"wanted": [8000], "taken": [LISTENS]}}, ("warn", "port_taken"), id="port taken"),
    pytest.param({"ports": {"wanted": [8000], "taken": []}}, None, id="port free"),
    pytest.param({"ports": {"wanted": [8000], "taken": None}}, ("note", "ports_unknown"), id="no /proc/net"),
    pytest.param({"secure_boot": False, "dkms": DKMS}, None, id="DKMS without secure boot"),
    pytest.param({"dkms": DKMS}, ("note", "secure_boot_dkms"), id="DKMS whose key is known"),
    pytest.param({"secure_boot": None, "dkms": DKMS}, ("note", "secure_boot_unknown"), id="DKMS without UEFI"),
    pytest.param({"secure_boot": None}, None, id="no UEFI"),
    pytest.param({"dkms": None}, ("note", "dkms_unknown"), id="DKMS that does not answer"),
    pytest.param({"dgx__version": None}, ("note", "dgx_unknown"), id="not DGX OS"),
    pytest.param({"dgx__platform": "GX10"}, None, id="another maker's board"),
    pytest.param({"dgx__torn_asked": True, "dgx__torn_score": 0}, None, id="P40: whole"),
    pytest.param({"dgx__torn_asked": True, "dgx__torn_score": 3}, ("warn", "ota_torn"), id="P40: torn"),
    pytest.param({"dgx__torn_asked": True}, ("note", "ota_unknown"), id="P40: no such tool"),
    pytest.param({"clock__ntp_synchronized": False}, ("note", "ntp_off"), id="no NTP"),
    pytest.param({"clock__ntp_synchronized": None}, ("note", "ntp_unknown"), id="no timedated"),
    pytest.param({"clock__epoch": None}, ("note", "clock_unknown"), id="no clock"),
    pytest.param({"memory__total_kb": None}, ("note", "memory_unknown"), id="no meminfo"),
    pytest.param({"kernel": None}, ("note", "kernel_unknown"), id="no kernel"),
]


@pytest.mark.parametrize(("changes", "expected"), ONE)
def test_one_node(changes: dict[str, Any], expected: tuple[str, str] | None) -> None:
    found = judged(four(**changes))
    assert short(found) == ([expected] if expected else [])
    assert all(finding["hosts"] == ["spark2"] for finding in found)


# What two nodes show side by side.
BOTH = [
    pytest.param({"machine_id": f"{1:032x}"}, ("stop", "machine_id_duplicate"), ["spark1", "spark2"], id="C4"),
    pytest.param(
        {"machine_id": f"{1:032x}", "boot_id": "b1"}, ("stop", "same_machine"), ["spark1", "spark2"], id="once"
    ),
    pytest.param(
        {"machine_id": f"{1:032x}", "boot_id": None}, ("stop", "machine_id_duplicate"), ["spark1", "spark2"], id="x"
    ),
    pytest.param({"boot_id": "b1"}, None, [], id="a boot ID alone, as containers share it"),
    pytest.param({"hostname": "spark-1"}, ("stop", "hostname_duplicate"), ["spark1", "spark2"], id="name"),
    pytest.param(
        {"hostname": "SPARK-1.lan"}, ("stop", "hostname_duplicate"), ["spark1", "spark2"], id="the same to mDNS"
    ),
    pytest.param({"hostname": "spark-1a"}, None, [], id="another name"),
    pytest.param({"dgx__version": "7.2.3"}, ("warn", "ota_differs"), None, id="B3b"),
    pytest.param({"kernel": "6.17.0-1031-nvidia"}, ("warn", "kernel_differs"), None, id="kernel"),
    pytest.param(
        {"driver__loaded": "580.178.04", "driver__installed": package(driver="580.178.04")},
        ("warn", "driver_differs"),
        None,
        id="P18",
    ),
    pytest.param({"memory__total_kb": 127600752}, None, [], id="the article's pair: a page"),
    pytest.param({"memory__total_kb": 127600748 + 1023}, None, [], id="less than a MiB, whatever it rounds to"),
    pytest.param({"memory__total_kb": 125513944}, ("warn", "memory_differs"), None, id="E9: 2 GiB"),
    pytest.param({"clock__epoch": NOW + 60}, None, [], id="less than a minute"),
    pytest.param({"clock__epoch": NOW + 64}, None, [], id="a minute at most, since nobody knows when it was read"),
    pytest.param({"clock__epoch": NOW + 70}, ("stop", "clock_skew"), None, id="ahead"),
    pytest.param({"clock__epoch": NOW - 70}, ("stop", "clock_skew"), None, id="behind"),
    pytest.param({"clock__epoch": 0.0}, ("stop", "clock_skew"), None, id="no battery"),
]


@pytest.mark.parametrize(("changes", "expected", "hosts"), BOTH)
def test_side_by_side(changes: dict[str, Any], expected: tuple[str, str] | None, hosts: list[str] | None) -> None:
    found = judged(four(**changes))
    assert short(found) == ([expected] if expected else [])
    if hosts:
        assert [finding["hosts"] for finding in found] == [hosts]
    assert all("spark2" in finding["hosts"] for finding in found)


@pytest.mark.parametrize(
    "change", ["clock__epoch", "dgx__version", "kernel", "machine_id", "hostname", "memory__total_kb"]
)
def test_one_node_is_compared_with_none(change: str) -> None:
    """As with --limit."""
    assert judged({"spark2": node(**{change: 1 if change.endswith(("epoch", "kb")) else "1"})}) == []


def test_a_slow_answer_is_no_skew() -> None:
    """A node that was asked at once and answered after two minutes, beside one that was asked then."""
    slow = {"clock": {"epoch": NOW + 120, "asked": NOW, "ntp_synchronized": True}}
    late = {"clock": {"epoch": NOW + 1, "asked": NOW + 0.5, "ntp_synchronized": True}}
    nodes = four(**slow)
    nodes["spark3"] |= late
    assert judged(nodes, judged_at=NOW + 121) == []
    assert short(judged(nodes)) == [("stop", "clock_skew")]


def test_kernel_7() -> None:
    """P05 and P26, and the cures."""
    kho = {"memory__cma_total_kb": 0, "memory__cma_free_kb": 9814671}
    seen = {f"spark{index}": node(kernel=KERNEL_7, hostname=str(index), machine_id=str(index)) for index in (1, 2)}
    assert short(judged(seen)) == [("warn", "kernel_breaks_rdma")]
    assert judged(seen)[0]["hosts"] == ["spark1", "spark2"]
    assert short(judged({"spark1": node(kernel=KERNEL_7, **kho)})) == [("warn", "cma"), ("warn", "kernel_breaks_rdma")]
    gone = {"memory__cma_total_kb": 0, "memory__cma_free_kb": 0}
    assert short(judged({"spark1": node(kernel=KERNEL_7, **gone)}))[0] == ("warn", "cma")
    assert judged({"spark1": node(kernel=KERNEL_7, **gone, memory__kho_off=True)}) == []


def test_dkms_under_secure_boot_without_a_driver() -> None:
    found = judged({"spark1": node(dkms=DKMS, driver__loaded=None)})
    assert short(found) == [("warn", "driver_not_loaded"), ("warn", "secure_boot_dkms")]


def test_a_gb10_may_be_given_up() -> None:
    nodes = four(gpu__gb10=[])
    assert short(judged(nodes, require_gb10="false")) == [("note", "gb10_missing")]
    assert short(judged(nodes, require_gb10="true")) == [("stop", "gb10_missing")]


def test_what_is_accepted_is_milder() -> None:
    nodes = four(machine_id=f"{1:032x}", desktop__sessions=[USER], hostname=None)
    assert short(judged(nodes)) == [("stop", "machine_id_duplicate"), ("warn", "desktop"), ("note", "hostname_unknown")]
    accepted = judged(nodes, accept=["machine_id_duplicate", "desktop"])
    assert short(accepted) == [("warn", "machine_id_duplicate"), ("note", "hostname_unknown"), ("note", "desktop")]
    assert short(judged(nodes, accept="machine_id_duplicate, desktop")) == short(accepted)


def test_slips_in_what_is_accepted_are_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"preflight_accept has swap, typo, expected some of clock_skew, "):
        judged(four(), accept="typo,swap")


@pytest.mark.parametrize("wrong", [None, [], {"spark1": None}, {"spark1": "x"}])
def test_input_that_is_none(wrong: object) -> None:
    with pytest.raises(AnsibleFilterError, match="mapping of hosts"):
        judged(wrong)


def test_every_code_that_stops_or_warns_can_be_accepted() -> None:
    """And no other, since a note cannot be milder."""
    cases = [case.values[0] for case in (*ONE, *BOTH)]
    found = {code for changes in cases for verdict, code in short(judged(four(**changes))) if verdict != "note"}
    assert found | {"kernel_breaks_rdma", "secure_boot_dkms"} == CODES


def test_a_finding_says_everything() -> None:
    (finding,) = judged(four(disk=[room(free_gib=1.5, path="/srv/models")]))
    assert finding == {
        "check": "disk",
        "code": "disk_short",
        "verdict": "stop",
        "hosts": ["spark2"],
        "seen": "1.5 GiB free for /srv/models",
        "expected": "100 GiB",
        "remedy": "Make room there, or name another file system",
        "text": "spark2: 1.5 GiB free for /srv/models, expected 100 GiB. Make room there, or name another file system.",
    }


def test_limits_may_be_text() -> None:
    """As -e gives them."""
    nodes = four(clock__epoch=NOW + 70, memory__swap_free_kb=16777212 - 1024 * 2000)
    assert judged(nodes, max_clock_skew_seconds="90", max_swap_used_mib="2048") == []
    assert short(judged(nodes)) == [("stop", "clock_skew"), ("warn", "swap_used")]
