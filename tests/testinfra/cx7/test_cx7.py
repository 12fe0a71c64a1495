# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ConnectX-7 of every node, asked of the node itself: nothing here uses a module of the collection."""

from __future__ import annotations

import json
from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]
FUNCTIONS = ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1")
DOMAIN = {"A": "0000", "B": "0002"}


def test_four_functions_at_full_width(host: Host) -> None:
    for pci in FUNCTIONS:
        folder = f"/sys/bus/pci/devices/{pci}"
        assert host.check_output("cat %s/vendor %s/device", folder, folder).split() == ["0x15b3", "0x1021"]
        assert host.check_output("cat %s/current_link_speed", folder) == "32.0 GT/s PCIe"
        assert host.check_output("cat %s/current_link_width", folder) == "4"


def test_planned_ports_have_a_link_of_200g_and_an_active_rdma_device(facts: Facts, host: Host) -> None:
    for port in facts["node"]["ports"]:
        folder = f"/sys/bus/pci/devices/{DOMAIN[port['root']]}:01:00.{port['cage'][1]}"
        assert host.check_output(f"cat {folder}/net/*/speed") == "200000"
        assert host.check_output(f"cat {folder}/infiniband/*/ports/1/state") == "4: ACTIVE"


def test_this_boot_has_no_sign_of_a_cable_plugged_late(host: Host) -> None:
    log = host.check_output("journalctl -k -b --no-pager")
    assert "PCIe slot power capability was not advertised" not in log
    assert "Cable plugin" not in log


def test_at_most_one_automatic_reboot_for_the_same_reason_and_cabling(host: Host) -> None:
    memory = host.file("/var/lib/switchless/cx7/reboots.json")
    if not memory.exists:
        return
    seen = [
        json.dumps([entry["codes"], entry["cabling"]], sort_keys=True)
        for entry in json.loads(memory.content_string)["reboots"]
    ]
    assert len(seen) == len(set(seen))
