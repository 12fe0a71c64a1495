# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A served model, asked of systemd, the files and the server: nothing here uses a module of the collection."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from testinfra.host import Host

FOLDER = "/etc/switchless/vllm"
POOL = re.compile(r'vllm:cache_config_info\{.*?kv_cache_size_tokens="(\d+)"')


def rank(host: Host) -> dict[str, Any]:
    """What this node runs; of several recipes, the one whose unit is active."""
    files = host.run(f"ls {FOLDER}/*/rank.json").stdout.split()
    for file in files:
        found: dict[str, Any] = json.loads(host.check_output("cat %s", file))
        if host.service(f"vllm@{found['recipe']}.service").is_running:
            return found
    if files:
        pytest.fail(f"no unit of {', '.join(files)} runs")
    pytest.skip("the role vllm serves nothing on this node")


ASK = """
import json, pathlib, sys, urllib.error, urllib.request
url, key, model = sys.argv[1:]
key = pathlib.Path(key).read_text().strip() if key.startswith("/") else key
asked = {"model": model, "prompt": "the", "max_tokens": 1, "temperature": 0}
data = json.dumps(asked).encode() if url.endswith("completions") else None
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(urllib.request.Request(url, data, headers), timeout=60) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


def ask(host: Host, path: str, key: str = "") -> tuple[int, str]:
    """HTTP status and answer, asked on the node. The key comes from its file, not from the command line."""
    served = rank(host)["api"]
    said = host.check_output(
        "python3 -c %s %s %s %s", ASK, served["url"] + path, key or served["key_file"], served["model"]
    )
    status, _blank, text = said.partition(" ")
    return int(status), text


def head(host: Host) -> dict[str, Any]:
    served = rank(host)
    if served["api"] is None:
        pytest.skip("not the head")
    return served


def test_the_unit_runs_and_comes_back_at_boot(host: Host) -> None:
    service = host.service(f"vllm@{rank(host)['recipe']}.service")
    assert service.is_running
    assert service.is_enabled


def test_all_of_it_runs_as_its_own_user(host: Host) -> None:
    unit = f"vllm@{rank(host)['recipe']}.service"
    processes = host.check_output("systemctl show --property=ControlGroup --value %s", unit)
    pids = host.check_output(
        f"cat /sys/fs/cgroup{processes}/cgroup.procs /sys/fs/cgroup/systemd{processes}/cgroup.procs 2>/dev/null; true"
    )
    users = {host.check_output("stat -c %%U /proc/%s", pid) for pid in pids.split()}
    assert users == {"vllm"}


def test_keys_are_for_the_user_alone_and_no_process_list_shows_them(host: Host) -> None:
    served = rank(host)
    folder = f"{FOLDER}/{served['recipe']}"
    assert (host.file(f"{folder}/rank.env").mode, host.file(f"{folder}/rank.env").user) == (0o600, "root")
    listed = host.check_output("ps -eo args")
    for name in ["group.key"] + (["api.key"] if served["api"] else []):
        file = host.file(f"{folder}/{name}")
        assert (file.mode, file.user, file.group) == (0o640, "root", "vllm")
        assert file.content_string.strip() not in listed
        assert file.content_string.strip() not in host.file(f"{folder}/rank.json").content_string


def test_all_ranks_are_of_one_life(host: Host) -> None:
    served = rank(host)
    state = json.loads(host.check_output("cat %s", served["state_file"]))
    assert state["state"] == ("serving" if served["api"] else "running")
    assert {entry["state"] for entry in state["ranks"]} <= {"running"}


def test_the_head_answers_with_a_token_and_only_with_the_key(host: Host) -> None:
    head(host)
    status, text = ask(host, "/v1/completions")
    assert (status, json.loads(text)["usage"]["completion_tokens"]) == (200, 1)
    assert ask(host, "/v1/completions", key="wrong")[0] == 401


def test_the_head_listens_where_it_was_told(host: Host) -> None:
    served = head(host)
    address = served["api"]["url"].removeprefix("http://")
    assert host.socket(f"tcp://{address}").is_listening
    control = served["control"]
    assert host.socket(f"tcp://{control['address']}:{control['port']}").is_listening


def test_the_pool_holds_a_request_of_the_whole_context(host: Host) -> None:
    served = head(host)
    context = int(served["argv"][served["argv"].index("--max-model-len") + 1])
    found = POOL.search(ask(host, "/metrics")[1])
    assert found is not None
    assert int(found.group(1)) >= context
