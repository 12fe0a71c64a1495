# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_journal_info as Ansible runs it, on answers of systemd, and what it keeps of a long journal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._serving.diagnose import diagnose
from ansible_collections.switchless.spark.plugins.module_utils._serving.journal import Line, records
from ansible_collections.switchless.spark.plugins.module_utils._serving.read import GREP, Limits, chosen, matters
from ansible_collections.switchless.spark.plugins.modules import vllm_journal_info
from tests.unit.serving.serving_world import T0, cases, from_text, journal, line, recorded

UNIT = "vllm@glm.service"
NOW, BEFORE, OLDER = "1" * 32, "2" * 32, "3" * 32
BOOT = "b" * 32
SHOWN = f"""LoadState=loaded
ActiveState=failed
SubState=failed
Result=signal
ExecMainStatus=9
ExecMainStartTimestamp=@1796000000
NRestarts=2
MainPID=0
InvocationID={NOW}
LimitMEMLOCK=8388608
"""
MEMINFO = (
    "MemTotal: 127000000 kB\nMemFree: 90000000 kB\nMemAvailable: 100000000 kB\nCmaTotal: 0 kB\nCmaFree: 940604 kB\n"
)


def record(message: Any, at: float, invocation: str = NOW, **more: Any) -> str:
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": str(int((T0 + at) * 1_000_000)),
            "__MONOTONIC_TIMESTAMP": str(int((1000 + at) * 1_000_000)),
            "_BOOT_ID": BOOT,
            "_PID": "4711",
            "PRIORITY": "6",
            "_TRANSPORT": "stdout",
            "_SYSTEMD_INVOCATION_ID": invocation,
            "MESSAGE": message,
        }
        | more
    )


def systemd(message: str, at: float, invocation: str) -> str:
    own = {"_PID": "1", "UNIT": UNIT, "INVOCATION_ID": invocation, "_SYSTEMD_INVOCATION_ID": "9" * 32}
    return record(message, at, **own)


KERNEL = record("Out of memory: Killed process 99 (VLLM::Worker_TP) total-vm:1kB", 4.5, _TRANSPORT="kernel")
STARTS = "\n".join(
    systemd("Started", at, one) for at, one in ((-900, OLDER), (-800, BEFORE), (-790, BEFORE), (0, NOW), (6, NOW))
)
LINES = "\n".join(
    (
        systemd(f"Started {UNIT}.", 0.0, NOW),
        record("(APIServer pid=1) INFO 10-10 12:00:00 [x.py:1] hello", 1.0),
        record([27, 91, 51, 49, 109, *b"ERROR 10-10 12:00:04 [x.py:1] red", 27, 91, 48, 109], 4.0),
        "not a record",
        systemd(f"{UNIT}: Main process exited, code=killed, status=9/KILL", 5.0, NOW),
    )
)


class Node:
    """Answers by the words that a command has; the first that fits counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: list[tuple[str, tuple[int, str, str]]]) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)
        monkeypatch.setattr(vllm_journal_info.time, "time", lambda: T0 + 60.0)

    def run(self, args: list[str], **more: Any) -> tuple[int, str, str]:
        assert more["environ_update"]["LC_ALL"] == "C"
        self.asked.append(args)
        text = " ".join(args)
        return next((answer for words, answer in self.answers if words in text), (1, "", "nothing is known of this"))


WELL = [
    ("systemctl show", (0, SHOWN, "")),
    (f"UNIT={UNIT}", (0, STARTS, "")),
    ("_TRANSPORT=kernel", (0, KERNEL, "")),
    (f"_SYSTEMD_INVOCATION_ID={NOW}", (0, LINES, "")),
    (f"_SYSTEMD_INVOCATION_ID={BEFORE}", (0, record("INFO before", -799.0, BEFORE), "")),
]


def info(capsys: pytest.CaptureFixture[str], root: Path, **args: Any) -> Any:
    with patch_module_args({"unit": UNIT, "root": str(root), **args}), pytest.raises(SystemExit):
        vllm_journal_info.main()
    said = json.loads(capsys.readouterr().out)
    if "journal" not in said:
        return said
    assert said["changed"] is False
    return said["journal"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    kernel = tmp_path / "proc/sys/kernel"
    (kernel / "random").mkdir(parents=True)
    (kernel / "random/boot_id").write_text("bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb\n")
    (kernel / "osrelease").write_text("7.0.0-1019-nvidia\n")
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    return tmp_path


@pytest.mark.parametrize("check", [False, True])
def test_a_unit_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, check: bool
) -> None:
    node = Node(monkeypatch, WELL)
    seen = info(capsys, root, _ansible_check_mode=check)
    assert seen["unit"] == {
        "load": "loaded",
        "active": "failed",
        "sub": "failed",
        "result": "signal",
        "exit_status": 9,
        "restarts": 2,
        "pid": None,
        "started": T0,
        "invocation": NOW,
    }
    assert seen["host"] == {
        "boot": BOOT,
        "kernel": "7.0.0-1019-nvidia",
        "cma_total_kb": 0,
        "cma_free_kb": 940604,
        "mem_free_kb": 90000000,
        "mem_available_kb": 100000000,
        "memlock": "8388608",
    }
    assert [(one["source"], one["time"] - T0, one["message"][:12]) for one in seen["lines"]] == [
        ("systemd", 0.0, "Started vllm"),
        ("unit", 1.0, "(APIServer p"),
        ("unit", 4.0, "ERROR 10-10 "),
        ("kernel", 4.5, "Out of memor"),
        ("systemd", 5.0, "vllm@glm.ser"),
    ]
    assert seen["lines"][2]["message"] == "ERROR 10-10 12:00:04 [x.py:1] red"
    assert seen["lines"][4]["invocation"] == NOW
    assert (seen["invocation"], seen["invocations"]) == (NOW, [NOW, BEFORE, OLDER])
    assert (seen["omitted"], seen["detail"], seen["read_at"]) == (0, "", T0 + 60.0)
    fields = "MESSAGE,PRIORITY,_PID,_BOOT_ID,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,UNIT,_TRANSPORT"
    start = ["/bin/journalctl", "--all", "--no-pager", "-q", "-o", "json", f"--output-fields={fields}"]
    assert node.asked[1] == [*start, "-n", "400", f"UNIT={UNIT}", "_PID=1"]
    assert node.asked[2] == [*start, "-n", "+2000", f"_SYSTEMD_INVOCATION_ID={NOW}", "+", f"INVOCATION_ID={NOW}"]
    assert node.asked[3][7:9] == [f"--since=@{T0 - 5:.0f}", f"--until=@{T0 + 65:.0f}"]
    assert len(node.asked) == 4
    assert diagnose({0: seen})["code"] == "host_out_of_memory"


@pytest.mark.parametrize(
    ("wanted", "chosen_one", "message"),
    [
        ("previous", BEFORE, "INFO before"),
        (BEFORE, BEFORE, "INFO before"),
        ("22222222-" + "2" * 24, BEFORE, "INFO before"),
    ],
)
def test_an_earlier_start(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root: Path,
    wanted: str,
    chosen_one: str,
    message: str,
) -> None:
    Node(monkeypatch, [answer for answer in WELL if "kernel" not in answer[0]])
    seen = info(capsys, root, invocation=wanted)
    assert (seen["invocation"], [one["message"] for one in seen["lines"]]) == (chosen_one, [message])


def test_a_unit_that_systemd_has_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    Node(monkeypatch, [("systemctl show", (0, "LoadState=loaded\nInvocationID=\n", "")), *WELL[1:]])
    seen = info(capsys, root)
    assert (seen["invocation"], len(seen["lines"])) == (NOW, 5)


@pytest.mark.parametrize("wanted", ["current", "previous"])
def test_nothing_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, wanted: str
) -> None:
    Node(monkeypatch, [("systemctl show", (0, "LoadState=not-found\nActiveState=inactive\n", ""))])
    seen = info(capsys, tmp_path, invocation=wanted)
    assert (seen["lines"], seen["invocation"], seen["invocations"], seen["omitted"]) == ([], "", [], 0)
    assert seen["unit"]["load"] == "not-found"
    assert set(seen["host"].values()) == {None, ""}
    assert diagnose({0: seen})["verdict"] == "no_journal"


def test_a_journal_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    Node(
        monkeypatch, [WELL[0], ("journalctl", (1, "", "No journal files were opened due to insufficient permissions."))]
    )
    seen = info(capsys, root)
    assert (seen["lines"], seen["detail"]) == ([], "No journal files were opened due to insufficient permissions.")


def test_a_long_journal_is_read_in_three_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    def part(first: int, count: int) -> str:
        return "\n".join(record(f"INFO line {at}", float(at)) for at in range(first, first + count)) + "\n"

    error = record("ValueError: something is odd", 500.0) + "\n"
    node = Node(
        monkeypatch,
        [
            *WELL[:2],
            ("_TRANSPORT=kernel", (0, "", "")),
            ("--grep=", (0, error, "")),
            ("-n +20 ", (0, part(0, 20), "")),
            ("-n 20 ", (0, part(980, 20), "")),
        ],
    )
    seen = info(capsys, root, max_lines=20)
    said = [one["message"] for one in seen["lines"]]
    assert len(said) == 20
    assert "ValueError: something is odd" in said
    assert said[0] == "INFO line 0"
    assert said[-1] == "INFO line 999"
    assert seen["omitted"] == 21
    assert sum("--grep=" in " ".join(argv) for argv in node.asked) == 2


def test_an_older_systemd_has_no_plus(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    refusal = ("-n +2000 ", (1, "", "Failed to parse lines '+2000'"))
    Node(monkeypatch, [*WELL[:3], refusal, *WELL[3:]])
    assert len(info(capsys, root)["lines"]) == 5


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"invocation": "last"}, "invocation is last, expected current, previous or 32 hexadecimal digits"),
        ({"max_lines": 0}, "max_lines is 0, expected 1 or more"),
        ({"max_bytes": -1}, "max_bytes is -1, expected 1 or more"),
    ],
)
def test_refusals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, args: dict[str, Any], message: str
) -> None:
    Node(monkeypatch, WELL)
    assert info(capsys, root, **args)["msg"] == message


def test_documented_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path) -> None:
    Node(monkeypatch, WELL)
    seen = info(capsys, root)
    documented = yaml.safe_load(vllm_journal_info.RETURN)["journal"]["contains"]
    assert sorted(documented) == sorted(seen)
    for key in ("unit", "host"):
        assert sorted(documented[key]["contains"]) == sorted(seen[key])
    assert sorted(documented["lines"]["contains"]) == sorted(seen["lines"][0])


@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 300))
def test_what_is_kept_is_bounded_and_has_what_matters(count: int, lines: int, place: int) -> None:
    texts = [f"INFO line {at}" for at in range(count)]
    texts.insert(min(place, count), "ValueError: something is odd")
    given_lines = [Line(text, float(at)) for at, text in enumerate(texts)]
    kept, omitted = chosen(given_lines, Limits(lines, 1 << 20))
    assert len(kept) <= lines
    assert omitted == len(given_lines) - len(kept)
    assert list(kept) == sorted(kept, key=lambda one: one.time or 0.0)
    if lines >= 2:
        assert "ValueError: something is odd" in [one.text for one in kept]
    if lines >= 10:
        assert kept[0] == given_lines[0]
        assert kept[-1] == given_lines[-1]


@pytest.mark.parametrize("name", sorted(cases()))
def test_a_shortened_journal_has_the_same_answer(name: str) -> None:
    """A thousand lines of no interest on either side: what is kept leads to what the whole leads to."""
    whole = from_text(cases()[name])
    short = {}
    for rank, one in whole.items():
        chat = [line(f"INFO 10-10 12:00:00 [loggers.py:1] {at}", -3000.0 + at) for at in range(1000)]
        late = [line(f"INFO 10-10 12:00:00 [loggers.py:1] {at}", 3000.0 + at) for at in range(1000)]
        parsed = [
            Line(each["message"], each["time"], each["monotonic"], 6, each["source"], each["invocation"], each["boot"])
            for each in (*chat, *one["lines"], *late)
        ]
        short[rank] = journal(each.as_dict() for each in chosen(parsed, Limits(200, 1 << 20))[0])
    names = ("verdict", "rank", "code", "line")
    before, after = diagnose(whole), diagnose(short)
    assert [after[one] for one in names] == [before[one] for one in names]


def test_journalctl_finds_what_matters_too() -> None:
    """Between beginning and end of a long journal only what the pattern finds is read."""
    for name, text in cases().items():
        for one in from_text(text).values():
            answer = diagnose({0: one})
            if answer["line"] is not None and one["lines"][0]["source"] == "unit":
                assert re.search(GREP, answer["line"]), name


def test_a_real_journal_has_few_lines_that_matter() -> None:
    lines = [Line(one["message"], one["time"]) for one in recorded("worker_killed.rank0.tsv")["lines"]]
    assert 10 < sum(matters(one) for one in lines) < len(lines) * 2 / 3


def test_bars_and_bytes() -> None:
    progress = record("\rLoading: 0%\rLoading: 50%\rLoading: 100%", 1.0)
    many = record("one\ntwo\x07\n\n", 2.0)
    several = record(["first", "second"], 3.0)
    absent = record(None, 4.0)
    got = [one.text for one in records(f"{progress}\n{many}\n{several}\n{absent}")]
    assert got == ["Loading: 0%", "Loading: 100%", "one", "two", "second"]
