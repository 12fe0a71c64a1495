#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: link_bandwidth
short_description: Measures the cables of a DGX Spark together with its neighbours
version_added: 0.1.0
description:
  - Takes part in measurements, one after the other, while the node at the other end of each takes part in the same
    list. The two must run at the same time. P(switchless.spark.link_schedule#filter) makes the lists and the role
    P(switchless.spark.link_test#role) runs them.
  - By RDMA with C(ib_write_bw), the GID index found by address at the moment of measuring, or by TCP with C(iperf3).
  - What was measured is data and makes no failure. Without a figure RV(measured[].gbps) is null, never 0, and
    RV(measured[].detail) quotes the tool.
  - Every tool runs under a time limit, so that none stays behind.
  - Without O(measurements), and in check mode, nothing is measured and only RV(readiness) is returned.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  measurements:
    description:
      - What to take part in, in order.
    type: list
    elements: dict
    default: []
    suboptions:
      cable:
        description: Number of the cable in the plan.
        type: int
        required: true
      root:
        description: PCIe root of both ends.
        type: str
        choices: [A, B]
        required: true
      cage:
        description: Cage of this node.
        type: str
        choices: [p0, p1]
        required: true
      direction:
        description: Whether this node sends (V(out)) or receives (V(in)).
        type: str
        choices: [out, in]
        required: true
      peer:
        description: The other end, V(host:cage).
        type: str
        required: true
      side:
        description: The V(client) sends, the V(server) receives.
        type: str
        choices: [client, server]
        required: true
      method:
        description: With which tool.
        type: str
        choices: [rdma, tcp]
        required: true
      netdev:
        description: Network interface, whose link is watched.
        type: str
        required: true
      rdma:
        description: RDMA device. Needed by O(measurements[].method=rdma).
        type: str
      address:
        description: IPv4 address of this node on the cable.
        type: str
        required: true
      peer_address:
        description: IPv4 address of the other end.
        type: str
        required: true
      port:
        description: TCP port of the server.
        type: int
        required: true
  seconds:
    description:
      - How long each measurement lasts.
    type: int
    default: 5
  streams:
    description:
      - How many streams TCP uses. A single one makes 12 to 16 Gb/s on a healthy Spark, which looks like the cap.
      - RDMA uses 4 queue pairs.
    type: int
    default: 8
  wait_seconds:
    description:
      - How much earlier one end of a cable may start than the other.
    type: int
    default: 12
  force:
    description:
      - Measure although a program computes on the GPU. Otherwise the module fails.
    type: bool
    default: false
seealso:
  - module: switchless.spark.cx7_health
  - plugin: switchless.spark.link_schedule
    plugin_type: filter
  - plugin: switchless.spark.link_results
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at what the node could measure with
  switchless.spark.link_bandwidth:
  register: link

- name: Take part in the measurements of one round
  switchless.spark.link_bandwidth:
    measurements: "{{ schedule.rounds[0][inventory_hostname] | default([]) }}"
"""

RETURN = r"""
readiness:
  description: What the node has for measuring.
  returned: success
  type: dict
  contains:
    verbs:
      description: RDMA devices that programs can open.
      type: list
      elements: str
      sample: [rocep1s0f0, rocep1s0f1]
    verbs_detail:
      description: Why there are none. Empty if there are some.
      type: str
    tools:
      description: Which of C(ib_write_bw) and C(iperf3) are installed.
      type: list
      elements: str
    gpu_processes:
      description: Programs that compute on the GPU, as C(nvidia-smi) lists them.
      type: list
      elements: str
      sample: ["4711, /usr/bin/python3, 96000 MiB"]
measured:
  description: One entry for each of O(measurements), in their order. Empty in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    cable:
      description: As given.
      type: int
    cage:
      description: As given.
      type: str
    root:
      description: As given.
      type: str
    direction:
      description: As given.
      type: str
    peer:
      description: As given.
      type: str
    method:
      description: As given.
      type: str
    side:
      description: As given.
      type: str
    gbps:
      description: Average in Gb/s as this end's tool tells it. Null without a figure.
      type: float
      sample: 98.03
    detail:
      description: Why there is no figure, in the tool's words. Empty if there is one.
      type: str
      sample: "a header but no row of figures, it ended with 0: the queue pairs did not connect"
    lost:
      description: Whether the link was lost during the measurement. Then there is no figure.
      type: bool
    raw:
      description: What the tool printed.
      type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._link import ready
from ansible_collections.switchless.spark.plugins.module_utils._link.meet import Bench, Item, take_all
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

SYSFS_ROOT = "/sys"
DEV_ROOT = "/dev"


def text(*choices: str, required: bool = True) -> dict[str, object]:
    """An option that is text."""
    return {"type": "str", "required": required} | ({"choices": list(choices)} if choices else {})


MEASUREMENT = {
    "cable": {"type": "int", "required": True},
    "root": text("A", "B"),
    "cage": text("p0", "p1"),
    "direction": text("out", "in"),
    "peer": text(),
    "side": text("client", "server"),
    "method": text("rdma", "tcp"),
    "netdev": text(),
    "rdma": text(required=False),
    "address": text(),
    "peer_address": text(),
    "port": {"type": "int", "required": True},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "measurements": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": MEASUREMENT,
                "required_if": [("method", "rdma", ["rdma"])],
            },
            "seconds": {"type": "int", "default": 5},
            "streams": {"type": "int", "default": 8},
            "wait_seconds": {"type": "int", "default": 12},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    runner = ModuleRunner(module)
    sys = Tree(SYSFS_ROOT)
    readiness = ready.look(sys, Tree(DEV_ROOT), runner)
    items = [] if module.check_mode else [Item(**item) for item in params["measurements"]]
    if items and readiness.gpu_processes and not params["force"]:
        running = "; ".join(readiness.gpu_processes)
        module.fail_json(msg=f"The GPU is in use ({running}). Stop what runs there, or measure with force=true.")
    bench = Bench(
        sys=sys,
        runner=runner,
        now=time.monotonic,
        sleep=time.sleep,
        seconds=params["seconds"],
        streams=params["streams"],
        wait=params["wait_seconds"],
    )
    module.exit_json(changed=False, readiness=readiness.as_dict(), measured=take_all(bench, items))


if __name__ == "__main__":
    main()
