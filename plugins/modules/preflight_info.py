#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info
short_description: Reads whether a node is fit for a run
version_added: 0.1.0
description:
  - Reads in one fast run what decides whether a node can be made part of a cluster - GPU, DGX OS, kernel, driver,
    memory, disk, desktop, identity, clock, ports, secure boot. Changes nothing.
  - It reads and does not judge. P(switchless.spark.preflight_findings#filter) judges all nodes together.
  - What is not there or cannot be read is null, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  disk:
    description:
      - Room that is wanted.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: An absolute path. It need not be there yet.
        type: path
        required: true
      need_gib:
        description: The room that is wanted in GiB.
        type: float
        required: true
      count_present:
        description:
          - Whether what lies below the path already is a part of it, as a checkpoint that was fetched before is.
          - At most 20,000 files are counted.
        type: bool
        default: false
  ports:
    description:
      - TCP ports that should be free.
    type: list
    elements: int
    default: []
  ota_check:
    description:
      - Whether to run NVIDIA's C(check_ota_status.py torn-score), as root.
      - It takes seconds and runs C(mstflint) on the NIC, which has crashed a kernel whose NIC had been hot-plugged
        since boot.
    type: bool
    default: false
  asked:
    description:
      - The controller's time when it asked, in seconds since the epoch, for clocks to be compared.
    type: float
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands ask the node all the same.
    type: path
    default: /
seealso:
  - plugin: switchless.spark.preflight_findings
    plugin_type: filter
  - module: switchless.spark.nvidia_driver_info
  - module: switchless.spark.cx7_info
"""

EXAMPLES = r"""
- name: Look at the node
  switchless.spark.preflight_info:
    disk:
      - path: /srv/models
        need_gib: 400
        count_present: true
    ports: [8000]
    asked: "{{ now().timestamp() }}"
  register: seen
  become: true

- name: Say what keeps it from being fit
  ansible.builtin.debug:
    msg: "{{ {inventory_hostname: seen.preflight} | switchless.spark.preflight_findings | map(attribute='text') }}"
"""

RETURN = r"""
preflight:
  description: What was read. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    uid:
      description: The user who read it. 0 is root.
      type: int
      sample: 0
    hostname:
      description: The host name.
      type: str
      sample: spark-329f
    machine_id:
      description: What C(/etc/machine-id) holds, if it is a machine ID.
      type: str
    boot_id:
      description: The kernel's name for this boot.
      type: str
    uptime_seconds:
      description: Seconds since the boot.
      type: float
    kernel:
      description: The running kernel.
      type: str
      sample: 6.17.0-1032-nvidia
    gpu:
      description: GPUs by PCI id, and not by a vendor's name for the board.
      type: dict
      contains:
        gb10:
          description: PCI addresses of C(10de:2e12). Null without a PCI bus.
          type: list
          elements: str
          sample: ["000f:01:00.0"]
        others:
          description: NVIDIA's other GPUs, each with its PCI id.
          type: list
          elements: str
          sample: ["0000:01:00.0 10de:2684"]
    dgx:
      description: What C(/etc/dgx-release) says.
      type: dict
      contains:
        version:
          description: DGX OS after the last update over the air, else that of the factory.
          type: str
          sample: 7.5.0
        platform:
          description: The platform. It is no way to tell a Spark.
          type: str
          sample: DGX Server for KVM
        torn_score:
          description: 0 when the last update over the air is whole. Null when nobody was asked.
          type: int
        torn_asked:
          description: Whether O(ota_check) was set.
          type: bool
    driver:
      description: The NVIDIA driver.
      type: dict
      contains:
        loaded:
          description: Version of the loaded module.
          type: str
          sample: 580.173.02
        open:
          description: Whether it is the open one.
          type: bool
        modules_listed:
          description: Whether loaded modules can be seen at all.
          type: bool
        installed:
          description:
            - Packages C(nvidia-driver-*) with the driver's version in each, what apt would take, and whether it is on
              hold. Null without C(dpkg-query).
          type: list
          elements: dict
          sample:
            - name: nvidia-driver-580-open
              version: 580.173.02-0ubuntu0.24.04.1
              driver: 580.173.02
              candidate: 580.178.04-0ubuntu0.24.04.1
              held: true
    memory:
      description: C(/proc/meminfo) in kB, and whether the kernel was booted with C(kho=off).
      type: dict
      sample:
        total_kb: 127600748
        available_kb: 120000000
        swap_total_kb: 16777212
        swap_free_kb: 16777212
        cma_total_kb: 131072
        cma_free_kb: 120000
        kho_off: false
    disk:
      description: Each item of O(disk), in its order.
      type: list
      elements: dict
      contains:
        path:
          description: As it was given.
          type: str
        need_gib:
          description: As it was given.
          type: float
        there:
          description: The nearest folder that exists.
          type: str
        device:
          description: Number of its file system, which several paths may share.
          type: int
        free_gib:
          description: Room that others than root may use.
          type: float
        present_gib:
          description: What lies below the path, if that counts.
          type: float
    desktop:
      description: Whether a desktop takes memory.
      type: dict
      contains:
        active:
          description: Whether a display manager runs.
          type: bool
        display_manager:
          description: Its unit.
          type: str
          sample: gdm.service
        sessions:
          description:
            - Sessions with windows, with C(user), C(type) and C(class). The class of a login screen is C(greeter).
          type: list
          elements: dict
    clock:
      description: The clock.
      type: dict
      contains:
        epoch:
          description: The node's time in seconds since the epoch.
          type: float
        asked:
          description: O(asked).
          type: float
        ntp_synchronized:
          description: Whether the kernel takes its clock for synchronised.
          type: bool
    ports:
      description: TCP ports.
      type: dict
      contains:
        wanted:
          description: O(ports), sorted.
          type: list
          elements: int
        taken:
          description:
            - Those on which a process listens, with C(address), C(pid) and C(process). Root alone sees the process of
              another user.
          type: list
          elements: dict
          sample: [{port: 8000, address: 0.0.0.0, pid: 4711, process: vllm}]
    secure_boot:
      description: Whether secure boot is on. Null without UEFI.
      type: bool
    dkms:
      description: Lines of C(dkms status) on nvidia. A stock Spark has none.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner
from ansible_collections.switchless.spark.plugins.module_utils._preflight.disk import Ask
from ansible_collections.switchless.spark.plugins.module_utils._preflight.look import look


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "disk": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "path": {"type": "path", "required": True},
                    "need_gib": {"type": "float", "required": True},
                    "count_present": {"type": "bool", "default": False},
                },
            },
            "ports": {"type": "list", "elements": "int", "default": []},
            "ota_check": {"type": "bool", "default": False},
            "asked": {"type": "float"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    asks = [Ask(**row) for row in params["disk"]]
    if wrong := [ask.path for ask in asks if not ask.path.startswith("/")]:
        module.fail_json(msg=f"disk has the path {', '.join(wrong)}, expected absolute paths")
    seen = look(
        Tree(params["root"]),
        ModuleRunner(module),
        disks=asks,
        wanted_ports=params["ports"],
        ota_check=params["ota_check"],
        asked=params["asked"],
    )
    module.exit_json(changed=False, preflight=seen)


if __name__ == "__main__":
    main()
