#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: checkpoint_fetch
short_description: Takes a checkpoint from the neighbours on the fabric, verifies it and gives it to the next node
version_added: 0.1.0
description:
  - Runs the agent of the role checkpoint in a transient systemd unit, which goes on when the ssh connection is lost,
    and says how far it is. What came is verified while it comes, and gets its name only then.
  - On the node that has the checkpoint it reads and verifies the files before it gives them away.
  - The agent serves the addresses and the neighbours that the job names only. It is stopped with O(state=stopped), and
    ends by itself when nobody asked it for a quarter of an hour.
  - Files that the agent replaces are kept in C(.switchless/replaced) up to a size of 64 MiB.
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
options:
  state:
    description:
      - V(started), the agent works on O(job), or has done so and has nobody to serve. An agent with another job is
        stopped first. One that failed starts anew, and goes on where it was.
      - V(stopped), no agent runs.
    type: str
    choices: [started, stopped]
    default: started
  job:
    description:
      - What to do, from P(switchless.spark.checkpoint_jobs#filter). Needed with O(state=started).
    type: dict
  run:
    description:
      - A word of the run that asks. What was completed for another run is looked at again, since files may have been
        harmed after that.
    type: str
    default: ""
  wait_seconds:
    description: For how many seconds to wait for the end at most.
    type: int
    default: 0
  program:
    description: The agent.
    type: path
    default: /usr/local/lib/switchless/checkpoint_agent.py
  state_folder:
    description: The folder with job, status and digests.
    type: path
    default: /var/lib/switchless/checkpoint
seealso:
  - module: switchless.spark.checkpoint_info
  - plugin: switchless.spark.checkpoint_jobs
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Take the checkpoint
  switchless.spark.checkpoint_fetch:
    job: "{{ jobs[inventory_hostname] }}"
    wait_seconds: 60
  register: fetch
  failed_when: fetch.transfer.state == 'failed'

- name: Show how far it is
  ansible.builtin.debug:
    msg: "{{ fetch.transfer.bytes_done }} of {{ fetch.transfer.bytes_total }} bytes"

- name: End it
  switchless.spark.checkpoint_fetch:
    state: stopped
"""

RETURN = r"""
transfer:
  description:
    - What the agent says of its job. Before it says anything, only RV(transfer.state) and RV(transfer.error) are there.
  returned: success
  type: dict
  contains:
    state:
      description:
        - V(running), V(complete), V(failed), V(stopped), or V(absent) where no agent has had this job.
        - With V(complete) the agent may still give files to others.
      type: str
      sample: running
    error:
      description: Why it failed.
      type: str
    files_done:
      description: Number of verified files.
      type: int
      sample: 17
    files_total:
      description: Number of files.
      type: int
      sample: 63
    bytes_done:
      description: Size of what is verified, and of what has come of the next files.
      type: int
    bytes_total:
      description: Size of all files.
      type: int
    received_bytes:
      description: What came over the fabric in this run.
      type: int
    read_bytes:
      description: What was read from the own disk to verify it.
      type: int
    seconds:
      description: For how long it has run.
      type: float
    rate_mb_per_second:
      description: What it receives and reads, in MB/s over the last ten seconds.
      type: float
    mean_mb_per_second:
      description: The same since it started.
      type: float
    lanes:
      description: The files that are on their way.
      type: list
      elements: dict
      contains:
        lane:
          description: The way round and the PCIe root.
          type: str
          sample: onward A
        peer:
          description: Who gives it. Null where the own disk is read.
          type: str
          sample: spark2
        file:
          description: The file.
          type: str
          sample: model-00007-of-00048.safetensors
        size:
          description: Its size in bytes.
          type: int
        bytes:
          description: What is here of it.
          type: int
said:
  description: The end of the agent's log, where it failed.
  returned: success
  type: str
"""

import json
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint import transfer
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.files import read_bytes
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import CommandError, ModuleRunner, Runner

POLL_SECONDS = 0.5


def load(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(read_bytes(path) or b"")
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def begin(module: AnsibleModule, runner: Runner, job: dict[str, Any], folder: Path) -> bool:
    """Bring the agent to this job. Gives whether that was a change."""
    seen = transfer.unit(runner)
    found = transfer.state_of(seen, load(folder / "status.json"), job)
    if transfer.fits(seen, found, job, load(folder / "job.json")):
        return False
    if module.check_mode:
        return True
    transfer.stop(runner)
    Path(job["path"]).mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "status.json").unlink(missing_ok=True)
    temporary = Path(module.tmpdir) / "job.json"
    temporary.write_text(json.dumps(job, indent=1) + "\n")
    module.atomic_move(str(temporary), str(folder / "job.json"))
    transfer.start(runner, module.params["program"], str(folder / "job.json"), [job["path"], str(folder)])
    return True


def follow(runner: Runner, job: dict[str, Any], folder: Path, seconds: int) -> dict[str, Any]:
    """What became of it after this time, or when it ended."""
    deadline = time.monotonic() + seconds
    while True:
        found = transfer.state_of(transfer.unit(runner), load(folder / "status.json"), job)
        if found["state"] != transfer.RUNNING or time.monotonic() >= deadline:
            return found
        time.sleep(POLL_SECONDS)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "job": {"type": "dict"},
            "run": {"type": "str", "default": ""},
            "wait_seconds": {"type": "int", "default": 0},
            "program": {"type": "path", "default": "/usr/local/lib/switchless/checkpoint_agent.py"},
            "state_folder": {"type": "path", "default": "/var/lib/switchless/checkpoint"},
        },
        required_if=[("state", "started", ("job",))],
        supports_check_mode=True,
    )
    runner = ModuleRunner(module)
    folder = Path(module.params["state_folder"])
    try:
        if module.params["state"] == "stopped":
            lives = transfer.unit(runner).lives
            if not module.check_mode:
                transfer.stop(runner)
                if transfer.unit(runner).lives:
                    module.fail_json(
                        msg=f"{transfer.UNIT} was stopped, and still runs: see systemctl status {transfer.UNIT}"
                    )
            module.exit_json(changed=lives, transfer={"state": transfer.STOPPED, "error": None}, said="")
        job = transfer.identified(module.params["job"]) | {"run": module.params["run"]}
        changed = begin(module, runner, job, folder)
        found = follow(runner, job, folder, 0 if module.check_mode else module.params["wait_seconds"])
        said = transfer.journal(runner) if found["state"] == transfer.FAILED else ""
    except (CommandError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, transfer=found, said=said)


if __name__ == "__main__":
    main()
