# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lives of a group of three real keepers, each ended in another way."""

from __future__ import annotations

import os
import signal
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from tests.unit.vllm_rank.rank_world import API_KEY, KEY, World, until


def states(world: World) -> list[str]:
    return [rank["state"] for rank in world.state(0)["ranks"]]


def test_a_life_from_hello_to_the_stop_of_the_head(world: World) -> None:
    world.limits["silence_seconds"] = 3
    world.start(0)
    waits = world.reaches(0, "gathering")
    assert waits["detail"] == "waits for rank 1 (spark2), rank 2 (spark3)"
    assert waits["life"] is None
    world.start(2)
    until("rank 2 is ready", lambda: states(world) == ["ready", "absent", "ready"])
    assert world.reaches(2, "waiting")["child"] is None
    assert not (world.folder / "pid.0").exists()
    world.start(1)
    serves = world.serving()
    assert serves["child"] == world.child(0)
    assert [rank["state"] for rank in serves["ranks"]] == ["running"] * 3
    running = world.reaches(1, "running")
    assert (running["life"], running["child"]) == (serves["life"], world.child(1))
    assert running["invocation"] == serves["ranks"][1]["invocation"]
    until("all have lived longer than they may be silent", lambda: time.time() > serves["since"] + 3.5)
    world.keepers[0].terminate()
    assert world.all_exit() == [0, 0, 0]
    assert world.end() == ("stopped", 0)
    record = world.read("lib.0/last_end.json")
    assert record["began"] < record["served"] < record["ended"]
    assert [world.state(rank)["state"] for rank in range(3)] == ["stopped"] * 3
    assert world.state(2)["ended"]["reason"] == "stopped"
    assert states(world) == ["gone"] * 3
    for file in ("run.0/state.json", "lib.0/last_end.json", "run.1/state.json"):
        assert stat.S_IMODE((world.folder / file).stat().st_mode) == 0o644
    written = "".join(path.read_text() for path in world.folder.rglob("*") if path.suffix != ".key" and path.is_file())
    assert API_KEY not in written
    assert KEY not in written


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("how", ["kill", "exit 0"])
def test_a_rank_that_ends_ends_all(world: World, rank: int, how: str) -> None:
    world.switch("deaf")
    first = world.serve()
    if how == "kill":
        os.kill(world.child(rank), signal.SIGKILL)
        said = "vLLM was ended by SIGKILL"
    else:
        world.switch(f"exit0.{rank}")
        said = "vLLM ended with exit code 0"
    assert world.all_exit()[0] == 1
    assert world.end() == ("rank_ended", rank)
    assert world.read("lib.0/last_end.json")["detail"] == said
    assert world.state(0)["state"] == "failed"
    assert world.state(rank)["ended"]["detail"] == said
    if (how, rank) == ("exit 0", 0):
        world.switch(f"exit0.{rank}", on=False)
        assert world.serve()["life"] != first["life"]


def test_the_keeper_of_a_worker_is_killed_and_comes_back(world: World) -> None:
    world.serve()
    world.kill_keeper(2)
    assert world.all_exit() == [1, 0]
    assert world.end() == ("rank_silent", 2)
    assert world.state(1)["ended"]["rank"] == 2
    assert states(world) == ["gone", "gone", "lost"]
    world.serve()


def test_the_keeper_of_the_head_is_killed_and_comes_back(world: World) -> None:
    first = world.serve()
    world.kill_keeper(0)
    assert world.all_exit() == [1, 1]
    assert world.state(1)["state"] == "failed"
    assert world.state(1)["ended"]["reason"] == "rank_silent"
    assert world.state(1)["ended"]["rank"] == 0
    second = world.serve()
    assert second["life"] != first["life"]
    assert world.end() == ("rank_silent", 0)
    assert world.read("lib.0/last_end.json")["life"] == first["life"]


def test_a_silent_keeper_is_lost_and_ends_when_it_wakes(world: World) -> None:
    world.limits["silence_seconds"] = 3
    world.serve()
    world.keepers[1].send_signal(signal.SIGSTOP)
    assert world.exits(0) == 1
    assert world.exits(2) == 0
    assert world.end() == ("rank_silent", 1)
    assert "nothing was heard for 3 s" in world.read("lib.0/last_end.json")["detail"]
    world.start(0)
    world.start(2)
    until("rank 2 is ready", lambda: states(world) == ["ready", "absent", "ready"])
    world.keepers[1].send_signal(signal.SIGCONT)
    assert world.exits(1) == 1
    assert world.state(0)["state"] == "gathering"
    world.start(1)
    world.serving()


def test_a_silent_head_ends_the_workers(world: World) -> None:
    world.limits["silence_seconds"] = 3
    world.serve()
    world.keepers[0].send_signal(signal.SIGSTOP)
    assert [world.exits(1), world.exits(2)] == [1, 1]
    assert world.state(2)["ended"]["detail"] == "the head's keeper is lost: nothing was heard for 3 s"
    world.keepers[0].send_signal(signal.SIGCONT)
    assert world.exits(0) == 1
    assert world.end()[0] == "rank_silent"


def test_a_worker_that_is_stopped_ends_all(world: World) -> None:
    world.switch("grandchild")
    world.serve()
    until("the grandchildren are deaf", lambda: len(list(world.folder.glob("grandchild.*"))) == 3)
    world.keepers[1].terminate()
    assert world.all_exit() == [1, 0, 0]
    assert world.end() == ("rank_left", 1)
    assert world.state(1)["state"] == "stopped"


def test_a_stop_waits_for_the_deaf_no_longer_than_its_limit(world: World) -> None:
    world.switch("deaf")
    world.switch("grandchild")
    world.serve()
    until("the grandchildren are deaf", lambda: len(list(world.folder.glob("grandchild.*"))) == 3)
    world.keepers[0].terminate()
    world.reaches(0, "ending")
    world.keepers[0].terminate()
    assert world.all_exit() == [0, 0, 0]
    assert world.end() == ("stopped", 0)


def test_an_engine_that_answers_500_is_dead(world: World) -> None:
    world.serve()
    world.switch("broken")
    assert world.all_exit() == [1, 0, 0]
    assert world.end() == ("engine_dead", 0)
    assert "/v1/completions answered 500" in world.read("lib.0/last_end.json")["detail"]


def test_a_stall_is_seen_although_health_is_well(world: World) -> None:
    world.limits["stall_seconds"] = 1
    world.serve()
    world.switch("hang")
    assert world.all_exit() == [1, 0, 0]
    assert world.end() == ("stalled", 0)


def test_an_api_that_is_frozen_has_stalled(world: World) -> None:
    world.limits["stall_seconds"] = 1
    world.serve()
    os.kill(world.child(0), signal.SIGSTOP)
    assert world.all_exit() == [1, 0, 0]
    assert world.end() == ("stalled", 0)


def test_a_boot_has_a_limit(world: World) -> None:
    world.limits["boot_seconds"] = 1
    world.switch("mute")
    world.start_all()
    assert world.all_exit() == [1, 0, 0]
    assert world.end() == ("boot_limit", 0)
    record = world.read("lib.0/last_end.json")
    assert record["served"] is None
    assert record["detail"] == "no token 1 s after the start; the API: /v1/completions: Connection refused"


def test_what_cannot_boot_or_be_run_has_ended(world: World) -> None:
    world.switch("crash")
    world.start_all()
    assert world.all_exit()[0] == 1
    assert world.end()[0] == "rank_ended"
    assert world.read("lib.0/last_end.json")["detail"] == "vLLM ended with exit code 3"
    world.start(0)
    world.start(1)
    world.start(2, argv=["/nonexistent/vllm"])
    assert world.all_exit()[0] == 1
    assert world.read("lib.0/last_end.json")["reason"] == "rank_ended"


def dribble(client: socket.socket) -> int:
    """Send a good head of 256 bytes and then one byte after the other, until it is cut off. How many were sent."""
    client.sendall(b"\0\0\1\0")
    for number in range(256):
        try:
            client.sendall(b"x")
        except OSError:
            return number
        time.sleep(0.1)
    return 256


def test_strangers_hold_up_nobody(world: World) -> None:
    """Silent clients, garbage, a wrong key, other files: the group waits, says why, and starts when all is well."""
    world.limits["silence_seconds"] = 3
    world.start(0)
    silent = [socket.create_connection(("127.0.0.1", world.control)) for _number in range(40)]  # more than it hears
    silent[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
    silent[1].sendall(b"\xff\xff\xff\xff" + b"\x7f" * 100)
    wrong = world.folder / "wrong.key"
    wrong.write_text("another-secret-0123456789")
    world.start(1, key_file=str(wrong))
    world.start(2, group="another")
    dribbled = dribble(silent[3])
    assert dribbled < 200
    silent[2].settimeout(30)
    while silent[2].recv(4096):
        pass  # the challenge comes, then it is cut off
    until("rank 1 knows", lambda: "keys differ" in world.state(1).get("detail", ""))
    until("rank 2 knows", lambda: "refused by the head: what must be equal" in world.state(2).get("detail", ""))
    until("the head knows", lambda: "rank 2 (spark3), refused: what must be equal" in world.state(0)["detail"])
    world.keepers[1].terminate()
    world.write(2)  # as the play does it that makes all ranks equal
    assert world.all_but(0) == [0, 0]
    assert world.state(1)["state"] == "stopped"
    world.start(1)
    world.start(2)
    first = world.serving()
    stranger = world.folder / "run.9"
    world.keepers[9] = world.keepers[1]
    world.start(1, state_file=str(stranger / "state.json"))
    until("the second rank 1 is refused", lambda: "the group is serving" in str(world.read("run.9/state.json")))
    second, world.keepers[1] = world.keepers[1], world.keepers.pop(9)
    second.terminate()
    assert second.wait(30) == 0
    assert world.state(0)["state"] == "serving"
    assert world.state(0)["life"] == first["life"]
    for client in silent:
        client.close()


def test_a_stop_while_it_gathers(world: World) -> None:
    world.start(0)
    world.start(1)
    until("rank 1 is ready", lambda: states(world) == ["ready", "ready", "absent"])
    world.keepers[0].terminate()
    assert world.exits(0) == 0
    assert world.state(0)["state"] == "stopped"
    assert not (world.folder / "lib.0").exists()
    until("rank 1 waits again", lambda: "waits for the head" in world.state(1)["detail"])
    assert world.keepers[1].poll() is None


def test_a_container_is_killed_by_name(tmp_path: Path) -> None:
    """What ran before is gone before the rank starts, and a runtime that cannot be asked is no proof."""
    world = World(tmp_path, size=1)
    alive, asked = tmp_path / "alive", tmp_path / "asked"
    alive.touch()
    gone = f"[ -e {asked} ] || {{ touch {asked}; exit 1; }}; cat {alive} 2>/dev/null && echo here; true"
    try:
        world.start(0, kill_argv=["rm", "-f", str(alive)], gone_argv=["sh", "-c", gone])
        world.serving()
        assert asked.exists()
        assert not alive.exists()
        alive.touch()
        world.keepers[0].terminate()
        assert world.exits(0) == 0
        assert not alive.exists()
    finally:
        world.clear()


def test_what_systemd_is_told(tmp_path: Path) -> None:
    """READY at once, the state in words, and WATCHDOG as long as the loop turns. vLLM cannot speak for the keeper."""
    world = World(tmp_path, size=1)
    world.environment = {"NOTIFY_SOCKET": f"@{tmp_path}", "WATCHDOG_USEC": "2000000", "INVOCATION_ID": "f00d"}
    told: list[str] = []

    def hear(systemd: socket.socket) -> None:
        while not told or told[-1] != "STOPPING=1":
            told.append(systemd.recv(4096).decode())

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{tmp_path}")
        hearing = threading.Thread(target=hear, args=(systemd,), daemon=True)
        hearing.start()
        try:
            world.start(0)
            assert world.serving()["invocation"] == "f00d"
            until("systemd knows", lambda: "STATUS=serving: serves" in told)
            beats = told.count("WATCHDOG=1")
            until("the watchdog hears more", lambda: told.count("WATCHDOG=1") > beats + 2)
            environment = Path(f"/proc/{world.child(0)}/environ").read_bytes()
            assert b"INVOCATION_ID=f00d" in environment
            assert b"NOTIFY_SOCKET" not in environment
            assert b"WATCHDOG_USEC" not in environment
            world.keepers[0].terminate()
            assert world.exits(0) == 0
            until("systemd knows of the end", lambda: told[-1] == "STOPPING=1")
        finally:
            world.clear()
    assert told[0] == "READY=1"
    words = [text for text in told if text.startswith("STATUS=")]
    assert words[-1].startswith("STATUS=stopped: stopped")
