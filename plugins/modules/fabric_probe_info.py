#!/usr/bin/python
# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: fabric_probe_info
short_description: Prove that the paths of a switchless fabric carry what they must
version_added: 0.1.0
author:
  - The switchless.spark founders (@switchless)
description:
  - Pings every neighbour over every (cage, PCIe root) with the fragmentation bit set, and opens a TCP connection to
    every address of the nodes
    that share no cable with this one, through the relay.
  - Never fails because of what it finds; RV(ok) says whether all probes succeeded.
options:
  pings:
    description: Neighbours to ping.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the path is, in words; quoted when it fails.
        type: str
        required: true
      source:
        description: Own address to send from.
        type: str
        required: true
      target:
        description: Address of the neighbour.
        type: str
        required: true
  connections:
    description: Addresses to connect to by TCP.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the path is, in words; quoted when it fails.
        type: str
        required: true
      target:
        description: Address of the far node.
        type: str
        required: true
  payload:
    description: Size, in bytes, of the ICMP payload; MTU less 28.
    type: int
    default: 8972
  port:
    description: TCP port to connect to. A refusal by the far node counts as reached.
    type: int
    default: 22
  timeout:
    description: Time, in seconds, during which a path that does not answer is tried again.
    type: int
    default: 10
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
attributes:
  platform:
    platforms: posix
"""

EXAMPLES = r"""
- name: Both roots of one cable
  switchless.spark.fabric_probe_info:
    pings:
      - {name: cable 1 root A to spark2, source: 198.18.0.1, target: 198.18.0.2}
      - {name: cable 1 root B to spark2, source: 198.18.1.1, target: 198.18.1.2}
"""

RETURN = r"""
ok:
  description: Whether every probe succeeded. False when there was nothing to probe.
  type: bool
  returned: always
failures:
  description: One line for every probe that failed.
  type: list
  elements: str
  returned: always
probes:
  description: Every probe, in the order given, pings first.
  type: list
  elements: dict
  returned: always
  contains:
    kind:
      description: V(ping) or V(tcp).
      type: str
    name:
      description: As given.
      type: str
    target:
      description: As given.
      type: str
    ok:
      description: Whether it succeeded.
      type: bool
    rtt_ms:
      description: Round trip in milliseconds; null when it failed.
      type: float
    detail:
      description: What was seen.
      type: str
"""

import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._node import probe
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

PAUSE_SECONDS = 0.5
WORKERS = 16


def repeat(attempt: t.Callable[[], probe.Outcome], deadline: float) -> probe.Outcome:
    """Try until it succeeds or the time is up; gives the last outcome."""
    while True:
        outcome = attempt()
        if outcome.ok or time.monotonic() > deadline:
            return outcome
        time.sleep(PAUSE_SECONDS)


def main() -> None:
    """Run the module."""
    text = {"type": "str", "required": True}
    module = AnsibleModule(
        argument_spec={
            "pings": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"name": text, "source": text, "target": text},
            },
            "connections": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"name": text, "target": text},
            },
            "payload": {"type": "int", "default": 8972},
            "port": {"type": "int", "default": 22},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    p = module.params
    runner = ModuleRunner(module)
    deadline = time.monotonic() + p["timeout"]
    # Pings are commands, and run_command is not made for threads; a healthy one takes a millisecond.
    pings = [partial(probe.ping, runner, ping["source"], ping["target"], p["payload"]) for ping in p["pings"]]
    connections = [partial(probe.connect, connection["target"], p["port"]) for connection in p["connections"]]
    outcomes = [repeat(attempt, deadline) for attempt in pings]
    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes += pool.map(partial(repeat, deadline=deadline), connections)
    asked = [("ping", x) for x in p["pings"]] + [("tcp", x) for x in p["connections"]]
    probes = [
        {"kind": kind, "name": x["name"], "target": x["target"], "ok": o.ok, "rtt_ms": o.rtt_ms, "detail": o.detail}
        for (kind, x), o in zip(asked, outcomes, strict=True)
    ]
    failures = [f"{x['name']} ({x['kind']} {x['target']}): {x['detail']}" for x in probes if not x["ok"]]
    module.exit_json(changed=False, ok=bool(probes) and not failures, failures=failures, probes=probes)


if __name__ == "__main__":
    main()
