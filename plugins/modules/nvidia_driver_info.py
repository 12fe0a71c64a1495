#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_driver_info
short_description: Tells which NVIDIA driver a node has, what keeps it, and what an upgrade would do to it
version_added: 0.1.0
description:
  - Reads in one run which driver is loaded, installed and on offer, which of its packages are held, what the next boot
    would load, and what C(apt-get dist-upgrade) would move. Changes nothing, and refreshes no list of packages.
  - Judges all of it against the driver, flavour and kernel that are wanted, with reasons, evidence and what to do.
  - The loaded module decides, not what C(dpkg) calls installed. Of the next boot, C(nvidia.ko) of that kernel decides.
    A stock DGX Spark has no NVIDIA module under DKMS, so an empty C(dkms status) is right.
  - A driver with a higher version is not a better one. On GB10 it has to fit the firmware, and only the open one works.
  - What cannot be read is null and makes the verdict V(unknown) where it matters, never V(ok).
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
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
      - Whether an upgrade may move the driver and the kernel. Then the upgrade is judged by whether what it leaves fits
        together.
    type: bool
    default: false
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.boot_info
"""

EXAMPLES = r"""
- name: Look at the driver
  switchless.spark.nvidia_driver_info:
    version: 580.173.02
    kernel: 6.17.0-1032-nvidia
  register: seen
  become: true

- name: Stop unless it is loaded, installed and kept
  ansible.builtin.assert:
    that: seen.driver.verdict == 'ok'
    fail_msg: "{{ seen.driver.reasons | map(attribute='text') | join('\n') }}"

- name: See whether an upgrade that may move the driver would leave one that works
  switchless.spark.nvidia_driver_info:
    version: 580.178.04
    allow_change: true
  register: upgrade
"""

RETURN = r"""
driver:
  description: What was found. Unknown values are null.
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
        - V(fault), an installation that no reboot mends.
        - V(blocked), neither reboot nor upgrade before this is solved.
        - V(config), another driver, flavour or protection than is wanted.
        - V(unknown), something that matters cannot be read.
        - V(pending_reboot), all is in place and waits for a reboot.
        - V(ok), as wanted.
      type: str
      sample: ok
    reasons:
      description: Why, the worst first. Those with the verdict V(ok) beside a worse one are notes.
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
          description: What was seen.
          type: str
        expected:
          description: What was expected. Empty if it is what was seen.
          type: str
        remedy:
          description: What to do. Empty if nothing.
          type: str
        evidence:
          description: Lines that show it.
          type: list
          elements: str
        text:
          description: All of it but the evidence, in one line.
          type: str
    pin:
      description: What is wanted, with the running kernel when none was given.
      type: dict
      sample: {version: 580.173.02, flavour: open, kernel: 6.17.0-1032-nvidia}
    loaded:
      description:
        - The loaded module, and where that of the running kernel on disk comes from.
        - The source is V(prebuilt) for linux-modules-nvidia, V(dkms), or V(foreign) for a file that no package brought.
      type: dict
      sample: {version: 580.173.02, flavour: open, source: prebuilt}
    installed:
      description: The version that all packages of the driver have. Null when they differ.
      type: str
      sample: 580.173.02
    candidate:
      description: The version of the driver's metapackage that apt would choose.
      type: str
      sample: 580.173.02-0ubuntu0.24.04.1
    running_kernel:
      description: The kernel that runs.
      type: str
      sample: 6.17.0-1032-nvidia
    next_kernel:
      description: The kernel that boots next.
      type: str
    pending_kernel:
      description: The kernel that boots next, if it is not the one that runs.
      type: str
    next_driver:
      description: Module nvidia of the kernel that boots next.
      type: dict
      sample: {present: true, version: 580.173.02, source: prebuilt}
    reboot_required:
      description: Whether C(/run/reboot-required) is there.
      type: bool
    packages:
      description: Installed packages of the driver and of kernels, by name.
      type: list
      elements: dict
      contains:
        name:
          description: The package.
          type: str
          sample: nvidia-driver-580-open
        kind:
          description: V(driver), V(firmware), V(modules) for a kernel, V(tool) with a version of its own, or V(kernel).
          type: str
        flavour:
          description: V(open) or V(proprietary), if its name says so.
          type: str
        kernel:
          description: The kernel in its name. Null for a metapackage.
          type: str
        installed:
          description: Its version.
          type: str
          sample: 580.173.02-0ubuntu0.24.04.1
        driver_version:
          description: The driver's version inside it. Null when it has none, or when it cannot be read.
          type: str
          sample: 580.173.02
        candidate:
          description: The version that apt would choose.
          type: str
        held:
          description: Whether it is on hold.
          type: bool
        pinned:
          description: Whether a preference keeps its version, with a priority of 1000 or more.
          type: bool
        auto:
          description: Whether apt thinks that nobody asked for it.
          type: bool
        status:
          description: State of the package as C(dpkg -l) shows it. V(ii) and V(hi) are whole.
          type: str
          sample: hi
        origins:
          description: Repositories that have this version, by label and suite.
          type: list
          elements: str
          sample: [Ubuntu noble-updates]
    interrupted:
      description: Packages at which C(dpkg) was interrupted.
      type: list
      elements: str
    upgrade:
      description: What C(apt-get dist-upgrade) would do now.
      type: dict
      contains:
        rc:
          description: Exit status of the simulation. It is 0 too when packages are kept back.
          type: int
        moves:
          description: Changes of the driver's packages and of kernels.
          type: list
          elements: dict
          sample:
            - name: nvidia-modprobe
              action: upgrade
              old: 580.95.05-1
              new: 610.43.02-1ubuntu1
              origin: NVIDIA CUDA:localhost
              kind: tool
              text: upgrade nvidia-modprobe 580.95.05-1 -> 610.43.02-1ubuntu1 from NVIDIA CUDA:localhost
        others:
          description: Number of changes of other packages.
          type: int
        kept_back:
          description: Packages that it keeps back.
          type: list
          elements: str
        deferred:
          description: Packages that wait for their phase, which differs from node to node.
          type: list
          elements: str
        errors:
          description: Why it refuses, if it does.
          type: list
          elements: str
    upgrade_with_phased:
      description: The same with the packages that still wait for their phase.
      type: dict
    unattended_upgrades:
      description: Whether the daily upgrade is on, and its blacklist, which are patterns of Python's C(re.match).
      type: dict
      sample: {enabled: true, patterns: [nvidia-, libnvidia-, linux-]}
    dkms:
      description: Lines of C(dkms status) on nvidia. Null without DKMS.
      type: list
      elements: str
    smi:
      description: What C(nvidia-smi) answers. It is asked only when the module is loaded, since it would load it.
      type: dict
      sample: {answer: gpu, user: 580.173.02, kernel: 580.173.02, cuda: "13.0", library: null, text: ""}
    dgx:
      description:
        - Version and platform of C(/etc/dgx-release). The version is that of the last update over the air.
        - The platform is no way to tell a Spark.
      type: dict
      sample: {version: 7.5.0, platform: DGX Server for KVM}
    history:
      description: The latest runs of apt that changed the driver or a kernel, from its own history.
      type: list
      elements: dict
      sample:
        - date: "2026-09-11 23:53:56"
          command: aptdaemon role='role-upgrade-system'
          changes: [install linux-image-7.0.0-1019-nvidia 7.0.0-1019.19~24.04.2]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "version": {"type": "str", "default": "580.173.02"},
            "flavour": {"type": "str", "choices": ["open", "proprietary"], "default": "open"},
            "kernel": {"type": "str"},
            "allow_change": {"type": "bool", "default": False},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    pin = Pin(
        version=params["version"],
        open=params["flavour"] == "open",
        kernel=params["kernel"] or None,
        allow_change=params["allow_change"],
    )
    if pin.branch is None:
        module.fail_json(msg=f"version is {pin.version!r}; expected: a driver's version such as 580.173.02")
    seen = look(Tree(params["root"]), ModuleRunner(module), pin)
    module.exit_json(changed=False, driver=judge(seen, pin))


if __name__ == "__main__":
    main()
