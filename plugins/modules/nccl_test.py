#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_test
short_description: Runs one rank of a checked NCCL all-reduce
version_added: 0.1.0
description:
  - Runs this node's rank of an all-reduce over the whole fabric, in which every element is checked and the bytes of
    every port are counted.
  - All ranks have to run at the same time, so that Ansible's C(forks) must not be less than the number of nodes.
  - The program is the role's C(nccl_allreduce.py), under the interpreter that serves, so that the NCCL that will serve
    is the one that is tested.
  - A rank that fails or hangs is no error of the module. It is judged together with the others by
    P(switchless.spark.transport_report#filter).
  - Changes nothing. In check mode nothing is run.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  python:
    description:
      - The interpreter that serves. It needs PyTorch with NCCL.
    type: path
    required: true
  program:
    description:
      - Where the role C(transport) put the program.
    type: path
    default: /usr/local/lib/switchless/nccl_allreduce.py
  rank:
    description:
      - Rank of this node.
    type: int
    required: true
  size:
    description:
      - Number of ranks.
    type: int
    required: true
  master_address:
    description:
      - Address of rank 0 on the control plane.
    type: str
    required: true
  master_port:
    description:
      - TCP port of the rendezvous on rank 0.
    type: int
    default: 29610
  environment:
    description:
      - NCCL's settings, as P(switchless.spark.nccl_settings#filter) gives them.
    type: dict
    required: true
  devices:
    description:
      - The node's devices, as P(switchless.spark.nccl_settings#filter) gives them. The bytes of each are counted.
    type: list
    elements: dict
    required: true
  sizes_mib:
    description:
      - Sizes of the buffer, in MiB.
    type: list
    elements: int
    default: [1, 4, 16, 64, 256]
  iterations:
    description:
      - How often each size is reduced. The median time counts.
    type: int
    default: 5
  timeout_seconds:
    description:
      - Within how many seconds the whole test has to end.
    type: int
    default: 120
seealso:
  - plugin: switchless.spark.transport_report
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Reduce over the whole fabric
  switchless.spark.nccl_test:
    python: /opt/vllm/bin/python
    rank: "{{ fabric_node.rank }}"
    size: "{{ fabric_plan.size }}"
    master_address: 192.0.2.11
    environment: "{{ settings.environment }}"
    devices: "{{ settings.devices }}"
  register: rank
"""

RETURN = r"""
told:
  description: What the rank found. Null if it said nothing.
  returned: success
  type: dict
  sample:
    rank: 0
    size: 4
    nccl: 2.30.7
    library: /opt/vllm/lib/libnccl.so.2
    error: null
    phase: end
    sizes: [{mib: 256, elements: 335544320, wrong: 0, seconds: 0.0169, busbw_gbps: 190.4}]
    ports: {p0/A: {received: 1207959552, sent: 1048576}}
    forwarded: 0
exit_status:
  description: Exit status of the program. 0 only when the test ran to its end.
  returned: success
  type: int
stderr:
  description: What it said beside, at most the last 8,000 characters.
  returned: success
  type: str
log:
  description: NCCL's log of the rank, at most 200,000 characters.
  returned: success
  type: str
graph:
  description: The graph that NCCL used, as it writes it. Null if it wrote none.
  returned: success
  type: str
"""

import json
import tempfile
from contextlib import suppress
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._nccl.proof import ports

GRACE_SECONDS = 30
"""The program ends itself in time; what hangs in the driver is killed this much later."""
LOG_CHARACTERS = 200_000
STDERR_CHARACTERS = 8_000


def text_of(path: Path) -> str | None:
    """The text of a file that may not be there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def told_by(output: str) -> dict[str, object] | None:
    """The program's line of JSON. Libraries may print around it."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            with suppress(ValueError):
                found: dict[str, object] = json.loads(line)
                return found
    return None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "program": {"type": "path", "default": "/usr/local/lib/switchless/nccl_allreduce.py"},
            "rank": {"type": "int", "required": True},
            "size": {"type": "int", "required": True},
            "master_address": {"type": "str", "required": True},
            "master_port": {"type": "int", "default": 29610},
            "environment": {"type": "dict", "required": True},
            "devices": {"type": "list", "elements": "dict", "required": True},
            "sizes_mib": {"type": "list", "elements": "int", "default": [1, 4, 16, 64, 256]},
            "iterations": {"type": "int", "default": 5},
            "timeout_seconds": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, told=None, exit_status=0, stderr="", log="", graph=None)
    limit = params["timeout_seconds"]
    with tempfile.TemporaryDirectory(dir=module.tmpdir) as folder:
        log, graph = Path(folder, "nccl.log"), Path(folder, "graph.xml")
        environment = {name: str(value) for name, value in params["environment"].items()} | {
            "RANK": str(params["rank"]),
            "WORLD_SIZE": str(params["size"]),
            "MASTER_ADDR": params["master_address"],
            "MASTER_PORT": str(params["master_port"]),
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,NET,ENV",
            "NCCL_DEBUG_FILE": str(log),
            "NCCL_GRAPH_DUMP_FILE": str(graph),
            "NCCL_GRAPH_DUMP_FILE_RANK": str(params["rank"]),
        }
        program = [params["python"], params["program"], "--timeout", str(limit)]
        program += ["--iterations", str(params["iterations"]), "--ports", json.dumps(ports(params["devices"]))]
        program += ["--sizes", *(str(size) for size in params["sizes_mib"])]
        killer = ["timeout", "--kill-after=5", str(limit + GRACE_SECONDS)]
        exit_status, stdout, stderr = module.run_command([*killer, *program], environ_update=environment)
        module.exit_json(
            changed=False,
            told=told_by(stdout),
            exit_status=exit_status,  # not rc, by which Ansible would fail the task
            stderr=stderr[-STDERR_CHARACTERS:],
            log=(text_of(log) or "")[:LOG_CHARACTERS],
            graph=text_of(graph),
        )


if __name__ == "__main__":
    main()
