#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: reboot_memory
short_description: Remembers on a node for what it was rebooted automatically
version_added: 0.1.0
description:
  - Keeps one file on the node with the automatic reboots, each with its reason codes, the cabling, the boot that it
    ended and the time. With it a reboot that did not help is not made a second time, in whatever run.
  - The same reason is the same cause. The log lines of a cable that was plugged while the node ran and the bandwidth
    that follows from it are one cause.
  - The same cabling is the same cables between the same NICs. What is not known, such as a neighbour that was not heard
    yet, fits anything.
  - An entry counts once its boot is over. One that was written and not followed by a reboot means nothing.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
  platform:
    support: full
options:
  state:
    description:
      - V(read) only looks.
      - V(remembered) adds a reboot that is about to be made, unless one for the same reason with the same cabling is
        remembered already.
      - V(forgotten) removes the file.
    type: str
    choices: [read, remembered, forgotten]
    default: read
  codes:
    description:
      - RV(switchless.spark.cx7_health#module:health.reboot_codes) of this node.
      - Empty for a node that only reboots because of another one.
    type: list
    elements: str
    default: []
  ports:
    description:
      - The ports of this node that the plan uses, C(ports) of P(switchless.spark.fabric_host#filter).
    type: list
    elements: dict
    default: []
  functions:
    description:
      - RV(switchless.spark.cx7_info#module:cx7.functions) of this node.
    type: list
    elements: dict
    default: []
  wanted_by:
    description:
      - The nodes for which the fabric is rebooted.
    type: list
    elements: str
    default: []
  path:
    description:
      - The file.
    type: path
    default: /var/lib/switchless/cx7/reboots.json
seealso:
  - module: switchless.spark.fabric_reboot
  - module: switchless.spark.cx7_health
"""

EXAMPLES = r"""
- name: Ask whether this node was rebooted for that before
  switchless.spark.reboot_memory:
    codes: "{{ judged.health.reboot_codes }}"
    ports: "{{ fabric_node.ports }}"
    functions: "{{ nic.cx7.functions }}"
  register: memory

- name: Allow one more reboot, after a cable was taken out and put back into the same place
  switchless.spark.reboot_memory:
    state: forgotten
"""

RETURN = r"""
memory:
  description: What is remembered.
  returned: success
  type: dict
  contains:
    already_rebooted:
      description: Whether the node was rebooted for one of O(codes) with this cabling.
      type: bool
    previous:
      description: That reboot. Null if there was none.
      type: dict
      sample:
        time: "2026-11-30T14:02:11Z"
        boot_id: 7d9f6b0e-2f0b-4f2c-9a2f-3a1a7f0f4b11
        codes: [hotplug, not_advertised]
        wanted_by: [spark2]
        cabling:
          - {cage: p0, root: A, peer: "spark1:p1", mac: "4c:bb:47:00:00:02", far: "4c:bb:47:00:00:11"}
    cabling:
      description: The cabling of now.
      type: list
      elements: dict
    count:
      description: How many automatic reboots are remembered.
      type: int
"""

import os
import tempfile
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._boot import memory

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read(path: Path) -> str | None:
    """The file's content; None when there is no file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Whole or not at all, and on the disk before this returns: the node goes down next."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new = Path(name)
    new.chmod(0o644)
    new.rename(path)
    folder = os.open(path.parent, os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def run(module: AnsibleModule) -> None:
    """Read, then add or remove what was asked for."""
    params = module.params
    path = Path(params["path"])
    text = read(path)
    if params["state"] == "forgotten":
        if text is not None and not module.check_mode:
            path.unlink()
        changed, text = text is not None, None
    else:
        changed = False
    reboots = memory.load(text)
    boot_id = Path(BOOT_ID).read_text(encoding="utf-8").strip()
    plugs = memory.cabling(params["ports"], params["functions"])
    previous = memory.find(reboots, params["codes"], plugs, boot_id)
    if params["state"] == "remembered" and previous is None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        codes, wanted_by = tuple(sorted(params["codes"])), tuple(params["wanted_by"])
        new = memory.Reboot(now, boot_id, codes, plugs, wanted_by)
        changed = all(replace(reboot, time=now) != new for reboot in reboots)
        reboots = memory.add(reboots, new)
        if changed and not module.check_mode:
            write(path, memory.dump(reboots))
    module.exit_json(
        changed=changed,
        memory={
            "already_rebooted": previous is not None,
            "previous": previous.as_dict() if previous is not None else None,
            "cabling": [asdict(plug) for plug in plugs],
            "count": len(reboots),
        },
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["read", "remembered", "forgotten"], "default": "read"},
            "codes": {"type": "list", "elements": "str", "default": []},
            "ports": {"type": "list", "elements": "dict", "default": []},
            "functions": {"type": "list", "elements": "dict", "default": []},
            "wanted_by": {"type": "list", "elements": "str", "default": []},
            "path": {"type": "path", "default": "/var/lib/switchless/cx7/reboots.json"},
        },
        supports_check_mode=True,
    )
    path = module.params["path"]
    try:
        run(module)
    except memory.UnreadableError as error:
        module.fail_json(
            msg=f"{path} does not hold what was written there: {error}. Whether this node was rebooted before is "
            "therefore not known; look at the file, then remove it to allow one more automatic reboot."
        )
    except OSError as error:
        module.fail_json(msg=f"The memory of automatic reboots, {path}, cannot be used: {error}")


if __name__ == "__main__":
    main()
