# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do, in words, for each code that health gives."""

from __future__ import annotations

_REBOOT_ALL = (
    "Reboot all nodes of the fabric at the same time with all cables seated: "
    "a peer that goes down makes a node drop its NIC."
)
_MEASURE = "Measure both directions of each PCIe root by RDMA, with no other load on the link."

REMEDIES: dict[str, str] = {
    "too_early": "Look again in half a minute.",
    "uptime_unknown": "Look at /proc/uptime on the node.",
    "unreadable": "Look again; if it stays so, look at the kernel log for what the driver says.",
    "no_cable": "",
    "not_in_use": "",
    "retraining_failed": "Power the node off at the brick for a minute. If it comes back: field diagnostics, then RMA.",
    "aer_fatal": "Reboot the node. If it comes back: field diagnostics, then RMA.",
    "function_missing": "Shut down, take the power brick out for a minute, start again. If it stays so: RMA.",
    "nic_vanished": "Shut down, take the power brick out for a minute, start again. If it comes back: RMA.",
    "nic_absent": "Shut down, take the power brick out for a minute, start with the cable seated. If it stays so: RMA.",
    "hotplug_removed_nic": (
        "The driver does not recognise the cable. Disarm hot-plug (remove /etc/nvidia/cx7-hotplug-enabled), reboot "
        "with the cable seated; if it stays so, try a cable from NVIDIA's list."
    ),
    "nic_dropped": f"{_REBOOT_ALL} Disarm hot-plug (remove /etc/nvidia/cx7-hotplug-enabled) so that it stays away.",
    "peer_dropped": _REBOOT_ALL,
    "cable_missing": (
        "Check that the far node is on, and that both ends of the cable are the right way up and seated until they "
        "click. Then reboot all nodes of the fabric at the same time: a cable plugged while a node runs is slow."
    ),
    "admin_down": "Set the interface up.",
    "module_error": "Take the cable out, look at both plugs, seat it again or replace it. Then reboot all nodes.",
    "twin_down": "Set both interfaces of the cage up; if one has no link then, reboot all nodes. If it stays so: RMA.",
    "link_rate_collapsed": f"Seat the cable again at both ends. {_REBOOT_ALL}",
    "link_rate_low": "Replace the cable by one for 200 Gb/s; on a switch, force the port to 200G.",
    "rdma_missing": "Load the kernel module mlx5_ib; install rdma-core.",
    "rdma_down": "Set the interface down and up again; if it stays so, reboot all nodes at the same time.",
    "link_layer": "Set LINK_TYPE of both ports to Ethernet.",
    "link_flaps": "Seat the cable again at both ends, or replace it.",
    "pcie_width": "Update the maker's system firmware (SBIOS); a reboot alone does not help.",
    "pcie_speed": "Shut down, take the power brick out for a minute, start again; then update the system firmware.",
    "not_advertised": _REBOOT_ALL,
    "hotplug": _REBOOT_ALL,
    "plugged_late": _REBOOT_ALL,
    "throttled": _REBOOT_ALL,
    "peer_throttled": f"The peer is the one to cure. {_REBOOT_ALL}",
    "power_drain": (
        "A reboot did not help. By hand, for all nodes of the fabric: shut down, take the power bricks out for "
        "at least 60 seconds with the cables left in, start all nodes together, then run this again."
    ),
    "not_measured": _MEASURE,
    "no_result": f"{_MEASURE} No result is often a wrong GID, or a server that was not there.",
    "tcp_proves_nothing": _MEASURE,
    "bandwidth_degraded": f"Look for other load, for an MTU of 1500 and for link losses. {_MEASURE}",
    "bandwidth_unexplained": f"Look for lost packets, for a switch in between and for other load. {_MEASURE}",
    "mtu": "Run the fabric role.",
    "networkmanager": "Run the fabric role, which takes the ports from NetworkManager.",
}
