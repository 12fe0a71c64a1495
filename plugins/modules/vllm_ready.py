#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_ready
short_description: Waits until a group of vLLM ranks generated a token
version_added: 0.1.0
description:
  - Runs on the head. Waits for a limited time until the group serves and the server has answered a request of this
    module with at least one token. Then it reads what the server resolved. Changes nothing.
  - A server that says that it is healthy may hang at its first request. Only a token counts.
  - It ends early when the life of the group that was waited for is over, so that the reason can be looked for.
  - Whatever is not there or does not answer is told in RV(detail), and is never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  recipe:
    description: The recipe.
    type: str
    required: true
  url:
    description: Where the server listens, for example C(http://192.0.2.11:8000).
    type: str
    required: true
  model:
    description: Name under which the model is served.
    type: str
    required: true
  api_key_file:
    description:
      - File on the node with the API key. Without it none is sent.
      - The key is in no result, no log and no command line.
    type: path
  prompt:
    description: What is asked.
    type: str
    default: "What is two plus two?"
  max_tokens:
    description: How many tokens the answer may have.
    type: int
    default: 16
  wait_seconds:
    description:
      - For how many seconds to wait at most. A request gets 5 seconds at least, and reading what the server resolved
        may take 15 more.
      - Call it repeatedly to show meanwhile how far the start is.
    type: int
    default: 20
  life_before:
    description:
      - Lives of the group that do not count. Those of before the start was asked for, as in C(life) and
        C(last_end.life) of P(switchless.spark.vllm_group#filter). Nulls are passed over.
      - With it a life that ended between two calls is noticed. Give an empty list if there was none.
      - Without it a life that had ended before this call counts for nothing.
    type: list
    elements: raw
  state_file:
    description: What the head says now. The default is C(/run/vllm/RECIPE/state.json).
    type: path
  end_file:
    description: What the head says of the last life. The default is C(/var/lib/vllm/RECIPE/last_end.json).
    type: path
  root:
    description:
      - Folder below which the files of the head are read, for a copy of a node's files.
      - The command C(systemctl) asks the node all the same, and O(api_key_file) is read on the node.
    type: path
    default: /
seealso:
  - module: switchless.spark.vllm_group_info
  - plugin: switchless.spark.vllm_group
    plugin_type: filter
  - plugin: switchless.spark.vllm_resolved
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Wait for a token
  switchless.spark.vllm_ready:
    recipe: lab
    url: http://192.0.2.11:8000
    model: copy
    api_key_file: /etc/switchless/vllm/lab/api.key
    life_before: "{{ [group.life, group.last_end.life | default(none)] }}"
  register: ready
  until: ready.ready or ready.failed_life
  retries: 60
  delay: 0
  become: true

- name: Stop if the start failed
  ansible.builtin.assert:
    that: ready.ready
    fail_msg: "{{ ready.state }}: {{ ready.detail }}"
"""

RETURN = r"""
ready:
  description: Whether a token was generated for this call.
  returned: success
  type: bool
state:
  description:
    - What the head says that the group does, V(gathering), V(starting), V(serving), V(ending), V(stopped) or V(failed).
    - Without a word of the head of now, the unit's state as systemd has it, or V(unknown).
  returned: success
  type: str
  sample: serving
life:
  description: The life of the group. Null when the head does not say.
  returned: success
  type: str
waited_seconds:
  description: How long this call took.
  returned: success
  type: float
  sample: 3.1
detail:
  description: Why it is not ready. Empty otherwise.
  returned: success
  type: str
answer:
  description: What the model answered. Null when it is not ready.
  returned: success
  type: str
usage:
  description: The tokens of prompt and answer, as the server counted them. Null when it is not ready.
  returned: success
  type: dict
  sample: {prompt_tokens: 8, completion_tokens: 16, total_tokens: 24}
resolved:
  description: What the server resolved. Unknown values are null. Null as a whole when it is not ready.
  returned: success
  type: dict
  contains:
    block_size:
      description: Tokens of a block of the KV cache.
      type: int
      sample: 128
    cache_dtype:
      description: Data type of the KV cache. V(auto) stands for the model's own.
      type: str
      sample: auto
    num_gpu_blocks:
      description: Blocks of the KV cache.
      type: int
      sample: 8192
    kv_cache_size_tokens:
      description: Tokens that the KV cache holds.
      type: int
      sample: 1048576
    kv_cache_max_concurrency:
      description: How many requests of the greatest length it holds.
      type: float
      sample: 256.0
    kv_cache_memory_bytes:
      description: The size of the KV cache on each rank in bytes, if it was set.
      type: int
    enable_prefix_caching:
      description: Whether prompts share what they begin with.
      type: bool
    id:
      description: Name of the model.
      type: str
      sample: copy
    root:
      description: Where the server has it from.
      type: str
      sample: /srv/models/copy
    max_model_len:
      description: Greatest length of a request in tokens.
      type: int
      sample: 4096
    version:
      description: Version of vLLM.
      type: str
      sample: 0.27.1
    labels:
      description: All labels of the metric C(vllm:cache_config_info).
      type: dict
    unread:
      description: What could not be read, and why.
      type: list
      elements: str
failed_life:
  description: Whether the life that was waited for ended, the unit failed, or nothing starts it.
  returned: success
  type: bool
end:
  description:
    - How the life ended, as the head wrote it, with C(reason), C(rank), C(host), C(detail) and the C(invocation) of
      each rank in C(ranks). Null when RV(failed_life) is false, or the head left no word.
  returned: success
  type: dict
"""

import json
import time
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import ConnectionError as UrlsError
from ansible.module_utils.urls import open_url

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner
from ansible_collections.switchless.spark.plugins.module_utils._serving.group_look import NAME, look, places
from ansible_collections.switchless.spark.plugins.module_utils._serving.ready import Waiter, Wanted
from ansible_collections.switchless.spark.plugins.module_utils._serving.ready_answer import Answer

MOST = 16 * 1024 * 1024


class Client:
    """Asks the server itself: no proxy, no redirect, and no file that has passwords."""

    def __init__(self, key: str) -> None:
        self._headers = {"Accept": "*/*", "Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def ask(self, url: str, seconds: float, data: Mapping[str, Any] | None = None) -> Answer:
        until = time.monotonic() + seconds
        try:
            with open_url(
                url,
                data=None if data is None else json.dumps(data),
                headers=self._headers,
                method="GET" if data is None else "POST",
                timeout=seconds,
                use_proxy=False,
                follow_redirects="none",
                use_netrc=False,
                decompress=False,
            ) as reply:
                body = b""
                while part := reply.read1(65536):
                    body += part
                    if len(body) > MOST:
                        return Answer(error=f"more than {MOST} bytes")
                    if time.monotonic() > until:
                        return Answer(error=f"not at its end after {seconds:.0f} s")
                return Answer(reply.status, body.decode("utf-8", "replace"))
        except HTTPError as error:
            return Answer(error.code, _rest(error))
        except TimeoutError:
            return Answer(error=f"silent for {seconds:.0f} s")
        except (OSError, HTTPException, UrlsError, ValueError) as error:
            return Answer(error=str(getattr(error, "reason", "") or error) or type(error).__name__)


def _rest(error: HTTPError) -> str:
    try:
        return error.read(65536).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""


def key_of(path: str | None) -> tuple[str, str]:
    """The key, or why there is none."""
    if path is None:
        return "", ""
    try:
        key = Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        return "", f"the API key in {path} cannot be read: {error.strerror}; run it as root"
    except ValueError:
        return "", f"the API key in {path} cannot be sent: expected ASCII"
    if not key or not key.isprintable():
        return "", f"the API key in {path} cannot be sent: expected one line of text"
    return key, ""


def hidden(value: Any, key: str) -> Any:
    """The same without the key, in case that a server sends it back."""
    if not key:
        return value
    if isinstance(value, str):
        return value.replace(key, "********")
    if isinstance(value, Mapping):
        return {hidden(name, key): hidden(item, key) for name, item in value.items()}
    return [hidden(item, key) for item in value] if isinstance(value, list) else value


def problem(params: Mapping[str, Any]) -> str:
    if not NAME.fullmatch(params["recipe"]):
        return f"recipe is {params['recipe']!r}, expected letters, digits and . _ - as in the unit's name"
    if not params["url"].startswith(("http://", "https://")):
        return f"url is {params['url']!r}, expected http:// or https:// and an address"
    for name, least in (("max_tokens", 1), ("wait_seconds", 0)):
        if params[name] < least:
            return f"{name} is {params[name]}, expected {least} or more"
    return ""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "recipe": {"type": "str", "required": True},
            "url": {"type": "str", "required": True},
            "model": {"type": "str", "required": True},
            "api_key_file": {"type": "path", "no_log": False},
            "prompt": {"type": "str", "default": "What is two plus two?"},
            "max_tokens": {"type": "int", "default": 16, "no_log": False},
            "wait_seconds": {"type": "int", "default": 20},
            "life_before": {"type": "list", "elements": "raw"},
            "state_file": {"type": "path"},
            "end_file": {"type": "path"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    wrong = problem(params)
    if wrong:
        module.fail_json(msg=wrong)
    key, obstacle = key_of(params["api_key_file"])
    before = params["life_before"]
    wanted = Wanted(
        url=params["url"].rstrip("/"),
        model=params["model"],
        prompt=params["prompt"],
        max_tokens=params["max_tokens"],
        seconds=params["wait_seconds"],
        obstacle=obstacle,
        not_these=None if before is None else frozenset(str(one) for one in before if one),
    )
    tree, runner = Tree(params["root"]), ModuleRunner(module)
    where = places(params["recipe"], "", params["state_file"] or "", params["end_file"] or "")
    began = time.monotonic()
    waiter = Waiter(
        lambda: look(tree, runner, params["recipe"], where), Client(key), wanted, time.monotonic, time.sleep
    )
    outcome = waiter.wait().as_dict()
    module.exit_json(changed=False, waited_seconds=round(time.monotonic() - began, 1), **hidden(outcome, key))


if __name__ == "__main__":
    main()
