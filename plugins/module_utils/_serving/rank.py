# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What the keeper of each rank is told: its file, its environment, and a digest of what all ranks must agree on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .group_look import places
from .snapshots import tags

SCHEMA = 1
CACHES = {
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "VLLM_CACHE_ROOT": "vllm",
}


def ranks(
    chosen: Mapping[str, Any],
    *,
    control: Mapping[str, Any],
    limits: Mapping[str, int],
    same: object,
    api_address: str,
    engine: str = "docker",
    snapshots: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """C(file), C(environment) and C(snapshot), a folder, by host, from what the filter vllm_recipe gave.

    C(same) is what, beside the recipe itself, must not differ between ranks and starts: digests of programs and keys.
    C(snapshots) is what those of the weights are made with, as C(snapshots.tag) takes it; without it there are none.
    """
    name: str = chosen["name"]
    where = places(name)
    folder = where.config.rpartition("/")[0]
    container = chosen["runtime"]["kind"] == "container"
    kept = tags(chosen, snapshots)
    agreed = {
        "ranks": chosen["ranks"],
        "control": dict(control),
        "limits": dict(limits),
        "same": same,
        "engine": engine,
        "snapshots": kept,
    }
    digest = hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).hexdigest()
    order = [{"rank": rank["rank"], "host": rank["host"]} for rank in chosen["ranks"]]
    found: dict[str, dict[str, Any]] = {}
    for rank in chosen["ranks"]:
        environment = _environment(name, rank["environment"], container)
        snapshot = f"/var/lib/vllm/{name}/snapshots/{kept[rank['host']]}" if kept else ""
        if kept:
            names = chosen["runtime"]["snapshots"]
            environment |= {names["directory_variable"]: snapshot, names["tag_variable"]: kept[rank["host"]]}
        argv = _contained(chosen, rank["argv"], sorted(environment), engine) if container else rank["argv"]
        file = {
            "schema": SCHEMA,
            "recipe": name,
            "rank": rank["rank"],
            "host": rank["host"],
            "ranks": order,
            "group": digest,
            "control": dict(control),
            "key_file": f"{folder}/group.key",
            "argv": argv,
            "kill_argv": [engine, "kill", _named(name)] if container else [],
            "gone_argv": [engine, "ps", "--quiet", "--filter", f"name=^{_named(name)}$"] if container else [],
            "api": None
            if rank["headless"]
            else {
                "url": f"http://{api_address}:{chosen['api_port']}",
                "model": chosen["served_name"],
                "key_file": f"{folder}/api.key",
            },
            "limits": dict(limits),
            "state_file": where.state,
            "end_file": where.end,
        }
        found[rank["host"]] = {"file": file, "environment": environment, "snapshot": snapshot}
    return found


def _named(recipe: str) -> str:
    return f"vllm-{recipe}"


def _environment(recipe: str, own: Mapping[str, str], container: bool) -> dict[str, str]:
    """The recipe's, which wins, over folders that the unit's user can write.

    What is imported is compiled into such a folder, too: an environment is installed without, since most of it is never
    imported. An image has it already.
    """
    cache = f"/var/cache/vllm/{recipe}"
    folders = {name: f"{cache}/{folder}" for name, folder in CACHES.items()}
    if not container:
        folders["PYTHONPYCACHEPREFIX"] = f"{cache}/python"
    return {"HOME": f"/var/lib/vllm/{recipe}", "XDG_CACHE_HOME": cache} | folders | dict(own)


def _contained(chosen: Mapping[str, Any], argv: Sequence[str], names: Sequence[str], engine: str) -> list[str]:
    """The same in a container. Values go by name, so that no process list shows them."""
    recipe = chosen["name"]
    words = [engine, "run", "--rm", "--name", _named(recipe), "--network", "host", "--ipc", "host"]
    words += ["--device", "nvidia.com/gpu=all", "--device", "/dev/infiniband"]
    # A core dump of a rank is as large as its memory.
    words += ["--ulimit", "memlock=-1", "--ulimit", "nofile=1048576", "--ulimit", "core=0"]
    folders = [chosen["model_path"], (chosen["drafter"] or {}).get("path"), "/etc/switchless/nccl-graph.xml"]
    for folder in folders:
        if folder:
            words += ["--volume", f"{folder}:{folder}:ro"]
    for folder in (f"/var/lib/vllm/{recipe}", f"/var/cache/vllm/{recipe}"):
        words += ["--volume", f"{folder}:{folder}"]
    for name in (*names, "VLLM_API_KEY"):
        words += ["--env", name]
    return [*words, "--entrypoint", argv[0], str(chosen["runtime"]["image"]), *argv[1:]]
