#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: clock_cap_info
short_description: Tells whether the cap on the GPU's clock is in force
version_added: 0.1.0
description:
  - Reads which cap the role clock_cap has configured, what became of it in this boot, what C(nvidia-smi) says, and what
    else on the node sets clocks. With O(load_seconds) it also watches the clock while a program computes. Changes
    nothing and starts no load.
  - No field of C(nvidia-smi) shows a cap. So the verdict is V(verified) only when the clock was seen under load at no
    more than the cap and 50 MHz, and nothing speaks against it.
  - What is not there, or what C(nvidia-smi) does not know on a GB10, is null, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  load_seconds:
    description:
      - For how many seconds to watch the clock, once a second, while a program computes on the GPU.
      - It ends early when none does. With less than 3 there is never enough to see.
    type: int
    default: 0
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands C(systemctl), C(journalctl) and C(nvidia-smi) ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.transport_info
"""

EXAMPLES = r"""
- name: Look at the cap while the model computes
  switchless.spark.clock_cap_info:
    load_seconds: 20
  register: seen
  become: true

- name: Require a proof
  ansible.builtin.assert:
    that: seen.clocks.verdict == 'verified'
    fail_msg: "{{ seen.clocks.reasons | map(attribute='text') | join('\n') }}"

- name: Stop on a node whose power supply is in its safety state
  ansible.builtin.assert:
    that: seen.clocks.slow == []
    fail_msg: "{{ seen.clocks.reasons | map(attribute='remedy') | join('\n') }}"
"""

RETURN = r"""
clocks:
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
        - The worst of RV(clocks.reasons), V(verified) without one.
        - V(unverified) means that nothing speaks against the cap and no load has shown it, V(not_applied) that it is
          not in force in this boot, V(conflict) that something else sets clocks, V(unsupported) that C(nvidia-smi)
          cannot set the clocks of this GPU.
      type: str
      sample: unverified
    reasons:
      description: Why it is not V(verified), the worst first.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: no_load_test
        verdict:
          description: The verdict that it stands for.
          type: str
          sample: unverified
        text:
          description: What was seen, and what was expected.
          type: str
        remedy:
          description: What to do.
          type: str
    configured:
      description: What the files of our unit ask for.
      type: dict
      contains:
        max_mhz:
          description: The cap in MHz.
          type: int
          sample: 2200
        files:
          description: The unit file and its drop-ins.
          type: list
          elements: str
          sample: [/etc/systemd/system/switchless-clock-cap.service]
        detail:
          description: Why no cap is known.
          type: str
    applied:
      description: What became of it in this boot.
      type: dict
      contains:
        this_boot:
          description: Whether our unit ran, and C(nvidia-smi) told it that the cap is set.
          type: bool
        asked_mhz:
          description: The cap that it asked for in MHz.
          type: int
          sample: 2000
        min_mhz:
          description: The lower limit that C(nvidia-smi) set in MHz.
          type: int
          sample: 0
        max_mhz:
          description: The upper limit that C(nvidia-smi) set in MHz. It may be rounded.
          type: int
          sample: 1976
        unsupported:
          description: Whether C(nvidia-smi) said that the clocks of this GPU cannot be set.
          type: bool
        denied:
          description: Whether C(nvidia-smi) said that its user may not set clocks.
          type: bool
        said:
          description: The end of the unit's log.
          type: str
    unit:
      description: What systemd says of our unit. Unknown texts are empty.
      type: dict
      contains:
        load:
          description: Whether it is loaded.
          type: str
          sample: loaded
        active:
          description: Whether it is active.
          type: str
          sample: active
        sub:
          description: Its state in detail.
          type: str
          sample: exited
        result:
          description: How it ended.
          type: str
          sample: success
        enabled:
          description: Whether it starts at boot.
          type: str
          sample: enabled
        exit_status:
          description: Exit status of its program.
          type: int
          sample: 0
        invocation:
          description: Identifier of its last start in this boot.
          type: str
        need_reload:
          description: Whether systemd has loaded something else than the files say.
          type: bool
    gpu:
      description: The first GPU, as C(nvidia-smi -q) shows it. Null when it shows none.
      type: dict
      contains:
        name:
          description: The product.
          type: str
          sample: NVIDIA GB10
        bus:
          description: Its PCI address.
          type: str
          sample: 0000000F:01:00.0
        persistence:
          description: Whether the driver stays loaded without a program.
          type: bool
        sm_mhz:
          description: The clock now in MHz.
          type: int
          sample: 208
        max_sm_mhz:
          description: The clock that the product could have in MHz. A cap does not change it.
          type: int
          sample: 3003
        temperature_c:
          description: Temperature in degrees Celsius.
          type: int
          sample: 38
        power_w:
          description: Power draw of the GPU in watts.
          type: float
          sample: 3.74
        reasons:
          description: What holds the clock down now. A GB10 may say nothing while it does.
          type: list
          elements: str
          sample: [Idle]
        counters_us:
          description: For how long each reason held the clock down, in microseconds.
          type: dict
          sample: {SW Power Capping: 10800240649}
    gpu_detail:
      description: What C(nvidia-smi) said instead of showing a GPU.
      type: str
    others:
      description: Lines in other people's units, scripts of units, cron files and C(rc.local) that set clocks.
      type: list
      elements: dict
      contains:
        file:
          description: The file.
          type: str
          sample: /etc/systemd/system/gpu-clock-lock.service
        line:
          description: The line, counted from 1.
          type: int
        text:
          description: What it says.
          type: str
          sample: ExecStart=/usr/bin/nvidia-smi -lgc 0,2000
        kind:
          description: What runs it, V(unit), V(cron) or V(boot).
          type: str
        unit:
          description: The systemd unit that has or runs it.
          type: str
          sample: gpu-clock-lock.service
        max_mhz:
          description: The cap that it sets in MHz.
          type: int
          sample: 2000
        live:
          description: Whether it is or will be run. Null when that is not known, which counts as true.
          type: bool
    unread:
      description: Files and folders that may set clocks and cannot be read.
      type: list
      elements: str
      sample: [/var/spool/cron/crontabs]
    load:
      description: What was seen in O(load_seconds).
      type: dict
      contains:
        seconds:
          description: What was asked for.
          type: int
        samples:
          description: One for each second in which a program computed on the GPU.
          type: list
          elements: dict
          contains:
            sm_mhz:
              description: The clock in MHz.
              type: int
              sample: 2185
            utilization_percent:
              description: Utilization of the GPU in percent.
              type: int
              sample: 96
            power_w:
              description: Power draw of the GPU in watts.
              type: float
              sample: 44.1
            temperature_c:
              description: Temperature in degrees Celsius.
              type: int
              sample: 63
        detail:
          description: Why it ended early.
          type: str
    highest_mhz:
      description: The fastest clock under load in MHz.
      type: int
      sample: 2210
    slow:
      description:
        - Samples in which the GPU was busy at 500 to 850 MHz and below 40 W, and no slowdown was reported. That is the
          safety state of the power supply, and no effect of a cap.
        - Each is like those of RV(clocks.load.samples).
      type: list
      elements: dict
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._clocks.judge import Seen, highest, judge, slow, verdict
from ansible_collections.switchless.spark.plugins.module_utils._clocks.look import look, watch
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner

SCHEMA = 1


def result(seen: Seen) -> dict[str, object]:
    reasons = judge(seen)
    return {
        "schema": SCHEMA,
        "verdict": verdict(reasons),
        "reasons": [reason.as_dict() for reason in reasons],
        "configured": seen.configured.as_dict(),
        "applied": {"this_boot": seen.state.applied, "said": seen.said} | seen.lock.as_dict(),
        "unit": seen.state.as_dict(),
        "gpu": seen.gpu.as_dict() if seen.gpu is not None else None,
        "gpu_detail": seen.gpu_detail,
        "others": [other.as_dict() for other in seen.others],
        "unread": list(seen.unread),
        "load": seen.load.as_dict(),
        "highest_mhz": highest(seen.load),
        "slow": [sample.as_dict() for sample in slow(seen)],
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "load_seconds": {"type": "int", "default": 0},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    runner = ModuleRunner(module)
    if module.params["load_seconds"] < 0:
        module.fail_json(msg=f"load_seconds is {module.params['load_seconds']}, expected 0 or more seconds")
    load = watch(runner, module.params["load_seconds"], time.monotonic, time.sleep)
    module.exit_json(changed=False, clocks=result(look(Tree(module.params["root"]), runner, load)))


if __name__ == "__main__":
    main()
