# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nccl_test as Ansible runs it, with a script in the place of the interpreter that serves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.modules import nccl_test
from tests.unit.nccl.transport_world import DEVICES, SETTINGS, said

Run = Callable[..., dict[str, Any]]
TOLD = said("355d")
SPEAK = f"echo {shlex.quote(json.dumps(TOLD))}"


@pytest.fixture
def rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the module; `script` is what the interpreter does."""

    def run(script: str, **args: Any) -> dict[str, Any]:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        (tmp_path / "remote").mkdir(exist_ok=True)
        values = {
            "python": str(python),
            "rank": 1,
            "size": 4,
            "master_address": "192.0.2.11",
            "environment": SETTINGS["355d"]["environment"],
            "devices": DEVICES["355d"],
            "_ansible_remote_tmp": str(tmp_path / "remote"),
        }
        with patch_module_args(values | args), pytest.raises(SystemExit):
            nccl_test.main()
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert found.pop("changed") is False
        return found

    return run


def test_a_rank_that_speaks(rank: Run) -> None:
    found = rank(
        f'echo "a library says hello"; {SPEAK}; echo "and good-bye"; echo "a warning" >&2\n'
        'echo "NCCL INFO rank $RANK" > "$NCCL_DEBUG_FILE"; printf "<graphs/>" > "$NCCL_GRAPH_DUMP_FILE"'
    )
    assert {key: found[key] for key in ("told", "exit_status", "stderr", "log", "graph")} == {
        "told": TOLD,
        "exit_status": 0,
        "stderr": "a warning\n",
        "log": "NCCL INFO rank 1\n",
        "graph": "<graphs/>",
    }


def test_what_the_program_is_given(rank: Run, tmp_path: Path) -> None:
    rank(
        f'printf "%s\\n" "$@" > {tmp_path}/arguments; env -0 > {tmp_path}/environment',
        sizes_mib=[1, 256],
        iterations=3,
        timeout_seconds=45,
        master_port=29999,
        environment={"NCCL_ALGO": "Ring", "NCCL_DEBUG": "WARN", "NCCL_MIN_NCHANNELS": 8},
    )
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "/usr/local/lib/switchless/nccl_allreduce.py",
        "--timeout",
        "45",
        "--iterations",
        "3",
        "--ports",
        json.dumps(
            [
                {"name": f"{device['cage']}/{device['root']}", "netdev": device["netdev"], "rdma": device["device"]}
                for device in DEVICES["355d"]
            ]
        ),
        "--sizes",
        "1",
        "256",
    ]
    lines = (tmp_path / "environment").read_text().rstrip("\0").split("\0")
    environment = dict(line.split("=", 1) for line in lines)
    wanted = {
        "NCCL_ALGO": "Ring",
        "NCCL_MIN_NCHANNELS": "8",
        # The log has to say what is compared, whatever serves with less.
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,NET,ENV",
        "NCCL_GRAPH_DUMP_FILE_RANK": "1",
        "RANK": "1",
        "WORLD_SIZE": "4",
        "MASTER_ADDR": "192.0.2.11",
        "MASTER_PORT": "29999",
    }
    assert {name: environment.get(name) for name in wanted} == wanted
    assert not Path(environment["NCCL_DEBUG_FILE"]).exists()


def test_it_is_ended_from_outside_if_it_does_not_end_itself(rank: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run_command(_module: AnsibleModule, args: list[str], **_more: Any) -> tuple[int, str, str]:
        asked.append(args)
        return 137, "", ""

    monkeypatch.setattr(AnsibleModule, "run_command", run_command)
    assert rank("", timeout_seconds=45)["exit_status"] == 137
    assert asked[0][:3] == ["timeout", "--kill-after=5", "75"]
    assert asked[0][3].endswith("/python")


@pytest.mark.parametrize("output", ["", "no JSON here", "{broken", "[1, 2]", " {}", "{'rank': 1}"])
def test_garbage_is_no_result(rank: Run, output: str) -> None:
    found = rank(f"printf '%s\\n' {shlex.quote(output)}")
    assert (found["told"], found["exit_status"], found["log"], found["graph"]) == (None, 0, "", None)


def test_garbage_behind_the_line(rank: Run) -> None:
    assert rank(f"{SPEAK}; echo '{{broken'")["told"] == TOLD


def test_a_rank_that_hangs_has_said_so(rank: Run) -> None:
    error = TOLD | {"error": "no end within 1 s", "phase": "rendezvous"}
    found = rank(f"echo {shlex.quote(json.dumps(error))}; exit 3")
    assert (found["told"], found["exit_status"]) == (error, 3)
    assert not {"rc", "failed"} & found.keys(), "Ansible would fail the task, and nobody would judge the ranks"


def test_no_such_interpreter(rank: Run) -> None:
    found = rank("", python="/nowhere/python")
    assert (found["told"], found["exit_status"]) == (None, 127)
    assert "/nowhere/python" in found["stderr"]


def test_long_output_is_cut(rank: Run) -> None:
    found = rank('head -c 300000 /dev/zero | tr "\\0" x > "$NCCL_DEBUG_FILE"; head -c 9000 /dev/zero | tr "\\0" y >&2')
    assert (found["log"], found["stderr"]) == ("x" * 200_000, "y" * 8_000)


def test_a_log_that_is_no_text(rank: Run) -> None:
    assert rank('printf "\\377NCCL" > "$NCCL_DEBUG_FILE"')["log"] == "\ufffdNCCL"


def test_check_mode_runs_nothing(rank: Run, tmp_path: Path) -> None:
    found = rank(f"touch {tmp_path}/ran", _ansible_check_mode=True)
    assert not (tmp_path / "ran").exists()
    assert {key: found[key] for key in ("told", "exit_status", "stderr", "log", "graph")} == {
        "told": None,
        "exit_status": 0,
        "stderr": "",
        "log": "",
        "graph": None,
    }


def test_documented_as_it_is(rank: Run) -> None:
    documented = yaml.safe_load(nccl_test.RETURN)
    found = rank(SPEAK)
    found.pop("invocation", None)
    assert sorted(documented) == sorted(found)
    # And what its program says, in the words of the sample.
    assert set(documented["told"]["sample"]) <= set(TOLD)
