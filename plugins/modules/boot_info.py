#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: boot_info
short_description: Tells what a node would boot next, and whether a reboot is neutral
version_added: 0.1.0
description:
  - Reads which kernel the boot loader would start, whether its image, initrd, modules and NVIDIA driver are there, and
    compares that with what runs. Changes nothing.
  - A reboot is neutral when it starts the kernel that runs, or O(pinned_kernel), with the driver that is loaded, or
    O(pinned_driver).
    After an upgrade that was never booted it is not, since the reboot would start what the upgrade left.
  - What cannot be told is null, never neutral.
  - The default entry is the one of C(grub.cfg), with C(next_entry) and C(saved_entry) of the environment block.
    C(GRUB_DEFAULT) is only returned, because it takes effect with the next C(update-grub).
  - A stock DGX Spark has no NVIDIA module under DKMS. What counts is C(nvidia.ko) of the kernel that boots next.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  pinned_kernel:
    description:
      - The kernel that is wanted, as C(uname -r) prints it, for example V(6.17.0-1032-nvidia).
      - Without it the running kernel is wanted.
    type: str
  pinned_driver:
    description:
      - The NVIDIA driver that is wanted, for example V(580.173.02).
      - Without it the loaded one is wanted.
    type: str
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands C(uname), C(systemd-detect-virt) and C(dpkg-query) ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.fabric_reboot
"""

EXAMPLES = r"""
- name: See what a reboot would start
  switchless.spark.boot_info:
  register: next

- name: Stop unless a reboot changes nothing
  ansible.builtin.assert:
    that: next.boot.neutral is true
    fail_msg: "{{ next.boot.reasons | map(attribute='text') | join('\n') }}"

- name: The same against the kernel that was chosen
  switchless.spark.boot_info:
    pinned_kernel: 6.17.0-1032-nvidia
"""

RETURN = r"""
boot:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    neutral:
      description: Whether a reboot is neutral. Null when that cannot be told.
      type: bool
    reasons:
      description: Why, those against the reboot first.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: staged_kernel
        neutral:
          description: What this reason alone makes of the reboot.
          type: bool
        seen:
          description: What was seen.
          type: str
          sample: GRUB's entry 'DGX OS GNU/Linux' starts 7.0.0-1019-nvidia, 6.17.0-1032-nvidia runs
        expected:
          description: What was expected. Empty if it is what was seen.
          type: str
        remedy:
          description: What to do. Empty if nothing.
          type: str
        text:
          description: All of it in one line.
          type: str
    expected_kernel:
      description: The pinned kernel, otherwise the running one.
      type: str
    running_kernel:
      description: The kernel that runs.
      type: str
      sample: 6.17.0-1032-nvidia
    next_kernel:
      description: The kernel that boots next.
      type: str
    next_source:
      description: Who says so, V(grub), V(symlink) for C(/boot/vmlinuz), or V(only_kernel).
      type: str
    container:
      description: The kind of container that the node is, by C(systemd-detect-virt). Null on a machine.
      type: str
    kernels:
      description: Kernels with a trace below C(/boot) or C(/lib/modules), oldest first.
      type: list
      elements: dict
      sample:
        - {version: 6.17.0-1032-nvidia, image: true, initrd: true, modules: true}
    packages:
      description: Packages of kernels. One that is not configured was left by an interrupted C(dpkg).
      type: list
      elements: dict
      sample:
        - name: linux-image-6.17.0-1032-nvidia
          version: 6.17.0-1032.32
          kernel: 6.17.0-1032-nvidia
          status: ii
          configured: true
    loader:
      description: What GRUB would do.
      type: dict
      sample:
        grub_cfg: true
        readable: true
        wanted: "0"
        one_time: false
        found: true
        title: DGX OS GNU/Linux
        image: vmlinuz-6.17.0-1032-nvidia
        initrds: [initrd.img-6.17.0-1032-nvidia]
        configured_default: "0"
    driver_loaded:
      description: Version of the NVIDIA module that is loaded.
      type: str
      sample: 580.173.02
    driver_now:
      description: NVIDIA module of the running kernel on disk, with C(present) and C(version).
      type: dict
    driver_next:
      description: NVIDIA module of the next kernel on disk, with C(present) and C(version).
      type: dict
    reboot_required:
      description: Whether C(/run/reboot-required) is there.
      type: bool
    reboot_required_packages:
      description: The packages that wait for a reboot.
      type: list
      elements: str
    boot_id:
      description: Identifier of this boot.
      type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._boot.judge import SCHEMA, judge
from ansible_collections.switchless.spark.plugins.module_utils._boot.look import look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "pinned_kernel": {"type": "str"},
            "pinned_driver": {"type": "str"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    seen = look(Tree(module.params["root"]), ModuleRunner(module))
    verdict = judge(seen, module.params["pinned_kernel"] or None, module.params["pinned_driver"] or None)
    module.exit_json(changed=False, boot={"schema": SCHEMA} | seen.as_dict() | verdict.as_dict())


if __name__ == "__main__":
    main()
