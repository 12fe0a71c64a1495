#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: transport_info
short_description: Tells what a node has that NCCL's transport depends on
version_added: 0.1.0
description:
  - Reads in one run every file that could set the transport's variables, which network interface the control plane is
    on, whether the node can register memory with its NIC, and which NCCL a Python environment loads. Changes nothing.
  - With O(environment) and O(absent), says which of these settings contradict what is wanted.
  - What is not there is null or an empty list, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  address:
    description:
      - An IPv4 address of the node, for example the one of its control plane. The interface that has it is looked up.
    type: str
  python:
    description:
      - A Python interpreter, for example the one of the environment that serves. It is asked which NCCL it loads, which
        imports PyTorch there.
    type: path
  environment:
    description:
      - The variables that are wanted, as the role transport writes them.
    type: dict
    default: {}
  absent:
    description:
      - Variables that must not be set anywhere, not even to nothing.
      - C(NCCL_IB_GID_INDEX) is always one of them.
    type: list
    elements: str
    default: []
  host:
    description:
      - How to call the node in sentences. By default it is its host name.
    type: str
  homes:
    description:
      - Home folders whose C(.nccl.conf) is read.
    type: list
    elements: str
    default: [/root]
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands C(ip) and C(systemctl), and O(python), ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.nccl_graph_info
"""

EXAMPLES = r"""
- name: Look at the transport
  switchless.spark.transport_info:
    address: "{{ ansible_host }}"
    python: /opt/vllm/bin/python
    environment:
      NCCL_ALGO: Ring
      NCCL_IB_SUBNET_AWARE_ROUTING: "1"
    absent: [NCCL_IB_GID_INDEX]
  register: seen

- name: Stop when something else sets the same
  ansible.builtin.assert:
    that: seen.transport.contradictions == []
    fail_msg: "{{ seen.transport.contradictions | map(attribute='text') | join('\n') }}"

- name: Stop on a node that cannot register memory
  ansible.builtin.assert:
    that: seen.transport.refusal is none
    fail_msg: "{{ seen.transport.refusal.text }}"
"""

RETURN = r"""
transport:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    sources:
      description: Every setting of the transport that a file makes, in a fixed order of the files.
      type: list
      elements: dict
      contains:
        file:
          description: The file.
          type: str
          sample: /etc/nccl.conf
        line:
          description: The line, counted from 1.
          type: int
          sample: 2
        name:
          description: The variable.
          type: str
          sample: NCCL_IB_USE_INLINE
        value:
          description: Its value, as the program gets it that the file is for. Nothing is expanded.
          type: str
          sample: "1"
        kind:
          description: How the file is read, V(nccl_conf), V(environment), V(shell) or V(systemd).
          type: str
          sample: nccl_conf
        ours:
          description: Whether the file is C(/etc/switchless/nccl.env), which the role transport writes.
          type: bool
    contradictions:
      description: Settings, other than those in our own file, that contradict what is wanted.
      type: list
      elements: dict
      contains:
        file:
          description: The file.
          type: str
        line:
          description: The line, counted from 1.
          type: int
        name:
          description: The variable.
          type: str
        seen:
          description: Its value.
          type: str
          sample: "'0'"
        expected:
          description: What it should be.
          type: str
          sample: "'1'"
        reason:
          description: Why it matters.
          type: str
        remedy:
          description: What to do.
          type: str
        text:
          description: All of it in one line.
          type: str
    control:
      description: Where O(address) is.
      type: dict
      contains:
        address:
          description: The address that was asked for.
          type: str
        netdev:
          description: The network interface that has it.
          type: str
          sample: enP7s7
        mtu:
          description: Its MTU in bytes.
          type: int
    memory:
      description: What registering memory depends on.
      type: dict
      contains:
        cma_total_kb:
          description: C(CmaTotal) of C(/proc/meminfo). A stock node has 131072.
          type: int
        cma_free_kb:
          description: C(CmaFree) of C(/proc/meminfo).
          type: int
        available_kb:
          description: C(MemAvailable) of C(/proc/meminfo).
          type: int
        free_kb:
          description: C(MemFree) of C(/proc/meminfo).
          type: int
        kernel:
          description: The running kernel.
          type: str
          sample: 6.17.0-1032-nvidia
        kho_off:
          description: Whether the kernel was booted with C(kho=off).
          type: bool
        locked_soft:
          description: Soft limit on locked memory of this login in bytes, V(-1) for none.
          type: int
        locked_hard:
          description: Hard limit on locked memory of this login in bytes, V(-1) for none.
          type: int
        locked_services:
          description: What services get unless their unit says otherwise, in bytes, V(-1) for no limit.
          type: int
    refusal:
      description: Why the node cannot register memory. Null when nothing says so.
      type: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: cma
        host:
          description: The node.
          type: str
        seen:
          description: What was seen.
          type: str
        expected:
          description: What was expected.
          type: str
        remedy:
          description: What to do.
          type: str
        text:
          description: All of it in one line.
          type: str
    infiniband:
      description: What programs need to open an RDMA device.
      type: dict
      contains:
        present:
          description: Whether C(/dev/infiniband) is there.
          type: bool
        verbs:
          description: The devices in it that programs open.
          type: list
          elements: str
          sample: [uverbs0, uverbs1, uverbs2, uverbs3]
    gpu_processes:
      description: Programs that compute on the GPU, as C(nvidia-smi) lists them.
      type: list
      elements: str
      sample: ["4711, /usr/bin/python3, 96000 MiB"]
    nccl:
      description: The NCCL that O(python) loads. Null without O(python), and when there is no such interpreter.
      type: dict
      contains:
        python:
          description: The interpreter.
          type: str
        version:
          description: Version that the loaded library gives.
          type: str
          sample: 2.30.7
        too_old:
          description: Whether it is older than 2.30.7, which is the first that chooses the device by subnet.
          type: bool
        library:
          description: Path of the library that is loaded.
          type: str
        sha256:
          description: Checksum of that file. Different builds go under one version.
          type: str
        torch:
          description: Version of PyTorch.
          type: str
        built_for:
          description: Version of NCCL that PyTorch was built with, which need not be the one that is loaded.
          type: str
        detail:
          description: What went wrong, if something did.
          type: str
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._link.ready import gpu_processes
from ansible_collections.switchless.spark.plugins.module_utils._nccl import library, memory, sources
from ansible_collections.switchless.spark.plugins.module_utils._nccl.contradictions import contradictions
from ansible_collections.switchless.spark.plugins.module_utils._node import ip
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner, Runner

SCHEMA = 1
LINKS = ("ip", "-j", "address", "show")
LIMITS = ("systemctl", "show", "--property=DefaultLimitMEMLOCKSoft")


def control(runner: Runner, address: str) -> dict[str, object]:
    """The interface that has an address."""
    result = runner.run(LINKS)
    links = ip.parse_links(result.stdout) if result.rc == 0 else {}
    for link in links.values():
        if address in (own.partition("/")[0] for own in link.addresses):
            return {"address": address, "netdev": link.name, "mtu": link.mtu}
    return {"address": address, "netdev": None, "mtu": None}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str"},
            "python": {"type": "path"},
            "environment": {"type": "dict", "default": {}},
            "absent": {"type": "list", "elements": "str", "default": []},
            "host": {"type": "str"},
            "homes": {"type": "list", "elements": "str", "default": ["/root"]},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    tree, runner = Tree(params["root"]), ModuleRunner(module)
    found = sources.look(tree, params["homes"])
    environment = {name: str(value) for name, value in params["environment"].items() if value is not None}
    shown = memory.look(tree, runner.run(LIMITS).stdout)
    refusal = memory.refusal(params["host"] or platform.node(), shown)
    loaded = library.ask(runner, params["python"]) if params["python"] else None
    module.exit_json(
        changed=False,
        transport={
            "schema": SCHEMA,
            "sources": [source.as_dict() for source in found],
            "contradictions": [item.as_dict() for item in contradictions(found, environment, params["absent"])],
            "control": control(runner, params["address"]) if params["address"] else None,
            "memory": shown.as_dict(),
            "refusal": refusal.as_dict() if refusal is not None else None,
            "infiniband": {
                "present": tree.exists("dev", "infiniband"),
                "verbs": [name for name in tree.names("dev", "infiniband") if name.startswith("uverbs")],
            },
            "gpu_processes": list(gpu_processes(runner)),
            "nccl": loaded.as_dict() if loaded is not None else None,
        },
    )


if __name__ == "__main__":
    main()
