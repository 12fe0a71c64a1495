# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""checkpoint_fetch as Ansible runs it, with a systemd that starts nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.transfer import identified
from ansible_collections.switchless.spark.plugins.modules import checkpoint_fetch

UNIT = "switchless-checkpoint.service"
Answer = dict[str, Any]


class Node:
    """systemd, as far as the module asks it. What is started stays active until it is stopped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder, self.active, self.refuses = folder, "inactive", False
        self.says: dict[str, Any] | None = {"state": "running", "error": None, "seconds": 1.0}
        self.ran: list[list[str]] = []
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)

    def run(self, args: list[str], **_more: Any) -> tuple[int, str, str]:
        self.ran.append(args)
        match args:
            case ["/bin/systemctl", "show", *_]:
                return 0, f"ActiveState={self.active}\nMainPID=7\n", ""
            case ["/bin/systemctl", "stop", _] if not self.refuses:
                self.active = "inactive"
            case ["/bin/systemd-run", *_]:
                if self.refuses:
                    return 1, "", "Failed to start transient service unit: Access denied"
                self.active = "active"
                job = json.loads((self.folder / "job.json").read_text())
                if self.says is not None:
                    (self.folder / "status.json").write_text(json.dumps(self.says | {"job": job["id"]}))
            case ["/bin/journalctl", *_]:
                return 0, "Checkpoint: failed. spark1 did not give it\n", ""
        return 0, "", ""

    def started(self) -> list[list[str]]:
        return [args for args in self.ran if args[0] == "/bin/systemd-run"]


@pytest.fixture
def job(tmp_path: Path) -> Answer:
    return {
        "schema": 1,
        "path": str(tmp_path / "model"),
        "manifest": {"files": []},
        "lanes": [],
        "serve": ["127.0.0.1"],
    }


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(monkeypatch, tmp_path / "state")


@pytest.fixture
def fetch(tmp_path: Path, node: Node, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*, check: bool = False, **arguments: Any) -> Answer:
        given = {"state_folder": str(tmp_path / "state"), "_ansible_check_mode": check} | arguments
        node.ran.clear()
        with patch_module_args(given), pytest.raises(SystemExit):
            checkpoint_fetch.main()
        found: Answer = json.loads(capsys.readouterr().out)
        return found

    return run


def test_it_starts_once(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    found = fetch(job=job)
    assert (found["changed"], found["transfer"]["state"]) == (True, "running")
    [argv] = node.started()
    assert argv[-3:] == [
        "/usr/bin/python3",
        "/usr/local/lib/switchless/checkpoint_agent.py",
        str(node.folder / "job.json"),
    ]
    assert f"--unit={UNIT}" in argv
    assert f"--property=ReadWritePaths={job['path']}" in argv
    assert Path(job["path"]).is_dir()
    again = fetch(job=job)
    assert (again["changed"], again["transfer"]["state"], node.started()) == (False, "running", [])


def test_check_mode_starts_nothing(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    found = fetch(job=job, check=True)
    assert (found["changed"], found["transfer"]["state"], node.started()) == (True, "absent", [])
    assert not Path(job["path"]).exists()
    assert not node.folder.exists()


def test_another_job_takes_its_place(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    fetch(job=job)
    found = fetch(job=job | {"port": 2})
    assert found["changed"] is True
    assert ["/bin/systemctl", "stop", UNIT] in node.ran
    assert json.loads((node.folder / "job.json").read_text())["port"] == 2


@pytest.mark.parametrize(
    ("serve", "state", "starts"),
    [([], "complete", False), (["127.0.0.1"], "complete", True), ([], "failed", True), ([], "stopped", True)],
)
def test_an_agent_that_ended(
    fetch: Callable[..., Answer], node: Node, job: Answer, serve: list[str], state: str, starts: bool
) -> None:
    """One that is done has to run again only if others need it."""
    job["serve"] = serve
    node.says = {"state": state, "error": None}
    fetch(job=job)
    node.active = "inactive"
    assert fetch(job=job)["changed"] is starts


@pytest.mark.parametrize("active", ["active", "inactive"])
@pytest.mark.parametrize(("run", "starts"), [("one", False), ("two", True)])
def test_what_an_earlier_run_completed_is_looked_at_again(
    fetch: Callable[..., Answer], node: Node, job: Answer, run: str, active: str, *, starts: bool
) -> None:
    """A file may have been harmed since, and what the agent said then is no proof."""
    job["serve"] = []
    node.says = {"state": "complete", "error": None}
    fetch(job=job, run="one")
    node.active = active
    assert fetch(job=job, run=run)["changed"] is starts


def test_a_job_that_runs_goes_on_whichever_run_asks(fetch: Callable[..., Answer], job: Answer) -> None:
    fetch(job=job, run="one")
    assert fetch(job=job, run="two")["changed"] is False


def test_it_waits_for_the_end(
    fetch: Callable[..., Answer], node: Node, job: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            done = {"state": "complete", "error": None, "job": identified(job)["id"]}
            (node.folder / "status.json").write_text(json.dumps(done))

    monkeypatch.setattr(checkpoint_fetch.time, "sleep", sleep)
    found = fetch(job=job, wait_seconds=600)
    assert (found["transfer"]["state"], len(slept)) == ("complete", 3)


def test_a_failure_is_told_with_the_log(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    node.says = {"state": "failed", "error": "spark1 did not give it"}
    found = fetch(job=job)
    assert (found["transfer"]["state"], found["transfer"]["error"]) == ("failed", "spark1 did not give it")
    assert "did not give it" in found["said"]


def test_an_agent_that_was_killed(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    fetch(job=job)
    node.active = "failed"
    found = fetch(job=job, check=True)
    assert found["transfer"]["state"] == "failed"
    assert "without a word" in found["transfer"]["error"]
    assert found["changed"] is True


def test_an_agent_that_has_not_spoken_yet(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    node.says = None
    assert fetch(job=job)["transfer"] == {"state": "running", "error": None}


def test_systemd_that_refuses(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    node.refuses = True
    assert "Access denied" in fetch(job=job)["msg"]


def test_it_is_stopped_once(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    fetch(job=job)
    assert fetch(state="stopped", check=True)["changed"] is True
    assert node.active == "active"
    found = fetch(state="stopped")
    assert (found["changed"], found["transfer"]["state"], node.active) == (True, "stopped", "inactive")
    assert fetch(state="stopped")["changed"] is False


def test_one_that_does_not_stop(fetch: Callable[..., Answer], node: Node, job: Answer) -> None:
    fetch(job=job)
    node.refuses = True
    assert "still runs" in fetch(state="stopped")["msg"]


def test_a_job_is_needed(fetch: Callable[..., Answer]) -> None:
    assert "job" in fetch()["msg"]
