#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Tells what the node under a model is like
version_added: 0.1.0
description:
  - Reads what the role P(switchless.spark.host#role) sets - what the node boots into, swap, limits, kernel settings,
    services, files. Changes nothing.
  - What is not there is null or empty, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  files:
    description: Files whose content is wanted, by absolute path.
    type: list
    elements: path
    default: []
  sysctl:
    description: Kernel settings that are wanted, by dotted key.
    type: list
    elements: str
    default: []
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands C(systemctl) and C(systemd-detect-virt) ask the node all the same.
    type: path
    default: /
seealso:
  - plugin: switchless.spark.host_changes
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at the node
  switchless.spark.host_info:
    sysctl: [vm.swappiness]
  register: seen
  become: true

- name: Say what is swapped out
  ansible.builtin.debug:
    msg: "{{ seen.host.swaps | sum(attribute='used_kib') }} KiB"
"""

RETURN = r"""
host:
  description: What was found.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    container:
      description: What kind of container the node is. Empty on a machine.
      type: str
      sample: systemd-nspawn
    default_target:
      description: What it boots into.
      type: str
      sample: graphical.target
    available_kib:
      description: C(MemAvailable) in KiB.
      type: int
      sample: 121634816
    core_pattern:
      description: Where the kernel sends core dumps.
      type: str
      sample: "|/usr/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h %d"
    swaps:
      description: Swap in use.
      type: list
      elements: dict
      contains:
        path:
          description: The device or file.
          type: str
          sample: /swap.img
        size_kib:
          description: Its size in KiB.
          type: int
        used_kib:
          description: How much of it is in use, in KiB.
          type: int
    units:
      description: The desktop, C(swap.target), C(earlyoom), and what may keep the clock right, by name of the unit.
      type: dict
      sample: {swap.target: {load: loaded, active: active, enabled: static}}
    defaults:
      description: The limits that systemd gives to units that do not say otherwise.
      type: dict
      sample: {DefaultLimitMEMLOCK: "8388608"}
    sysctl:
      description: The kernel settings of O(sysctl). Null for one that this kernel does not have.
      type: dict
      sample: {vm.swappiness: "60"}
    files:
      description: The files of O(files), by path.
      type: dict
      contains:
        content:
          description: The text. Null where there is no file.
          type: str
        mode:
          description: Its permissions.
          type: str
          sample: "0644"
        folder:
          description: Whether the folder for it is there.
          type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._host.look import look
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

SCHEMA = 1


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "path", "default": []},
            "sysctl": {"type": "list", "elements": "str", "default": []},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    seen = look(Tree(params["root"]), ModuleRunner(module), params["files"], params["sysctl"])
    module.exit_json(changed=False, host={"schema": SCHEMA} | seen.as_dict())


if __name__ == "__main__":
    main()
