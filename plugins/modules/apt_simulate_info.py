#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_simulate_info
short_description: Tells what an installation by apt would do, and whether it would move the NVIDIA driver or a kernel
version_added: 0.1.0
description:
  - Lets C(apt-get) play an installation or a removal through, and judges the outcome. Changes nothing, refreshes no
    list of packages, and needs no root.
  - It is refused when a package of the NVIDIA driver or a kernel would move, when something else would be removed,
    when apt does not know a name or finds no way, when C(dpkg) was interrupted, or when there is too little room.
  - C(apt-get) exits 0 as well when it would move the driver, so its exit status says nothing of this.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  packages:
    description:
      - The packages, as V(name) or V(name=version). Patterns are refused.
    type: list
    elements: str
    required: true
  state:
    description:
      - Whether to install or to remove them.
    type: str
    choices: [present, absent]
    default: present
  install_recommends:
    description:
      - Whether recommended packages come, too.
    type: bool
    default: false
  root:
    description:
      - Folder below which files are read and room is measured, for a copy of a node's files.
      - The commands ask the node all the same.
    type: path
    default: /
seealso:
  - module: ansible.builtin.apt
  - module: switchless.spark.nvidia_driver_info
"""

EXAMPLES = r"""
- name: See what a toolkit would bring
  switchless.spark.apt_simulate_info:
    packages: [cuda-toolkit-13-3]
  register: seen

- name: Stop when it would touch the driver
  ansible.builtin.assert:
    that: not seen.simulation.refused
    fail_msg: "{{ seen.simulation.reasons | map(attribute='text') | join('\n') }}"
"""

RETURN = r"""
simulation:
  description: What would be done. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    verdict:
      description:
        - The verdict of the worst reason.
        - V(blocked), it must not be done. V(unknown), the plan cannot be read. V(ok), nothing speaks against it.
      type: str
      sample: blocked
    refused:
      description: Whether the verdict is anything but V(ok).
      type: bool
    reasons:
      description: Why, the worst first.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: would_move
        verdict:
          description: What this reason alone makes of the verdict.
          type: str
          sample: blocked
        seen:
          description: What was seen. It names packages and versions.
          type: str
        expected:
          description: What was expected.
          type: str
        remedy:
          description: What to do.
          type: str
        evidence:
          description: Lines that show it.
          type: list
          elements: str
        text:
          description: All of it but the evidence, in one line.
          type: str
    rc:
      description: Exit status of the simulation.
      type: int
      sample: 0
    moves:
      description: All changes, by name.
      type: list
      elements: dict
      contains:
        name:
          description: The package.
          type: str
          sample: nvidia-driver-610-open
        action:
          description: V(install), V(upgrade), V(downgrade) or V(remove).
          type: str
        old:
          description: The version that is there.
          type: str
        new:
          description: The version that would come.
          type: str
          sample: 610.43.02-1ubuntu1
        origin:
          description: Where it would come from.
          type: str
          sample: NVIDIA CUDA:localhost
        kind:
          description:
            - V(driver), V(firmware), V(modules) for a kernel, V(tool) of the driver, or V(kernel). Null for all others.
          type: str
        text:
          description: All of it in one line.
          type: str
    guarded:
      description: Those of RV(simulation.moves) that would move the driver or a kernel.
      type: list
      elements: dict
    installs:
      description: Packages that would come anew.
      type: list
      elements: str
      sample: [cuda-toolkit-13-3]
    unknown:
      description: Names that apt does not know, or not in this version.
      type: list
      elements: str
    errors:
      description: Why apt refuses, if it does.
      type: list
      elements: str
    disk:
      description: What is needed and free in bytes, and whether downloads and C(/usr) share a file system.
      type: dict
      sample:
        download_bytes: 3221225472
        unpacked_bytes: 7516192768
        free_bytes: 912680550400
        archives_free_bytes: 912680550400
        same: true
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cuda.apt import NAME, Asked, judge, look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "install_recommends": {"type": "bool", "default": False},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    wrong = [name for name in params["packages"] if not NAME.fullmatch(name)]
    if wrong:
        names = ", ".join(map(repr, wrong))
        module.fail_json(msg=f"packages has {names}; expected: names of packages, each alone or as name=version")
    asked = Asked(tuple(params["packages"]), params["state"] == "absent", params["install_recommends"])
    simulation = judge(look(Tree(params["root"]), ModuleRunner(module), asked), asked)
    module.exit_json(changed=False, simulation=simulation)


if __name__ == "__main__":
    main()
