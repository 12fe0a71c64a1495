#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_driver
short_description: Keeps the NVIDIA driver and the kernel of a node where they are, or moves the driver as a whole
version_added: 0.1.0
description:
  - Holds all packages of the driver and of the wanted kernel, marks them as manual, keeps the drivers of NVIDIA's CUDA
    repository out by a preference, and puts all of them on the blacklist of unattended-upgrades. A hold on a part of
    the family would make C(apt-get dist-upgrade) remove the driver, so all of it is held.
  - The container toolkit, NCCL and CUDA come from the same repository and stay free.
  - Judges the node first, as M(switchless.spark.nvidia_driver_info) does, and refuses with all reasons, before
    anything is changed, where something is wrong that this module does not cure.
  - Moves the driver only with O(allow_change=true), in one run of C(apt-get) that was simulated before. It refuses
    when one package of the family cannot be had at that version, when no build of the kernel's modules is for that
    driver, when anything else of the driver or a kernel would move, when anything else would be removed, and when the
    disk is too full. The drivers of the CUDA repository are not taken.
  - Never reboots, never moves a kernel, and never runs C(apt-get update).
  - Once the loaded driver is the installed one, a CDI specification that names another one is generated anew with
    C(nvidia-ctk).
  - Remembers in C(/var/lib/switchless/nvidia_driver.json) what it held and marked. What was held before is the user's.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
attributes:
  check_mode:
    support: full
    details:
      - Reads and simulates all of it. What a hold makes C(apt-get) think of next is seen only in a real run.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  version:
    description:
      - The driver that is wanted.
    type: str
    default: 580.173.02
  flavour:
    description:
      - The kernel modules that are wanted. GB10 works with the open ones only.
    type: str
    choices: [open, proprietary]
    default: open
  kernel:
    description:
      - The kernel that is wanted, as C(uname -r) prints it, for example V(6.17.0-1032-nvidia).
      - Without it the running kernel is wanted.
    type: str
  allow_change:
    description:
      - Whether another driver may be installed than the one that is there.
      - Without it, another driver that is installed or loaded is an error.
    type: bool
    default: false
  state:
    description:
      - V(present) keeps the driver.
      - V(absent) takes away the holds, marks and files of this module, and changes no driver.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: switchless.spark.nvidia_driver_info
"""

EXAMPLES = r"""
- name: Keep the driver and the kernel
  switchless.spark.nvidia_driver:
    version: 580.173.02
    kernel: 6.17.0-1032-nvidia
  become: true

- name: Move to another driver of the branch
  switchless.spark.nvidia_driver:
    version: 580.178.04
    allow_change: true
  register: moved
  become: true

- name: Let go of it
  switchless.spark.nvidia_driver:
    state: absent
  become: true
"""

RETURN = r"""
actions:
  description: What was done, or would be done in check mode, in order.
  returned: always
  type: list
  elements: str
  sample:
    - write /etc/apt/preferences.d/switchless-nvidia-driver
    - hold libnvidia-compute-580 nvidia-driver-580-open
driver:
  description:
    - What RV(switchless.spark.nvidia_driver_info#module:driver) is afterwards, or now in check mode.
    - Null where it was not read to its end.
  returned: always
  type: dict
  sample: {verdict: ok}
reboot_wanted:
  description: Whether all is in place and waits for a reboot. In check mode also when the driver would be changed.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.converge import Converge
from ansible_collections.switchless.spark.plugins.module_utils._driver.session import StoppedError
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import CommandError, ModuleRunner

ROOT = "/"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "version": {"type": "str", "default": "580.173.02"},
            "flavour": {"type": "str", "choices": ["open", "proprietary"], "default": "open"},
            "kernel": {"type": "str"},
            "allow_change": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    params = module.params
    pin = Pin(version=params["version"], open=params["flavour"] == "open", kernel=params["kernel"] or None)
    if pin.branch is None:
        module.fail_json(msg=f"version is {pin.version!r}; expected: a driver's version such as 580.173.02")
    run = Converge(Tree(ROOT), ModuleRunner(module), pin, params["allow_change"], module.check_mode)
    try:
        if params["state"] == "present":
            run.present()
        else:
            run.absent()
    except StoppedError as error:
        module.fail_json(msg=str(error), actions=run.actions, driver=error.driver)
    except (CommandError, OSError) as error:
        module.fail_json(
            msg=f"{error}\nBegun until then: {'; '.join(run.actions) or 'nothing'}. It needs root, and no "
            "other program may be using dpkg: run it again once the cause is gone.",
            actions=run.actions,
            driver=None,
        )
    for text in run.warnings:
        module.warn(text)
    module.exit_json(
        changed=bool(run.actions),
        actions=run.actions,
        diff=run.diff,
        driver=run.driver,
        reboot_wanted=run.reboot_wanted,
    )


if __name__ == "__main__":
    main()
