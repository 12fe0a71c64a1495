#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_journal_info
short_description: Reads one start of a unit from the journal
version_added: 0.1.0
description:
  - Returns the lines that a unit wrote in one of its starts, what systemd and the kernel said meanwhile, what
    systemd says of the unit now, and the facts of the node that decide between causes. Changes nothing.
  - The filters P(switchless.spark.vllm_phases#filter) and P(switchless.spark.vllm_diagnosis#filter) read what it
    returns.
  - Of a long journal it keeps the lines that matter to them, the end and the beginning. A unit or a start that is not
    there gives no lines, and is never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  unit:
    description: The unit, with its suffix.
    type: str
    required: true
  invocation:
    description:
      - Which start of the unit. V(current) is the last one, running or not, V(previous) the one before it.
      - Otherwise an identifier, 32 hexadecimal digits, as in RV(journal.invocations).
    type: str
    default: current
  max_lines:
    description: How many lines to keep.
    type: int
    default: 2000
  max_bytes:
    description: How many bytes of lines to keep, 160 counted for each beside its text.
    type: int
    default: 524288
  root:
    description:
      - Folder below which files are read, for a copy of a node's files.
      - The commands C(systemctl) and C(journalctl) ask the node all the same.
    type: path
    default: /
seealso:
  - plugin: switchless.spark.vllm_phases
    plugin_type: filter
  - plugin: switchless.spark.vllm_diagnosis
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read what this rank said in its last start
  switchless.spark.vllm_journal_info:
    unit: vllm@glm.service
  register: seen
  become: true

- name: Show how far it is
  ansible.builtin.debug:
    msg: "{{ (seen | switchless.spark.vllm_phases).current }}"
"""

RETURN = r"""
journal:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    read_at:
      description: When it was read, in seconds since the epoch.
      type: float
    invocation:
      description: Identifier of the start whose lines these are. Empty when there is none.
      type: str
    invocations:
      description: Identifiers of the unit's starts that the journal knows, the newest first, ten at most.
      type: list
      elements: str
    omitted:
      description: How many lines were left out, at least. 0 means that all are here.
      type: int
      sample: 0
    detail:
      description: Why the journal could not be read.
      type: str
    unit:
      description: What systemd says of the unit now. Unknown texts are empty.
      type: dict
      contains:
        load:
          description: Whether it is loaded.
          type: str
          sample: loaded
        active:
          description: Whether it is active.
          type: str
          sample: failed
        sub:
          description: Its state in detail.
          type: str
          sample: failed
        result:
          description: How it ended.
          type: str
          sample: signal
        exit_status:
          description: Exit status or signal of its main process. vLLM ends with 0 after a crash too.
          type: int
          sample: 9
        restarts:
          description: How often systemd started it again.
          type: int
          sample: 0
        pid:
          description: Its main process.
          type: int
        started:
          description: When its main process was started, in seconds since the epoch.
          type: float
        invocation:
          description: Identifier of its last start.
          type: str
    host:
      description: Facts of the node.
      type: dict
      contains:
        boot:
          description: Identifier of the boot that runs now.
          type: str
        kernel:
          description: Release of the kernel.
          type: str
          sample: 6.17.0-1031-nvidia
        cma_total_kb:
          description: The kernel's contiguous memory area in kB.
          type: int
          sample: 131072
        cma_free_kb:
          description: What is free of it in kB.
          type: int
        mem_free_kb:
          description: Free memory in kB.
          type: int
        mem_available_kb:
          description: Memory that programs can have in kB.
          type: int
        memlock:
          description: The unit's limit on locked memory in bytes, or V(infinity).
          type: str
          sample: infinity
    lines:
      description: The lines, in the order of their time.
      type: list
      elements: dict
      contains:
        time:
          description: Seconds since the epoch.
          type: float
        monotonic:
          description: Seconds since the boot.
          type: float
        priority:
          description: As in syslog.
          type: int
          sample: 6
        source:
          description: Who wrote it, V(unit), V(systemd) or V(kernel).
          type: str
          sample: unit
        invocation:
          description: The start of the unit. Empty for a line of the kernel.
          type: str
        boot:
          description: The boot.
          type: str
        pid:
          description: The process.
          type: int
        message:
          description: The text without colours, 4000 characters at most.
          type: str
"""

import re
import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner
from ansible_collections.switchless.spark.plugins.module_utils._serving.read import (
    CURRENT,
    PREVIOUS,
    SHOWN,
    Limits,
    Reader,
    Seen,
    host,
    unit,
)

SCHEMA = 1


def result(reader: Reader, tree: Tree, wanted: str, limits: Limits, now: float) -> dict[str, object]:
    said = reader.show()
    shown = unit(said)
    starts = reader.invocations(str(shown["invocation"]))
    place = {CURRENT: 0, PREVIOUS: 1}.get(wanted)
    chosen = wanted if place is None else starts[place] if len(starts) > place else ""
    seen = reader.read(chosen, limits) if chosen else Seen()
    return {
        "schema": SCHEMA,
        "read_at": now,
        "invocation": chosen,
        "invocations": starts[:SHOWN],
        "omitted": seen.omitted,
        "detail": seen.detail,
        "unit": shown,
        "host": host(tree, said.get("LimitMEMLOCK", "")),
        "lines": [line.as_dict() for line in seen.lines],
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "invocation": {"type": "str", "default": CURRENT},
            "max_lines": {"type": "int", "default": 2000},
            "max_bytes": {"type": "int", "default": 524288},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    wanted = params["invocation"].replace("-", "").lower()
    if wanted not in (CURRENT, PREVIOUS) and not re.fullmatch(r"[0-9a-f]{32}", wanted):
        module.fail_json(
            msg=f"invocation is {params['invocation']}, expected {CURRENT}, {PREVIOUS} or 32 hexadecimal digits"
        )
    for name in ("max_lines", "max_bytes"):
        if params[name] < 1:
            module.fail_json(msg=f"{name} is {params[name]}, expected 1 or more")
    reader = Reader(ModuleRunner(module), params["unit"])
    limits = Limits(params["max_lines"], params["max_bytes"])
    module.exit_json(changed=False, journal=result(reader, Tree(params["root"]), wanted, limits, time.time()))


if __name__ == "__main__":
    main()
