#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cx7_health
short_description: Judges what a DGX Spark's ConnectX-7 shows
version_added: 0.1.0
description:
  - Comes from what M(switchless.spark.cx7_info) read, what the plan wants and what was measured to a verdict for each
    function, each cage and the node, with reasons, evidence and what to do.
  - This is arithmetic on its options. It reads nothing from the node and changes nothing.
  - A function is V(ok) only when all that can be read on it is right and both directions were measured at 90 Gb/s or
    more. What was not measured, or gave no result, is V(unknown), never 0 and never fine.
  - The line C(Detected insufficient power on the PCIe slot) with 27 W is printed by healthy Sparks on every boot and
    changes nothing.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  cx7:
    description:
      - The key C(cx7) that M(switchless.spark.cx7_info) returned.
    type: dict
    required: true
  expect:
    description:
      - The ports of this node that the plan uses, for example C(ports) of P(switchless.spark.fabric_host#filter).
      - C(cage) and C(root) are required. C(peer) with C(host) and C(cage) names the other end in texts.
      - C(minimum_rate_gbps) is the link rate that is wanted, 200 if it is not given.
      - C(mtu) and C(unmanaged=true) are given once the fabric has been configured, and then they are judged too.
      - C(peer_dropped=true) says that the NIC at the other end left the bus, to which a missing link is then put down.
      - Other keys are left out, so that the ports of the plan can be given as they are.
      - A port that the plan uses and that has no cable is a V(fault), one that it does not use is V(no_cable).
      - Without this option all ports with a link count.
    type: list
    elements: dict
    default: []
  bandwidth:
    description:
      - What was measured, one entry for each port and direction.
      - C(cage) and C(root) say which port.
      - C(direction) is V(out) for what this node sends and V(in) for what it receives.
      - C(gbps) is the average in Gb/s, null when the measurement gave no result.
      - C(method) is V(rdma) or V(tcp). TCP can show that a port is fast, never that it is capped.
    type: list
    elements: dict
    default: []
  already_rebooted:
    description:
      - Whether this node was already rebooted for the same reason with the same cabling.
      - What would be V(needs_reboot) is then V(needs_power_drain).
    type: bool
    default: false
seealso:
  - module: switchless.spark.cx7_info
"""

EXAMPLES = r"""
- name: Look at the NIC
  switchless.spark.cx7_info:
  register: nic

- name: Judge it before anything was measured
  switchless.spark.cx7_health:
    cx7: "{{ nic.cx7 }}"
    expect: "{{ (plan | switchless.spark.fabric_host(inventory_hostname)).ports }}"
  register: judged

- name: Stop on anything that speaks against a port
  ansible.builtin.assert:
    that: judged.health.nothing_wrong
    fail_msg: "{{ judged.health.summary + judged.health.remedy }}"

- name: Judge it with what was measured
  switchless.spark.cx7_health:
    cx7: "{{ nic.cx7 }}"
    bandwidth:
      - {cage: p0, root: A, direction: out, gbps: 108.94, method: rdma}
      - {cage: p0, root: A, direction: in, gbps: 13.23, method: rdma}
"""

RETURN = r"""
health:
  description: The judgement.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    verdict:
      description:
        - The worst verdict of the ports that the plan uses, or of all ports without a plan.
        - From worst to best V(fault), V(needs_power_drain), V(needs_reboot), V(misconfigured), V(unknown), V(ok),
          V(no_cable).
      type: str
      sample: needs_reboot
    nothing_wrong:
      description:
        - True when each counted port is V(ok) or V(no_cable), or lacks nothing but a measurement by RDMA.
      type: bool
    needs_measurement:
      description: Ports, with C(cage) and C(root), against which nothing speaks but that were not shown to be fast.
      type: list
      elements: dict
    reboot:
      description: Whether a reboot of the fabric would help a port that counts.
      type: bool
    reboot_codes:
      description: The sorted codes of what a reboot is or was wanted for, to remember it by.
      type: list
      elements: str
      sample: [hotplug, throttled]
    remedy:
      description: What to do about the verdict, in words.
      type: list
      elements: str
    summary:
      description: One line for each port that counts.
      type: list
      elements: str
      sample:
        - "p0 A: needs_reboot: cage p0, root A sends 13.23 Gb/s: the cap after a hot-plug"
    cages:
      description: The worst verdict for each cage.
      type: list
      elements: dict
      sample:
        - {cage: p0, verdict: needs_reboot}
        - {cage: p1, verdict: no_cable}
    functions:
      description: All four ports, sorted by cage and root.
      type: list
      elements: dict
      contains:
        cage:
          description: Cage.
          type: str
        root:
          description: PCIe root.
          type: str
        netdev:
          description: Network interface.
          type: str
        rdma:
          description: RDMA device.
          type: str
        planned:
          description: Whether O(expect) has this port.
          type: bool
        measured:
          description: Whether there is a result for both directions.
          type: bool
        verdict:
          description: The worst verdict of the reasons. V(ok) when there is none.
          type: str
        reasons:
          description: What was found, worst first.
          type: list
          elements: dict
          contains:
            code:
              description: Short name of the reason.
              type: str
              sample: throttled
            verdict:
              description: What this reason alone would make of the port.
              type: str
            text:
              description: What was seen and what was expected.
              type: str
            evidence:
              description: Lines of the log and values that show it.
              type: list
              elements: str
            remedy:
              description: What to do.
              type: str
        notes:
          description: What is worth knowing and changes no verdict, each with C(code), C(text) and C(evidence).
          type: list
          elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load
from ansible_collections.switchless.spark.plugins.module_utils._cx7.health import judge


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cx7": {"type": "dict", "required": True},
            "expect": {"type": "list", "elements": "dict", "default": []},
            "bandwidth": {"type": "list", "elements": "dict", "default": []},
            "already_rebooted": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        health = judge(
            load.cx7(module.params["cx7"]),
            load.expected(module.params["expect"]),
            load.bandwidth(module.params["bandwidth"]),
            already_rebooted=module.params["already_rebooted"],
        )
    except load.InputError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, health=health.as_dict())


if __name__ == "__main__":
    main()
