# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action fabric_reboot: reboots the node that it runs for, together with all other nodes of the fabric."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.switchless.spark.plugins.module_utils._boot import group
from ansible_collections.switchless.spark.plugins.module_utils._boot.meeting import Meeting, Word

BOOT_ID = "/proc/sys/kernel/random/boot_id"
REBOOT = "/usr/bin/systemctl --no-block reboot"  # without --no-block it returned and did nothing while jobs were queued
CONNECT_SECONDS = 10
POLL_SECONDS = 2
LATE_SECONDS = 30  # between the first and the last node that gives up waiting
READY, BACK, WHOLE = "ready", "back", "whole"  # the stages at which all nodes meet

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "ports": {"type": "list", "elements": "dict", "required": True},
    "functions": {"type": "list", "elements": "dict", "required": True},
    "codes": {"type": "list", "elements": "str", "default": []},
    "wanted_by": {"type": "list", "elements": "str", "default": []},
    "pinned_kernel": {"type": "str"},
    "pinned_driver": {"type": "str"},
    "force": {"type": "bool", "default": False},
    "stop_units": {"type": "list", "elements": "str", "default": ["vllm@*.service"]},
    "memory_path": {"type": "path", "default": "/var/lib/switchless/cx7/reboots.json"},
    "ready_timeout": {"type": "int", "default": 300},
    "reboot_timeout": {"type": "int", "default": 900},
    "link_timeout": {"type": "int", "default": 180},
    "require_nic": {"type": "bool", "default": True},
}


class RefusedError(AnsibleError):  # type: ignore[misc]  # ansible-core has no types
    """This node cannot take part, so that no node is rebooted."""


@dataclass
class Facts:
    """What was found on the node before the reboot."""

    boot: Mapping[str, Any] = field(default_factory=dict)
    units: list[str] = field(default_factory=list)  # that serve
    stopped: list[str] = field(default_factory=list)
    boot_id_after: str | None = None

    @property
    def boot_id(self) -> str:
        return str(self.boot.get("boot_id"))


def _words(problems: list[Word]) -> str:
    return "; ".join(f"{word.host}: {word.problem}" for word in problems)


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types
    """See the documentation of the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        self._supports_check_mode = True
        self._vars: dict[str, Any] = task_vars or {}
        result: dict[str, Any] = super().run(tmp, self._vars)
        self._options: dict[str, Any] = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        self._host: str = self._vars["inventory_hostname"]
        self._hosts: list[str] = self._options["hosts"]
        result |= {"changed": False, "rebooted": False, "elapsed": 0, "nic_back": None, "missing": []}
        problems = group.problems(self._play())
        if problems:
            return result | self._failure("No node was rebooted", problems)
        facts = Facts()
        if self._task.check_mode:
            return result | self._foresee(facts)
        folder = Path(constants.DEFAULT_LOCAL_TMP) / f"fabric_reboot-{self._task._uuid}"  # noqa: SLF001
        self._meeting = Meeting(folder, self._hosts, self._host)
        return result | self._together(facts)

    # --- the play ---

    def _play(self) -> group.Play:
        return group.Play(
            host=self._host,
            fabric=tuple(self._hosts),
            targeted=tuple(self._vars.get("ansible_play_hosts_all", ())),
            batch=tuple(self._vars.get("ansible_play_batch", ())),
            active=tuple(self._vars.get("ansible_play_hosts", ())),
            forks=int(self._vars.get("ansible_forks", 1)),
            throttle=int(self._task.throttle or 0),
            run_once=bool(self._task.run_once),
        )

    @staticmethod
    def _failure(what: str, problems: list[str]) -> dict[str, Any]:
        return {"failed": True, "msg": f"{what}: {'. '.join(problems)}."}

    # --- on the node ---

    def _module(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Run a module on the node; its failure is a refusal."""
        result: dict[str, Any] = self._execute_module(module_name=name, module_args=arguments, task_vars=self._vars)
        if result.get("failed"):
            said = result.get("msg") or result.get("module_stderr") or "it said nothing"
            raise RefusedError(f"{name} failed: {str(said).strip()}")
        return result

    def _systemctl(self, *words: str) -> str:
        """Run systemctl on the node and give what it printed. Not by a module, which would not run in check mode."""
        argv = ["env", "LC_ALL=C", "systemctl", *words]
        done = self._low_level_execute_command(shlex.join(argv), sudoable=True)
        if done["rc"] != 0:
            raise RefusedError(f"{shlex.join(argv)} returned {done['rc']}: {done['stderr'] or done['stdout']}".strip())
        return str(done["stdout"])

    def _boot_info(self) -> dict[str, Any]:
        pins = {key: self._options[key] for key in ("pinned_kernel", "pinned_driver")}
        found: dict[str, Any] = self._module("switchless.spark.boot_info", **pins)["boot"]
        return found

    def _serving(self) -> list[str]:
        """The units that match and that run or are about to."""
        globs = self._options["stop_units"]
        if not globs:
            return []
        listed = self._systemctl(
            "list-units", "--plain", "--no-legend", "--no-pager", "--state=active,activating,reloading", *globs
        )
        return [line.split()[0] for line in listed.splitlines() if line.strip()]

    def _remember(self) -> None:
        """Write the memory before anything else is done; raises RefusedError if it says that once was enough."""
        keys = ("codes", "ports", "functions", "wanted_by")
        told = {key: self._options[key] for key in keys} | {"path": self._options["memory_path"]}
        memory = self._module("switchless.spark.reboot_memory", state="remembered", **told)["memory"]
        if memory["already_rebooted"] and not self._options["force"]:
            previous = memory["previous"]
            raise RefusedError(
                f"it was rebooted for {', '.join(previous['codes'])} with this cabling at {previous['time']}, "
                "and one automatic reboot for the same reason is the limit: drain its power by hand if that was for "
                "the NIC, or let reboot_memory forget it to allow one more"
            )

    def _look(self, facts: Facts) -> None:
        """Find out whether this node may go down; raises RefusedError if not."""
        if self._connection.transport == "local":
            raise RefusedError("it is the controller: run this from a machine that is not rebooted")
        facts.boot = self._boot_info()
        if facts.boot_id == Path(BOOT_ID).read_text(encoding="utf-8").strip():
            raise RefusedError(
                "it is the machine that Ansible runs on, by its boot id: run this from a machine that is not rebooted"
            )
        against = [reason["text"] for reason in facts.boot["reasons"] if reason["neutral"] is not True]
        if facts.boot["neutral"] is not True and not self._options["force"]:
            what = "is not neutral" if facts.boot["neutral"] is False else "cannot be shown to be neutral"
            raise RefusedError(f"a reboot {what}: {'; '.join(against)}")
        facts.units = self._serving()

    def _start(self, units: list[str]) -> None:
        """Start what was stopped, without waiting for a model to load."""
        if units:
            self._systemctl("start", "--no-block", *units)

    # --- check mode ---

    def _foresee(self, facts: Facts) -> dict[str, Any]:
        """Say what would be done."""
        try:
            self._look(facts)
        except AnsibleError as error:
            return self._failure("The fabric would not be rebooted", [f"{self._host}: {error}"])
        kernel = facts.boot["next_kernel"] or facts.boot["running_kernel"]
        stopped = f" after stopping {', '.join(facts.units)}" if facts.units else ""
        together = ", ".join(self._hosts)
        msg = f"Would reboot {self._host} into {kernel}{stopped}, at the same time as all of {together}."
        return {"changed": True, "msg": msg, "boot": facts.boot, "stopped_units": facts.units}

    # --- all nodes together ---

    def _together(self, facts: Facts) -> dict[str, Any]:
        """Prepare, and go down only when all are prepared."""
        try:
            self._look(facts)
            self._remember()
            if facts.units:
                facts.stopped = facts.units
                self._systemctl("stop", *facts.units)
            self._meeting.tell(READY)
        except (AnsibleError, OSError) as error:
            self._meeting.tell(READY, str(error))
        problems = self._meeting.wait(READY, self._options["ready_timeout"])
        if problems:
            return self._failure("No node was rebooted", [_words(problems), *self._give_back(facts)])
        return self._down_and_up(facts)

    def _give_back(self, facts: Facts) -> list[str]:
        """Nothing came of it: start again what was stopped. Gives what could not be done."""
        try:
            self._start(facts.stopped)
        except AnsibleError as error:
            return [f"{', '.join(facts.stopped)} could not be started again: {error}"]
        return []

    def _down_and_up(self, facts: Facts) -> dict[str, Any]:
        started = time.monotonic()
        result = {"changed": True, "boot_id_before": facts.boot_id, "stopped_units": facts.stopped}
        problem = self._reboot(facts)
        self._meeting.tell(BACK, problem)
        absent = self._meeting.wait(BACK, self._options["reboot_timeout"])
        if problem:
            return result | self._failure(f"{self._host} did not reboot as it should", [problem])
        lacks = self._wait_for_nic()
        self._meeting.tell(WHOLE, "; ".join(lacks))
        bad = absent or self._meeting.wait(WHOLE, self._options["link_timeout"] + LATE_SECONDS)
        result |= {"rebooted": True, "nic_back": not lacks, "missing": lacks}
        result |= {"boot_id_after": facts.boot_id_after, "elapsed": round(time.monotonic() - started)}
        not_started = f"{', '.join(facts.stopped)} of {self._host} was not started again"
        if bad:
            lost = f"The NIC is not back on all nodes after {self._options['link_timeout']} s"
            what = "Not all nodes came back from the reboot" if absent else lost
            failure = self._failure(what, [_words(bad), *([not_started] if facts.stopped else [])])
            return result | failure | {"failed": self._options["require_nic"] or bool(absent)}
        try:
            self._start(facts.stopped)
        except AnsibleError as error:
            return result | self._failure(not_started, [str(error)])
        return result | {"started_units": facts.stopped, "msg": f"{self._host} was rebooted and its NIC is back."}

    def _reboot(self, facts: Facts) -> str:
        """By ansible-core's action, which waits until the node answers with another boot id. Gives what is wrong."""
        task = self._task.copy()
        task.args = {
            "reboot_command": REBOOT,
            "reboot_timeout": self._options["reboot_timeout"],
            "connect_timeout": CONNECT_SECONDS,
        }
        action = self._shared_loader_obj.action_loader.get(
            "ansible.builtin.reboot",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        look = f"before the reboot its boot id was {facts.boot_id}; look at its console"
        try:
            outcome = action.run(task_vars=self._vars)
            if outcome.get("failed"):
                return f"{outcome.get('msg')}; {look}"
            now = self._boot_info()
        except AnsibleError as error:
            return f"{error}; {look}"
        facts.boot_id_after = now["boot_id"]
        if now["boot_id"] == facts.boot_id:
            return f"its boot id is still {facts.boot_id}: it has not rebooted"
        expected = facts.boot["next_kernel"] or facts.boot["running_kernel"]
        if now["running_kernel"] != expected:
            return f"it runs {now['running_kernel']}, and the boot loader had said {expected}"
        driver = (facts.boot["driver_next"] or {}).get("version")
        if None not in (driver, facts.boot["driver_loaded"]) and now["driver_loaded"] != driver:
            return f"the NVIDIA driver {now['driver_loaded']} is loaded, and {driver} was to be; see journalctl -k -b"
        return ""

    def _wait_for_nic(self) -> list[str]:
        """Wait until the NIC has all that it had, and links where the plan has cables; gives what it lacks."""
        end = time.monotonic() + self._options["link_timeout"]
        while True:
            try:
                seen = self._module("switchless.spark.cx7_info", lldp=False, settle_seconds=0)["cx7"]["functions"]
                lacks = group.missing(self._options["functions"], self._options["ports"], seen)
            except AnsibleError as error:
                lacks = [str(error)]
            if not lacks or time.monotonic() >= end:
                return lacks
            time.sleep(POLL_SECONDS)
