# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_recipe: a recipe, a plan and the nodes to what each rank runs, or why not."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def vllm_recipe(
    recipe: object,
    plan: object,
    nodes: object,
    *,
    engine: object = None,
    model_path: object = None,
    drafter_path: object = None,
    program: object = "vllm",
    image: object = None,
    api_address: object = None,
    api_port: object = None,
    master_port: object = None,
    env_files: object = None,
) -> dict[str, object]:
    """See vllm_recipe.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
    from ansible_collections.switchless.spark.plugins.module_utils._recipe.resolve import resolve
    from ansible_collections.switchless.spark.plugins.module_utils._recipe.schema import RecipeError

    try:
        return resolve(
            recipe,
            plan,
            nodes,
            engine=engine,
            model_path=model_path,
            drafter_path=drafter_path,
            program=program,
            image=image,
            api_address=api_address,
            api_port=api_port,
            master_port=master_port,
            env_files=env_files,
        )
    except RecipeError as exc:
        value = plain(recipe)
        name = value.get("name") if isinstance(value, dict) else None
        raise AnsibleFilterError(f"the recipe {name or 'without a name'} cannot be served:\n{exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_recipe": vllm_recipe}
