# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of a served model share: questions to the server, what keepers say, recipes made from the lab's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.cluster import CHECKOUT, Cluster

UNIT = "vllm@lab.service"
BACK_SECONDS = 900  # a limit for a group that does not come back: two shared cores serve two ranks here
# Tests take the group down more often in an hour than anything that is well.
MANY_STARTS = ("-e", "vllm_starts=1000")
FAULTS = "/etc/spark-faults"
PLUGIN = "/opt/spark-faults"

# Asks the server on the head: a question whose answer stands in it, and the HTTP status of any other path.
ASK = """
import json, pathlib, sys, urllib.error, urllib.request
key, tokens = sys.argv[1], int(sys.argv[2])
key = pathlib.Path(key).read_text().strip() if key.startswith("/") else key
asked = {"model": "copy", "prompt": "the code of block K0042 %s . what is the code of block K0042",
         "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
request = urllib.request.Request("http://%s:8000/v1/completions", json.dumps(asked).encode(), headers)
try:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
        print(answer.status, json.load(answer)["choices"][0]["text"])
except urllib.error.HTTPError as error:
    print(error.code)
"""


def ask(served: Cluster, key: str = "", tokens: int = 1, recipe: str = "lab", code: str = "C1234") -> str:
    """The status of an answer, and what it says. Without a key, that of the recipe is used."""
    script = ASK % (code, "10.77.0.11")
    key = key or f"/etc/switchless/vllm/{recipe}/api.key"
    return served.lab("exec", "spark1", "python3", "-c", script, key, str(tokens), check=False).strip()


def state(served: Cluster, node: str = "spark1", recipe: str = "lab") -> dict[str, Any]:
    """What the keeper says; empty while its node is off."""
    said = served.node(node, f"cat /run/vllm/{recipe}/state.json", check=False)
    found: dict[str, Any] = json.loads(said) if said.startswith("{") else {}
    return found


def unit(served: Cluster, name: str) -> str:
    """A property of the head's unit."""
    return served.node("spark1", f"systemctl show -P {name} {UNIT}").strip()


def last_end(served: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(served.node("spark1", "cat /var/lib/vllm/lab/last_end.json"))
    return found


def until(true: Callable[[], bool], what: str, seconds: float = BACK_SECONDS) -> float:
    """Wait for it; gives the seconds that it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"not within {seconds} s: {what}"
        time.sleep(1)
    return time.monotonic() - began


def recipe(folder: Path, name: str, changes: Mapping[str, Mapping[str, Any]]) -> str:
    """The path of a recipe that is the lab's but for some keys of its parts."""
    found = yaml.safe_load((CHECKOUT / "roles/vllm/vars/recipes/lab.yml").read_text(encoding="utf-8"))
    made = found["__vllm_recipe"]
    made["name"] = name
    for part, keys in changes.items():
        made[part] |= keys
        made["why"] |= {f"{part}.{key}": "for this test" for key in keys if part in ("engine", "environment")}
    path = folder / f"{name}.yml"
    path.write_text(yaml.safe_dump(found), encoding="utf-8")
    return str(path)


def faulty(served: Cluster, folder: Path) -> str:
    """The recipe whose engine can be spoiled, with its plugin on all nodes. Nothing is spoiled yet."""
    for node in served.names:
        for file in (CHECKOUT / "tests/faulty_vllm").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                place = f"{PLUGIN}/{file.relative_to(CHECKOUT / 'tests/faulty_vllm')}"
                served.node(node, f"mkdir -p $(dirname {place}) && cat >{place} <<'END'\n{file.read_text()}END")
    spoil(served)
    return recipe(folder, "faulty", {"environment": {"PYTHONPATH": PLUGIN, "SPARK_FAULTS": FAULTS}})


def spoil(served: Cluster, *faults: str) -> None:
    """Which faults are on from now, on all nodes."""
    served.nodes(f"echo {' '.join(faults)} >{FAULTS}")
