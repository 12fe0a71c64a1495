#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cx7_info
short_description: Tells what a DGX Spark's ConnectX-7 shows
version_added: 0.1.0
description:
  - Reads everything that a node shows of its ConnectX-7 in one run and changes nothing.
  - The functions are found by their PCI id C(15b3:1021) and told apart by PCI address. Names of netdevs and RDMA
    devices are for reporting.
  - Hardware that is not there is an empty list. Files that vanish or answer C(EINVAL) are nulls. Neither is an error.
  - Never rescans the PCI bus. No MST tool is run unless O(read_slot_power_register=true).
  - Judging is left to M(switchless.spark.cx7_health).
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  sysfs_root:
    description:
      - Where sysfs is mounted, or a copy of one.
    type: path
    default: /sys
  kernel_log:
    description:
      - A file on the node with a kernel log to read instead of the log of the running boot.
      - The output of C(dmesg), C(dmesg -T), C(journalctl -k -b) or C(journalctl -k -b -o json), which is detected.
    type: path
  lldp:
    description:
      - Whether to ask lldpd who is at the other end of each cable.
    type: bool
    default: true
  lldp_config:
    description:
      - A file on the node whose text is returned, so that one run also says whether what lldpd announces is right.
    type: path
  settle_seconds:
    description:
      - Wait until this many seconds have passed since boot. A NIC without cables is taken off the bus 5 to 22 seconds
        after boot, so that earlier looks show functions that are about to go.
      - V(0) does not wait.
    type: int
    default: 30
  read_slot_power_register:
    description:
      - Whether to read the register MPEIN of each function with C(mstreg) or C(mlxreg), whichever is installed.
      - Refused with a warning when this boot had a hot-plug event, or when its log does not reach back to the boot,
        because these tools can then crash the kernel.
    type: bool
    default: false
seealso:
  - module: switchless.spark.cx7_health
"""

EXAMPLES = r"""
- name: Look at the NIC
  switchless.spark.cx7_info:
  register: nic

- name: Show which netdev and RDMA device belong to which cage and PCIe root
  ansible.builtin.debug:
    msg: "{{ item.cage }} {{ item.root }}: {{ item.netdev }} {{ item.rdma }} carrier {{ item.carrier }}"
  loop: "{{ nic.cx7.functions }}"

- name: Look at what somebody sent in
  switchless.spark.cx7_info:
    sysfs_root: /tmp/report/sys
    kernel_log: /tmp/report/dmesg.txt
    lldp: false
    settle_seconds: 0
"""

RETURN = r"""
cx7:
  description: What the node shows. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    functions:
      description: The PCI functions of the ConnectX-7, sorted by cage and root. Empty when there is none on the bus.
      type: list
      elements: dict
      contains:
        pci:
          description: PCI address.
          type: str
          sample: "0000:01:00.0"
        root:
          description: PCIe root, V(A) for PCI domain 0000 and V(B) for 0002.
          type: str
          sample: A
        cage:
          description: Cage by PCI function number.
          type: str
          sample: p0
        phys_port_name:
          description: Cage as the driver names it. A warning is given when it disagrees with RV(cx7.functions[].cage).
          type: str
          sample: p0
        phys_switch_id:
          description: The same for all functions of one ASIC.
          type: str
        netdev:
          description: Network interface.
          type: str
          sample: enp1s0f0np0
        mac:
          description: Current MAC address.
          type: str
        mac_permanent:
          description: MAC address that the NIC was made with.
          type: str
        rdma:
          description: RDMA device.
          type: str
          sample: rocep1s0f0
        admin_up:
          description: Whether the interface is set up.
          type: bool
        carrier:
          description: Whether it has a link. Null when it cannot be read, as on an interface that is not set up.
          type: bool
        operstate:
          description: Operational state.
          type: str
          sample: up
        speed_mbps:
          description: Link speed in Mb/s. Null without a link.
          type: int
          sample: 200000
        mtu:
          description: MTU in bytes.
          type: int
          sample: 9000
        carrier_changes:
          description: How often the carrier came or went.
          type: int
        carrier_down_count:
          description: How often the carrier went.
          type: int
        link_layer:
          description: Link layer of the RDMA port.
          type: str
          sample: Ethernet
        ib_state:
          description: State of the RDMA port.
          type: str
          sample: ACTIVE
        ib_phys_state:
          description: Physical state of the RDMA port.
          type: str
          sample: LinkUp
        ib_rate_gbps:
          description: Rate of the RDMA port in Gb/s. On a port that is down this is a placeholder of 40.
          type: float
          sample: 200.0
        pcie_speed_gts:
          description: Current PCIe speed in GT/s.
          type: float
          sample: 32.0
        pcie_width:
          description: Current PCIe width in lanes.
          type: int
          sample: 4
        pcie_max_speed_gts:
          description: PCIe speed that the function can do, in GT/s.
          type: float
        pcie_max_width:
          description: PCIe width that the function can do, in lanes.
          type: int
        firmware:
          description: Firmware version.
          type: str
          sample: 28.45.4028
        gids:
          description: The entries of the GID table that are in use, by index. Indexes drift, so look up by address.
          type: list
          elements: dict
          sample:
            - index: 3
              gid: "0000:0000:0000:0000:0000:ffff:c0a8:640a"
              type: RoCE v2
              ipv4: 192.168.100.10
              netdev: enp1s0f0np0
        networkmanager:
          description: State in NetworkManager. Null when NetworkManager does not run or does not know the interface.
          type: str
          sample: unmanaged
        lldp:
          description: Neighbour that lldpd heard on this interface.
          type: dict
          contains:
            chassis_name:
              description: Name of the other node.
              type: str
              sample: spark2
            chassis_id:
              description: Identifier of the other node.
              type: str
            port_id:
              description: Identifier of its port, as a rule the MAC address.
              type: str
            port_description:
              description: Description of its port, as a rule the netdev.
              type: str
              sample: enp1s0f1np1
            ttl_seconds:
              description: How long the announcement holds.
              type: int
              sample: 120
        raw:
          description: The text of each file that was read, null for one that could not be read.
          type: dict
    root_ports:
      description: The two PCIe root ports above the functions. One at 2.5 GT/s with no function has powered down.
      type: list
      elements: dict
      contains:
        root:
          description: PCIe root.
          type: str
          sample: A
        pci:
          description: PCI address.
          type: str
          sample: "0000:00:00.0"
        pcie_speed_gts:
          description: Current PCIe speed in GT/s.
          type: float
          sample: 32.0
        pcie_width:
          description: Current PCIe width in lanes.
          type: int
          sample: 4
        raw:
          description: The text of each file that was read.
          type: dict
    hotplug:
      description: The driver that takes a NIC without cables off the bus.
      type: dict
      contains:
        armed:
          description: Whether the marker file is there, which arms hot-plug at boot.
          type: bool
        marker:
          description: Path of the marker file.
          type: str
          sample: /etc/nvidia/cx7-hotplug-enabled
        driver:
          description: Whether the driver is there.
          type: bool
        enabled:
          description: Whether it is enabled now. Stays so until the next boot when the marker is removed.
          type: bool
        powered:
          description: Whether the NIC has power.
          type: bool
        raw:
          description: The text of each file that was read.
          type: dict
    events:
      description: Lines of this boot's kernel log that concern the NIC, in the order of the log.
      type: list
      elements: dict
      contains:
        kind:
          description:
            - What happened, V(probe), V(hotplug_plugin), V(hotplug_removal), V(hotplug_ready), V(hotplug_enabled),
              V(hotplug_disabled), V(module_plugged), V(module_unplugged), V(module_error), V(module_other), V(link_up),
              V(link_down), V(high_temperature), V(eswitch_cleanup), V(slot_reset), V(retraining_failed), V(aer_fatal),
              V(aer_uncorrectable), V(aer_correctable), or V(other) for a warning that no rule knows.
          type: str
          sample: module_plugged
        text:
          description: The line without its prefix.
          type: str
          sample: "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged"
        seconds:
          description: When, in seconds since what RV(cx7.log_clock) says.
          type: float
          sample: 3605.2
        stamp:
          description: When, as the log writes it, where it has dates.
          type: str
        pci:
          description: PCI address that the line names.
          type: str
        root:
          description: PCIe root of that address.
          type: str
        cage:
          description: Cage by module number where the line names one, otherwise by PCI function.
          type: str
          sample: p0
        detail:
          description: What the line says beyond its kind.
          type: str
          sample: Cable plugged
        priority:
          description: Syslog level, where the log has it.
          type: int
          sample: 6
    events_omitted:
      description: How many events were left out between the first and the last 20 of one kind on one function.
      type: int
    slot_power:
      description:
        - Slot power lines of this boot's kernel log.
        - V(insufficient) with 27 W is printed by healthy Sparks on every boot.
      type: list
      elements: dict
      contains:
        status:
          description: V(not_advertised), V(sufficient) or V(insufficient).
          type: str
          sample: insufficient
        text:
          description: The line without its prefix.
          type: str
          sample: >-
            mlx5_core 0000:01:00.0: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W).
        watts:
          description: Power in W.
          type: int
          sample: 27
        seconds:
          description: When, in seconds since what RV(cx7.log_clock) says.
          type: float
          sample: 3605.2
        stamp:
          description: When, as the log writes it, where it has dates.
          type: str
        pci:
          description: PCI address that the line names.
          type: str
        root:
          description: PCIe root of that address.
          type: str
        cage:
          description: Cage by PCI function.
          type: str
        pid:
          description: Process of the driver that printed it. At boot it is a small number.
          type: int
          sample: 12
    slot_power_register:
      description: The register MPEIN of each function when O(read_slot_power_register=true) and it was not refused.
      type: list
      elements: dict
      contains:
        pci:
          description: PCI address.
          type: str
        status:
          description: V(not_advertised), V(sufficient) or V(insufficient).
          type: str
        watts:
          description: Power in W. Null when the NIC does not know it.
          type: int
        raw:
          description: What the tool printed.
          type: str
    log_complete:
      description: Whether the log reaches back to the boot. If not, what is missing from it proves nothing.
      type: bool
    log_source:
      description: Where the log comes from, V(journal), V(dmesg), V(file) or V(none).
      type: str
    log_clock:
      description:
        - What RV(cx7.events[].seconds) counts from, V(boot), V(first_line) of a log with dates only, or V(none).
      type: str
    boot_id:
      description: Identifier of this boot.
      type: str
    uptime_seconds:
      description: Seconds since boot.
      type: float
    lldp_running:
      description: Whether lldpd answered.
      type: bool
    networkmanager_running:
      description: Whether NetworkManager answered.
      type: bool
    warnings:
      description: What is odd about the node's answers.
      type: list
      elements: str
lldp_config:
  description: Text of O(lldp_config), null when that is not set or cannot be read.
  returned: success
  type: str
"""

import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import mac
from ansible_collections.switchless.spark.plugins.module_utils._cx7.node import Sources, look, uptime_seconds
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

HOST_ROOT = "/"
PROC_ROOT = "/proc"
SYSFS_ROOT = "/sys"


def settle(proc: Tree, seconds: int) -> None:
    """Wait until the node has been up for so many seconds."""
    uptime = uptime_seconds(proc)
    if uptime is not None and uptime < seconds:
        time.sleep(seconds - uptime)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sysfs_root": {"type": "path", "default": "/sys"},
            "kernel_log": {"type": "path"},
            "lldp": {"type": "bool", "default": True},
            "lldp_config": {"type": "path"},
            "settle_seconds": {"type": "int", "default": 30},
            "read_slot_power_register": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    text = None
    if params["kernel_log"] is not None:
        try:
            text = Path(params["kernel_log"]).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            module.fail_json(msg=f"The kernel log to read instead of the node's cannot be read: {error}")
    proc, host = Tree(PROC_ROOT), Tree(HOST_ROOT)
    settle(proc, params["settle_seconds"])
    live = params["sysfs_root"].rstrip("/") == SYSFS_ROOT
    seen = look(
        Sources(
            sys=Tree(params["sysfs_root"]),
            proc=proc,
            host=host,
            runner=ModuleRunner(module),
            permanent_mac=mac.permanent if live else (lambda _netdev: None),
            kernel_log=text,
            ask_lldp=params["lldp"],
            ask_register=params["read_slot_power_register"],
        )
    )
    announced = host.read(params["lldp_config"].lstrip("/")) if params["lldp_config"] else None
    module.exit_json(changed=False, cx7=seen.as_dict(), lldp_config=announced)


if __name__ == "__main__":
    main()
