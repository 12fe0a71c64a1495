#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_reboot
short_description: Reboots all nodes of a fabric at the same time
version_added: 0.1.0
description:
  - Reboots the node that it runs for together with all other nodes of the fabric, because a peer that goes down makes
    a node drop its ConnectX-7. Every node of the fabric runs the task, none goes down before all are prepared, and if
    one cannot be prepared none is rebooted.
  - Refuses when the play leaves a node out (C(--limit), C(serial), a failed host), when there are fewer forks than
    nodes, on the machine that Ansible runs on, and when M(switchless.spark.boot_info) does not say that a reboot is
    neutral.
  - Remembers the reboot on the node by M(switchless.spark.reboot_memory) before anything else, and refuses a second one
    for the same reason with the same cabling.
  - Stops serving units before, and starts those that it stopped when the NICs of all nodes are back.
  - Then waits, as M(ansible.builtin.reboot) does, until the node answers with another boot id, and until the NIC shows
    all functions that it had and a link on each port of O(ports) that is set up.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is stopped or rebooted. Reports what would be done, or fails with the reason why not.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - It reboots each time that it is run.
  platform:
    support: full
options:
  hosts:
    description:
      - Every node of the fabric, C(order) of P(switchless.spark.fabric_plan#filter).
    type: list
    elements: str
    required: true
  ports:
    description:
      - The ports of this node that the plan uses, C(ports) of P(switchless.spark.fabric_host#filter).
    type: list
    elements: dict
    required: true
  functions:
    description:
      - RV(switchless.spark.cx7_info#module:cx7.functions) of this node before the reboot.
    type: list
    elements: dict
    required: true
  codes:
    description:
      - RV(switchless.spark.cx7_health#module:health.reboot_codes) of this node. Empty for one that only goes along.
    type: list
    elements: str
    default: []
  wanted_by:
    description:
      - The nodes for which the fabric is rebooted.
    type: list
    elements: str
    default: []
  pinned_kernel:
    description:
      - The kernel that is wanted after the reboot. Without it the running one.
    type: str
  pinned_driver:
    description:
      - The NVIDIA driver that is wanted after the reboot. Without it the loaded one.
    type: str
  force:
    description:
      - Whether to reboot although the reboot is not neutral, or was made before for the same reason and cabling.
    type: bool
    default: false
  stop_units:
    description:
      - Units to stop before, as names or patterns of C(systemctl). Those that ran are started again afterwards.
    type: list
    elements: str
    default: ["vllm@*.service"]
  memory_path:
    description:
      - File on the node in which the reboot is remembered.
    type: path
    default: /var/lib/switchless/cx7/reboots.json
  ready_timeout:
    description:
      - How long to wait for all nodes to be prepared, in seconds.
    type: int
    default: 300
  reboot_timeout:
    description:
      - How long to wait for the nodes to answer after the reboot, in seconds.
    type: int
    default: 900
  link_timeout:
    description:
      - How long to wait for the NIC and its links after that, in seconds.
    type: int
    default: 180
  require_nic:
    description:
      - Whether to fail when the NIC of a node is not back by then. If not, RV(nic_back) and RV(missing) tell.
    type: bool
    default: true
seealso:
  - module: switchless.spark.boot_info
  - module: switchless.spark.reboot_memory
  - module: switchless.spark.cx7_health
  - module: ansible.builtin.reboot
"""

EXAMPLES = r"""
- name: Reboot the whole fabric
  switchless.spark.fabric_reboot:
    hosts: "{{ fabric_plan.order }}"
    ports: "{{ fabric_node.ports }}"
    functions: "{{ nic.cx7.functions }}"
    codes: "{{ judged.health.reboot_codes }}"
"""

RETURN = r"""
rebooted:
  description: Whether the node was rebooted and has another boot id.
  returned: always
  type: bool
nic_back:
  description: Whether the NIC shows all that it had, and its links. Null without a reboot.
  returned: always
  type: bool
missing:
  description: What the NIC lacks.
  returned: always
  type: list
  elements: str
  sample: ["cage p0, root A (enp1s0f0np0): no link"]
elapsed:
  description: Seconds from the reboot until the NICs of all nodes were back.
  returned: always
  type: int
boot_id_before:
  description: Identifier of the boot that ended.
  returned: after a reboot
  type: str
boot_id_after:
  description: Identifier of the new boot.
  returned: after a reboot
  type: str
stopped_units:
  description: Units that were stopped, in check mode those that would be.
  returned: after a reboot, or in check mode
  type: list
  elements: str
started_units:
  description: Units that were started again.
  returned: after a reboot that succeeded
  type: list
  elements: str
boot:
  description: RV(switchless.spark.boot_info#module:boot) of the node.
  returned: in check mode
  type: dict
"""
