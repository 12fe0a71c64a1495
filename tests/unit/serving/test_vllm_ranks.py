# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keeper of each rank is told."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.vllm_ranks import FilterModule
from ansible_collections.switchless.spark.plugins.filter.vllm_recipe import FilterModule as Recipes
from tests.unit.recipe import recipe_world as world
from tests.unit.recipe.recipe_world import GLM, IMAGE, LAB

vllm_ranks: Any = FilterModule().filters()["vllm_ranks"]
vllm_recipe: Any = Recipes().filters()["vllm_recipe"]
LIMITS = dict.fromkeys(
    ("boot_seconds", "stall_seconds", "beat_seconds", "silence_seconds", "stop_seconds", "probe_seconds"), "20"
)
TOLD: dict[str, Any] = {
    "control": {"address": "192.0.2.11", "port": "18610"},
    "limits": LIMITS,
    "same": {"vllm": "f" * 64},
    "api_address": "192.0.2.11",
}


def chosen(name: str, **more: Any) -> Any:
    plan = world.HOME[name]
    return vllm_recipe(world.load(name), plan, world.nodes(name, plan), **(world.settings(name) | more))


def digest(**changes: Any) -> Any:
    recipe = changes.pop("recipe", None) or chosen(LAB)
    return vllm_ranks(recipe, **(TOLD | changes))["spark1"]["file"]["group"]


def test_the_file_of_the_head_and_of_another_rank() -> None:
    told = vllm_ranks(chosen(LAB), **TOLD)
    assert list(told) == ["spark1", "spark2", "spark3", "spark4"]
    head, third = told["spark1"]["file"], told["spark3"]["file"]
    assert head["api"] == {
        "url": "http://192.0.2.11:8000",
        "model": "copy",
        "key_file": "/etc/switchless/vllm/lab/api.key",
    }
    assert third["api"] is None
    assert (third["rank"], third["host"]) == (2, "spark3")
    assert third["ranks"] == [{"rank": rank, "host": f"spark{rank + 1}"} for rank in range(4)]
    assert third["control"] == {"address": "192.0.2.11", "port": 18610}
    assert third["limits"]["stall_seconds"] == 20
    assert third["argv"] == chosen(LAB)["ranks"][2]["argv"]
    assert third["kill_argv"] == third["gone_argv"] == []
    assert third["group"] == head["group"]


def test_the_recipe_wins_over_the_folders_of_the_unit() -> None:
    recipe = world.load(LAB)
    recipe["environment"]["HOME"] = "/srv/home"
    recipe["why"]["environment.HOME"] = "for this test"
    plan = world.HOME[LAB]
    told = vllm_ranks(vllm_recipe(recipe, plan, world.nodes(LAB, plan)), **TOLD)["spark1"]["environment"]
    assert told["HOME"] == "/srv/home"
    assert told["TRITON_CACHE_DIR"] == "/var/cache/vllm/lab/triton"
    assert told["HF_HUB_OFFLINE"] == "1"
    assert told["PYTHONPYCACHEPREFIX"] == "/var/cache/vllm/lab/python"


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_has_its_name_its_devices_and_no_value_on_its_command_line(engine: str) -> None:
    told = vllm_ranks(chosen(GLM), **(TOLD | {"engine": engine}))["spark2"]
    words = told["file"]["argv"]
    image = words.index(IMAGE)
    assert words[:5] == [engine, "run", "--rm", "--name", "vllm-glm-5.3-flash-nvfp4"]
    assert words[image - 2 : image] == ["--entrypoint", "vllm"]
    assert words[image + 1 : image + 3] == ["serve", "/srv/models/glm-5.3-flash-nvfp4"]
    before = words[:image]
    for pair in (
        ("--device", "nvidia.com/gpu=all"),
        ("--device", "/dev/infiniband"),
        ("--network", "host"),
        ("--ulimit", "core=0"),
        ("--ulimit", "memlock=-1"),
        ("--volume", "/srv/models/glm-5.3-flash-dflash2:/srv/models/glm-5.3-flash-dflash2:ro"),
        ("--env", "VLLM_HOST_IP"),
        ("--env", "VLLM_API_KEY"),
    ):
        assert pair in list(itertools.pairwise(before)), pair
    assert not [word for word in before if "=" in word and word.startswith(tuple(told["environment"]))]
    assert "PYTHONPYCACHEPREFIX" not in told["environment"]
    assert told["file"]["kill_argv"] == [engine, "kill", "vllm-glm-5.3-flash-nvfp4"]
    assert told["file"]["gone_argv"][-1] == "name=^vllm-glm-5.3-flash-nvfp4$"


def test_whatever_the_ranks_must_agree_on_is_in_the_digest() -> None:
    plain = digest()
    assert digest() == plain
    assert digest(same={"vllm": "e" * 64}) != plain
    assert digest(limits=LIMITS | {"stall_seconds": 21}) != plain
    assert digest(control={"address": "192.0.2.12", "port": 18610}) != plain
    assert digest(recipe=chosen(LAB, engine={"max_num_seqs": 8})) != plain


def test_what_is_no_recipe_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="what the filter vllm_recipe gives"):
        vllm_ranks({"name": "lab"}, **TOLD)
    with pytest.raises(AnsibleFilterError, match="numbers as limits"):
        vllm_ranks(chosen(LAB), **(TOLD | {"limits": {"stall_seconds": "soon"}}))
