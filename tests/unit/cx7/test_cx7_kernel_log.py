# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of kernel logs: one log, written in each of them, says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import kernel_log
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_tree import Script, journal

LINES = (
    (0.0, "Booting Linux on physical CPU 0x0000000000 [0x410fd871]"),
    (1.15, "mlx5_core 0000:01:00.0: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)"),
    (1.53, "mlx5_core 0000:01:00.0: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W)."),
    (1.58, "mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged"),
    (20.0, "cx7-pcie-hotplug MTKP0001:00: Cable removal"),
    (100.0, "usb 1-1: new high-speed USB device"),
    (3600.0, "cx7-pcie-hotplug MTKP0001:00: Cable plugin"),
    (3605.0, "mlx5_core 0000:01:00.0: mlx5_pcie_event:322:(pid 3202): PCIe slot power capability was not advertised."),
    (3606.0, "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up"),
)
KINDS = ["probe", "module_unplugged", "hotplug_removal", "hotplug_plugin", "link_up"]
STARTED = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)


def dated(form: str) -> Callable[[float], str]:
    return lambda seconds: f"{STARTED + timedelta(seconds=seconds):{form}}"


FORMATS: dict[str, Callable[[float], str]] = {
    "dmesg": lambda seconds: f"[{seconds:12.6f}] ",
    "dmesg -T": dated("[%a %b %e %H:%M:%S %Y] "),
    "dmesg -T as posted, no year": dated("[%a %b %e %H:%M:%S] "),
    "dmesg -x": lambda seconds: f"kern  :info  : [{seconds:12.6f}] ",
    "dmesg -r": lambda seconds: f"<6>[{seconds:12.6f}] ",
    "dmesg --time-format iso": dated("%Y-%m-%dT%H:%M:%S,%f+00:00 "),
    "journalctl": dated("%b %d %H:%M:%S spark1 kernel: "),
    "journalctl -o short-monotonic": lambda seconds: f"[{seconds:12.6f}] spark1 kernel: ",
    "journalctl -o short-iso": dated("%Y-%m-%dT%H:%M:%S+0000 spark1 kernel: "),
}


@pytest.mark.parametrize("name", [*FORMATS, "journalctl -o json"])
def test_formats(name: str) -> None:
    if name in FORMATS:
        text = "".join(f"{FORMATS[name](seconds)}{line}\n" for seconds, line in LINES)
    else:
        text = journal(*LINES)
    parsed = kernel_log.parse(text)
    found = kernel_log.find(parsed.lines)
    assert [event.kind for event in found.events] == KINDS
    assert [(power.status, power.watts, power.pid) for power in found.slot_power] == [
        ("insufficient", 27, 12),
        ("not_advertised", None, 3202),
    ]
    assert (parsed.complete, parsed.clock) == (True, "boot")
    plugin = found.events[3]
    assert plugin.seconds == pytest.approx(3600.0, abs=1.0)


def test_priorities() -> None:
    assert kernel_log.parse(journal((1.0, "x"), priority=4)).lines[0].priority == 4
    assert kernel_log.parse("<4>[    1.0] x").lines[0].priority == 4
    assert kernel_log.parse("kern  :warn  : [    1.0] x").lines[0].priority == 4
    assert kernel_log.parse("[    1.0] x").lines[0].priority is None


def test_records_of_others_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading JSON is what takes the time, and a journal is mostly of others; what is found is the same."""
    read: list[str] = []
    loads = json.loads
    monkeypatch.setattr(kernel_log.json, "loads", lambda text: read.append(text) or loads(text))
    ours = [(line.seconds or 0.0, line.text) for line in kernel_log.parse(log.B5).lines]
    mixed = [line for one in ours for line in (one, *((one[0], f"usb 1-1: reset {number}") for number in range(20)))]
    found = kernel_log.parse(journal(*mixed))
    assert len(read) < len(ours) + 2
    plain = kernel_log.find(kernel_log.parse(log.B5).lines)
    assert [event.text for event in kernel_log.find(found.lines).events] == [event.text for event in plain.events]
    assert (found.clock, found.complete) == ("boot", True)


def test_a_journal_without_a_line_of_the_nic_still_says_where_it_begins() -> None:
    assert kernel_log.parse(journal((0.0, "Booting Linux"), (1.0, "usb 1-1: reset"))).complete
    assert not kernel_log.parse(journal((90.0, "usb 1-1: reset"), (91.0, "usb 1-2: reset"))).complete


def test_bytes_in_the_journal() -> None:
    """A message that is not UTF-8 comes as a list of bytes."""
    text = "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged"
    record = {"MESSAGE": [*text.encode(), 255], "__MONOTONIC_TIMESTAMP": "5"}
    line = kernel_log.parse(json.dumps(record)).lines[0]
    assert line.text == text + "�"
    assert line.seconds == pytest.approx(5e-6)


@pytest.mark.parametrize("text", ["{not json", "[]", "{}", '{"MESSAGE": null}', "", "-- No entries --\n"])
def test_rubbish(text: str) -> None:
    found = kernel_log.find(kernel_log.parse(text).lines)
    assert (found.events, found.slot_power) == ((), ())


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (log.HEALTHY, True),
        ("[    0.900000] x\n", True),
        ("[ 3600.100000] x\n", False),
        ("Aug  7 03:13:00 spark1 kernel: Linux version 6.17.0-1032-nvidia\n", True),
        ("Aug  7 03:13:00 spark1 kernel: x\n", False),
        (log.A2, False),
        ("", False),
    ],
)
def test_complete(text: str, complete: bool) -> None:
    assert kernel_log.parse(text).complete is complete


def test_clock_of_dates_counts_from_the_first_line() -> None:
    parsed = kernel_log.parse(log.B3B)
    assert parsed.clock == "first_line"
    removal = next(event for event in kernel_log.find(parsed.lines).events if event.kind == "hotplug_removal")
    assert (removal.seconds, removal.stamp) == (16.0, "11:33:27")


SLOT = "PCIe slot power capability was not advertised."


@pytest.mark.parametrize(
    "line",
    [
        f"mlx5_core 0000:01:00.0: mlx5_pcie_event:322:(pid 12): {SLOT}",
        f"mlx5_core 0000:01:00.0: mlx5_pcie_event:290: {SLOT}",
        f"mlx5_core 0000:01:00.0: mlx5_pcie_event:334:(pid 3202): {SLOT}",
        f"mlx5_core 0000:01:00.0: mlx5_pcie_event: {SLOT}",
        f"mlx5_core 0000:01:00.0 enp1s0f0np0: mlx5_pcie_event:322:(pid 12): {SLOT}",
        f"mlx5_pcie_event: {SLOT}",
    ],
)
def test_slot_power_lines(line: str) -> None:
    found = kernel_log.find(kernel_log.parse(f"[  1.5] {line}").lines)
    assert [power.status for power in found.slot_power] == ["not_advertised"]
    assert found.slot_power[0].pci == ("0000:01:00.0" if "0000" in line else None)


def test_a_server_with_enough_power() -> None:
    line = "mlx5_core 0000:01:00.0: mlx5_pcie_event:310:(pid 7): PCIe slot advertised sufficient power (75W)."
    found = kernel_log.find(kernel_log.parse(line).lines)
    assert [(power.status, power.watts) for power in found.slot_power] == [("sufficient", 75)]


@pytest.mark.parametrize(
    ("line", "kind", "root", "cage", "detail"),
    [
        (
            "mlx5_core 0002:01:00.1: Port module event: module 1, Cable plugged",
            "module_plugged",
            "B",
            "p1",
            "Cable plugged",
        ),
        (
            "mlx5_core 0002:01:00.0: Port module event: module 1, Cable plugged",
            "module_plugged",
            "B",
            "p1",
            "Cable plugged",
        ),
        (
            "mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, Bus stuck(I2C or data shorted)",
            "module_error",
            "A",
            "p0",
            "Cable error, Bus stuck(I2C or data shorted)",
        ),
        ("mlx5_core 0000:01:00.0: High temperature on sensors with bit set 0 1", "high_temperature", "A", "p0", None),
        ("mlx5_core 0000:01:00.0 net-aerial00: Link down", "link_down", "A", "p0", None),
        ("mlx5_core 0000:01:00.0: firmware version: 28.45.4028", "probe", "A", "p0", "28.45.4028"),
        ("pci 0002:00:00.0: retraining failed", "retraining_failed", "B", None, "retraining failed"),
        ("pcieport 0000:00:00.0: AER: Uncorrectable (F...", "aer_fatal", "A", None, "F"),
        (
            "pcieport 0000:00:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer",
            "aer_uncorrectable",
            "A",
            None,
            None,
        ),
        ("pcieport 0000:00:00.0: PCIe Bus Error: severity=Correctable", "aer_correctable", "A", None, None),
        ("cx7-pcie-hotplug MTKP0001:00: Hotplug disabled", "hotplug_disabled", None, None, None),
    ],
)
def test_events(line: str, kind: str, root: str | None, cage: str | None, detail: str | None) -> None:
    (event,) = kernel_log.find(kernel_log.parse(line).lines).events
    assert (event.kind, event.root, event.cage) == (kind, root, cage)
    if detail is not None:
        assert event.detail == detail


@pytest.mark.parametrize(
    "line",
    [
        log.GPU,
        "pcieport 0004:00:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal)",
        "mlx5_core 0000:01:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 195312Mbps",
        'audit: comm="mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged"',
        "someone wrote: cx7-pcie-hotplug MTKP0001:00: Cable plugin",
    ],
)
def test_lines_of_others(line: str) -> None:
    found = kernel_log.find(kernel_log.parse(line).lines)
    assert (found.events, found.slot_power) == ((), ())


def test_unknown_warnings_are_kept() -> None:
    line = "mlx5_core 0000:01:00.0: poll_health:802:(pid 0): device's health compromised"
    assert [event.kind for event in kernel_log.find(kernel_log.parse(f"<3>[ 1.0] {line}").lines).events] == ["other"]


def test_a_flood_is_cut_in_the_middle() -> None:
    flood = "".join(f"[ {n}.0] mlx5_core 0000:01:00.0 enp1s0f0np0: Link down\n" for n in range(5000))
    found = kernel_log.find(kernel_log.parse(flood + log.A2).lines)
    assert [event.seconds for event in found.events[:40:39]] == [0.0, 4999.0]
    assert (len(found.events), found.events_omitted) == (43, 4960)


def test_sources() -> None:
    warnings: list[str] = []
    script = Script({"journalctl": Result(0, journal(*LINES)), "dmesg": Result(0, log.HEALTHY)})
    assert kernel_log.read(script, warnings)[1] == "journal"
    fields = "--output-fields=MESSAGE,PRIORITY,_SOURCE_MONOTONIC_TIMESTAMP"
    assert script.asked == [("journalctl", "-k", "-b", "-o", "json", "--no-pager", fields)]
    script = Script({"journalctl": Result(1, "", "No journal files were found."), "dmesg": Result(0, log.HEALTHY)})
    assert kernel_log.read(script, warnings)[1] == "dmesg"
    assert script.asked[-1] == ("dmesg",)
    assert warnings == []
    script = Script({"dmesg": Result(1, "", "dmesg: read kernel buffer failed: Operation not permitted")})
    found, source = kernel_log.read(script, warnings)
    assert (found.lines, found.complete, source) == ((), False, "none")
    assert "Operation not permitted" in warnings[0]
