#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_group_info
short_description: Looks at one rank of a group of vLLM ranks on its node
version_added: 0.1.0
description:
  - Returns what systemd says of the unit C(vllm@RECIPE.service), and what the keeper of the rank says of itself and of
    the last life of the group. Changes nothing.
  - The filter P(switchless.spark.vllm_group#filter) puts the nodes of a group together.
  - A unit or a file that is not there, is not readable or is torn is an answer, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  recipe:
    description: The recipe.
    type: str
    required: true
  config_file:
    description: What the rank runs. The default is C(/etc/switchless/vllm/RECIPE/rank.json).
    type: path
  state_file:
    description: What the keeper says now. The default is C(/run/vllm/RECIPE/state.json).
    type: path
  end_file:
    description: What the head says of the last life. The default is C(/var/lib/vllm/RECIPE/last_end.json).
    type: path
  root:
    description:
      - Folder below which files are read, for a copy of a node's files.
      - The command C(systemctl) asks the node all the same.
    type: path
    default: /
seealso:
  - plugin: switchless.spark.vllm_group
    plugin_type: filter
  - module: switchless.spark.vllm_ready
"""

EXAMPLES = r"""
- name: Look at every rank
  switchless.spark.vllm_group_info:
    recipe: lab
  register: seen
  become: true

- name: Say what the group does
  ansible.builtin.debug:
    msg: "{{ (looks | switchless.spark.vllm_group(order)).summary }}"
  vars:
    order: [spark1, spark2]
    looks: "{{ dict(order | zip(order | map('extract', hostvars, 'seen'))) }}"
  run_once: true
"""

RETURN = r"""
rank:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    recipe:
      description: The recipe.
      type: str
      sample: lab
    read_at:
      description: When it was read, in seconds since the epoch.
      type: float
    boot:
      description: Identifier of the boot that runs now.
      type: str
    unit:
      description: What systemd says of the unit. Unknown texts are empty.
      type: dict
      contains:
        load:
          description: Whether it is loaded.
          type: str
          sample: loaded
        load_error:
          description: Why it is not.
          type: str
        active:
          description: Whether it is active.
          type: str
          sample: active
        sub:
          description: Its state in detail.
          type: str
          sample: running
        result:
          description: How it ended.
          type: str
          sample: success
        exit_status:
          description: Exit status or signal of its main process.
          type: int
          sample: 0
        restarts:
          description: How often systemd started it again.
          type: int
          sample: 0
        pid:
          description: Its main process, the keeper of the rank.
          type: int
        started:
          description: When its main process was started, in seconds since the epoch.
          type: float
        changed:
          description: Since when it is as it is, in seconds since the epoch.
          type: float
        invocation:
          description: Identifier of its last start.
          type: str
        status_text:
          description: What the keeper told systemd.
          type: str
        enabled:
          description: Whether it starts at boot.
          type: str
          sample: enabled
        need_reload:
          description: Whether systemd has loaded something else than the files say.
          type: bool
        memory_bytes:
          description: Memory of all its processes in bytes.
          type: int
        starts_allowed:
          description: How many starts it may have in RV(rank.unit.starts_within).
          type: int
          sample: 5
        starts_within:
          description: The time for which starts are counted, as systemd writes it.
          type: str
          sample: 1h
    unit_detail:
      description: Why systemd gave no answer.
      type: str
    unit_raw:
      description: The answer of systemd.
      type: str
    config:
      description: What the rank is to run, O(config_file).
      type: dict
      contains:
        path:
          description: The file.
          type: str
        found:
          description: Whether it is there. Null when that cannot be told.
          type: bool
        detail:
          description: Why it has no answer.
          type: str
        group:
          description: SHA-256 over what must be equal on all ranks.
          type: str
    state:
      description: What the keeper says, O(state_file).
      type: dict
      contains:
        path:
          description: The file.
          type: str
        found:
          description: Whether it is there. Null when that cannot be told.
          type: bool
        stale:
          description:
            - Whether it is of an earlier boot or an earlier start of the unit, or says that the rank lives while the
              unit does not run. Null when that cannot be told.
          type: bool
        detail:
          description: Why it has no answer, or why it is of the past.
          type: str
        data:
          description: What it says.
          type: dict
        raw:
          description: Its text.
          type: str
    last_end:
      description: What the head says of the last life, O(end_file).
      type: dict
      contains:
        path:
          description: The file.
          type: str
        found:
          description: Whether it is there. Null when that cannot be told.
          type: bool
        detail:
          description: Why it has no answer.
          type: str
        data:
          description: What it says.
          type: dict
        raw:
          description: Its text.
          type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner
from ansible_collections.switchless.spark.plugins.module_utils._serving.group_look import NAME, as_dict, look, places

SCHEMA = 1


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "recipe": {"type": "str", "required": True},
            "config_file": {"type": "path"},
            "state_file": {"type": "path"},
            "end_file": {"type": "path"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    recipe = params["recipe"]
    if not NAME.fullmatch(recipe):
        module.fail_json(msg=f"recipe is {recipe!r}, expected letters, digits and . _ - as in the unit's name")
    where = places(recipe, params["config_file"] or "", params["state_file"] or "", params["end_file"] or "")
    seen = look(Tree(params["root"]), ModuleRunner(module), recipe, where)
    module.exit_json(changed=False, rank={"schema": SCHEMA, "recipe": recipe, "read_at": time.time()} | as_dict(seen))


if __name__ == "__main__":
    main()
