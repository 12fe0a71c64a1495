#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: spark_reboot_info
short_description: Tells everything for which a node wants a reboot, and whether the reboot would cure it
version_added: 0.1.0
description:
  - Finds all reasons from state, not from what a run changed. The loaded driver is not the installed one, the running
    kernel is not the pinned one, the NIC needs it, the marker of hot-plug was changed, a package asks for it.
  - Says of each whether the next boot would bring what is expected. A reboot that would not is none to make.
  - Changes nothing. M(switchless.spark.fabric_reboot) makes the reboot, for all nodes at once.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  pinned_kernel:
    description:
      - The kernel that is wanted, as C(uname -r) prints it, for example V(6.17.0-1032-nvidia).
      - Without it no kernel is a reason.
    type: str
  pinned_driver:
    description:
      - The NVIDIA driver that is wanted, for example V(580.173.02).
      - When another one is installed, that is shown as a reason and is no cause to act on. Without it, whichever driver
        is installed is wanted.
    type: str
  health:
    description:
      - RV(switchless.spark.cx7_health#module:health) of this node. Without it the NIC is no reason.
    type: dict
  hotplug:
    description:
      - C(hotplug) of RV(switchless.spark.cx7_info#module:cx7) of this node. Without it the marker is no reason.
    type: dict
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.boot_info
  - module: switchless.spark.fabric_reboot
"""

EXAMPLES = r"""
- name: See why this node wants a reboot
  switchless.spark.spark_reboot_info:
    pinned_driver: 580.173.02
    health: "{{ judged.health }}"
    hotplug: "{{ nic.cx7.hotplug }}"
  register: seen

- name: Show it
  ansible.builtin.debug:
    msg: "{{ seen.reboot.reasons | map(attribute='text') }}"
"""

RETURN = r"""
reboot:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    wanted:
      description: Whether there is any reason. Null when that cannot be told.
      type: bool
    causes:
      description:
        - What one automatic reboot is to be made for. Each is a reason that the next boot would cure.
        - Hot-plug and packages that ask for a reboot are not among them. They wait for one that is made anyway.
      type: list
      elements: str
      sample: [driver 580.173.02 to 580.178.04]
    installed_driver:
      description: The version that all packages of the driver have. Null when they differ or when there are none.
      type: str
      sample: 580.178.04
    reasons:
      description: All reasons.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: driver_loaded_is_another
        about:
          description: V(driver), V(kernel), V(nic), V(hotplug) or V(packages).
          type: str
          sample: driver
        wanted:
          description: Whether this reason is there. Null when that cannot be told.
          type: bool
        cured:
          description: Whether the next boot would cure it. Null when that cannot be told.
          type: bool
        seen:
          description: What was seen.
          type: str
        expected:
          description: What was expected.
          type: str
        cause:
          description: The name under which the reboot is remembered. Empty for what is not acted on.
          type: str
        evidence:
          description: Lines that show it.
          type: list
          elements: str
        text:
          description: All of it but the evidence, in one line.
          type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._boot import look, reasons
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver import packages
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

SCHEMA = 1


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "pinned_kernel": {"type": "str"},
            "pinned_driver": {"type": "str"},
            "health": {"type": "dict"},
            "hotplug": {"type": "dict"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params, runner = module.params, ModuleRunner(module)
    installed = packages.installed_driver(packages.parse(runner.run(packages.QUERY).stdout))
    wanted = reasons.Wanted(
        installed=installed,
        pinned_kernel=params["pinned_kernel"] or None,
        pinned_driver=params["pinned_driver"] or None,
        health=params["health"],
        hotplug=params["hotplug"],
    )
    found = reasons.summary(reasons.reasons(look.look(Tree(params["root"]), runner), wanted))
    module.exit_json(changed=False, reboot={"schema": SCHEMA, "installed_driver": installed} | found)


if __name__ == "__main__":
    main()
