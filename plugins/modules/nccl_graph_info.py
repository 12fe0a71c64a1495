#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_graph_info
short_description: Tells what NCCL made of its graph and its environment
version_added: 0.1.0
description:
  - Reads NCCL's log and the graph that it dumped, and changes nothing.
  - With O(expected), says in words what differs from what NCCL was told.
  - Files that are not there are nulls. What a log is silent about is not judged, which lines NCCL prints depends on
    C(NCCL_DEBUG) and C(NCCL_DEBUG_SUBSYS). C(INIT,ENV,NET,GRAPH) has all that is read here.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  log:
    description:
      - NCCL's log, for example what C(NCCL_DEBUG_FILE) names, or what the program printed.
    type: path
  dump:
    description:
      - The file that C(NCCL_GRAPH_DUMP_FILE) names.
    type: path
  expected:
    description:
      - What NCCL was told on this node.
    type: dict
    suboptions:
      devices:
        description:
          - The list C(devices) of P(switchless.spark.nccl_settings#filter), in the order that the graph is numbered by.
        type: list
        elements: dict
      graph:
        description:
          - The text of the graph that NCCL was given.
        type: str
      environment:
        description:
          - The variables that NCCL was given.
        type: dict
      rank:
        description:
          - The rank of the node in the plan.
        type: int
      ranks:
        description:
          - The number of ranks.
        type: int
seealso:
  - module: switchless.spark.transport_info
"""

EXAMPLES = r"""
- name: Read what NCCL did
  switchless.spark.nccl_graph_info:
    log: /run/switchless/nccl.log
    dump: /run/switchless/nccl-graph-dump.xml
    expected:
      devices: "{{ settings.devices }}"
      graph: "{{ settings.graph }}"
      environment: "{{ settings.environment }}"
      rank: "{{ node.rank }}"
      ranks: "{{ fabric.size }}"
  register: did

- name: Stop when it is not what it was told
  ansible.builtin.assert:
    that: did.nccl.differences == []
    fail_msg: "{{ did.nccl.differences | map(attribute='text') | join('\n') }}"
"""

RETURN = r"""
nccl:
  description: What was read.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    log:
      description: What the log says. Null when the file is not there.
      type: dict
      contains:
        version:
          description: NCCL's version.
          type: str
          sample: 2.30.7+cuda13.0
        library:
          description: The library, where the program says it.
          type: str
        host:
          description: The host name that the lines have.
          type: str
        rank:
          description: NCCL's rank.
          type: int
        nranks:
          description: The number of ranks.
          type: int
        net:
          description: The network that is used, V(IB) or V(Socket).
          type: str
        devices:
          description: The devices in NCCL's order, with C(index), C(name), C(port) and C(link) or C(address).
          type: list
          elements: dict
        oob_netdev:
          description: Interface that RDMA connections are arranged over.
          type: str
        oob_address:
          description: Its address.
          type: str
        graph_channels:
          description: Channels taken from the graph.
          type: int
        vias:
          description: >-
            The ends of connections, with C(channel), C(source), C(target), C(direction), C(net), C(device), C(gdr) and
            C(connection).
          type: list
          elements: dict
        rings:
          description: The neighbours in each channel, with C(channel), C(previous), C(rank) and C(next).
          type: list
          elements: dict
        order:
          description: The order of the ranks, which rank 0 prints.
          type: list
          elements: int
        tree_peers:
          description: The ranks that the trees would connect this one with.
          type: list
          elements: int
        overrides:
          description: Pairs of the device that NCCL would have taken and the one that it took by subnet.
          type: list
          elements: list
        environment:
          description: The variables that NCCL says it was given.
          type: dict
        warnings:
          description: NCCL's warnings.
          type: list
          elements: str
        complete:
          description: Whether the initialisation was completed.
          type: bool
    dump:
      description: The graphs that were dumped. Null when the file is not there or cannot be read.
      type: list
      elements: dict
    dump_error:
      description: Why the dumped graph cannot be read.
      type: str
    differences:
      description: What is not as NCCL was told, with C(code) and C(text). Empty without O(expected).
      type: list
      elements: dict
"""

from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._nccl import log, xml
from ansible_collections.switchless.spark.plugins.module_utils._nccl.compare import differences, expected_from

SCHEMA = 1


def text_of(path: str | None) -> str | None:
    """A file's text; nothing where there is none."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "log": {"type": "path"},
            "dump": {"type": "path"},
            "expected": {
                "type": "dict",
                "options": {
                    "devices": {"type": "list", "elements": "dict"},
                    "graph": {"type": "str"},
                    "environment": {"type": "dict"},
                    "rank": {"type": "int"},
                    "ranks": {"type": "int"},
                },
            },
        },
        supports_check_mode=True,
    )
    said, dumped = text_of(module.params["log"]), text_of(module.params["dump"])
    read = None if said is None else log.parse(said)
    graphs, error = None, None
    if dumped is not None:
        try:
            graphs = xml.parse(dumped)
        except xml.GraphError as exc:
            error = str(exc)
    found = []
    if module.params["expected"] is not None:
        try:
            expected = expected_from(module.params["expected"])
        except (FabricError, xml.GraphError) as exc:
            module.fail_json(msg=f"expected: {exc}")
        found = differences(read, graphs, expected)
    module.exit_json(
        changed=False,
        nccl={
            "schema": SCHEMA,
            "log": read.as_dict() if read is not None else None,
            "dump": [asdict(graph) for graph in graphs] if graphs is not None else None,
            "dump_error": error,
            "differences": [difference.as_dict() for difference in found],
        },
    )


if __name__ == "__main__":
    main()
