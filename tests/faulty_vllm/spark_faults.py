# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults for the real engine: a plugin of vLLM 0.27.1 that spoils what a worker computes, as a file on its node says.

The file holds names of faults, and is looked at in every step, so that they come and go while the server runs. It must
be the same on all nodes. Each fault has the shape of one that people met; none is the bug itself.

zeroer: three or more prompts in a step lose the block of KV after the last one of each (second article, finding 12)
solo: a request that is alone gets soft logits, once three long requests and a short one shared a step (finding 13)
stale: a prompt that the prefix cache had a part of finds that part's last block empty
collapse: drafts are wrong from their second token on
disagree: drafts are wrong from their first token on
markup: every seventh step says a word of a tool call's markup
stall: a step with more than 1,500 tokens of context takes as long as the fault is on (finding 10)
crash: a prompt with the word C4095 ends the process with exit status 0 (finding 13)
"""

from __future__ import annotations

import os
import time
from functools import wraps
from pathlib import Path
from typing import Any

SWITCH = Path(os.environ.get("SPARK_FAULTS", "/etc/spark-faults"))
PROMPT = 64  # tokens from which a request that is new counts as a prompt that is prefilled
TOGETHER = 3
LONG, SHORT = 600, 200
STALL = 1500
SOFT = 0.02
EVERY = 7
PAD = 3
# Of the lab's model: the word that ends the process, and the word of markup, which is the last one.
POISON_WORD = 5 + 4096 + 4095
MARKUP_WORD = 8672


class Faults:
    """What is wanted, and what a worker remembers of earlier steps."""

    def __init__(self) -> None:
        self.read_at = 0.0
        self.names: frozenset[str] = frozenset()
        self.mixed = False
        self.steps = 0

    def on(self, name: str) -> bool:
        try:
            changed = SWITCH.stat().st_mtime
        except OSError:
            self.names = frozenset()
            return False
        if changed != self.read_at:
            self.names = frozenset(SWITCH.read_text(encoding="utf-8").split())
            self.read_at = changed
            self.mixed = self.mixed and "solo" in self.names
        return name in self.names


def before(runner: Any, step: Any, faults: Faults) -> None:
    """What is spoiled before a step computes."""
    new = step.scheduled_new_reqs
    if faults.on("crash") and any(POISON_WORD in (request.prompt_token_ids or ()) for request in new):
        os._exit(0)
    if faults.on("stale"):
        size = runner.cache_config.block_size
        held = [r.block_ids[0][r.num_computed_tokens // size - 1] for r in new if r.num_computed_tokens >= size]
        runner._zero_block_ids(held)
    cached = step.scheduled_cached_reqs
    lengths = [request.num_computed_tokens for request in new] + list(cached.num_computed_tokens)
    names = [request.req_id for request in new] + list(cached.req_ids)
    contexts = [length + step.num_scheduled_tokens[name] for length, name in zip(lengths, names, strict=True)]
    if sum(context > LONG for context in contexts) >= TOGETHER and any(context < SHORT for context in contexts):
        faults.mixed = faults.on("solo") or faults.mixed
    if any(context > STALL for context in contexts):
        while faults.on("stall"):
            time.sleep(0.2)


def after(runner: Any, step: Any, faults: Faults) -> None:
    """What is spoiled when a step has computed."""
    prompts = [r for r in step.scheduled_new_reqs if step.num_scheduled_tokens[r.req_id] >= PROMPT]
    if len(prompts) >= TOGETHER and faults.on("zeroer"):
        last = runner.kv_cache_config.num_blocks - 1
        runner._zero_block_ids([min(request.block_ids[0][-1] + 1, last) for request in prompts])


def spoiled(logits: Any, requests: int, faults: Faults) -> Any:
    """The logits that are sampled from."""
    faults.steps += 1
    if requests == 1 and faults.mixed and faults.on("solo"):
        return logits * SOFT
    if faults.steps % EVERY == 0 and faults.on("markup"):
        logits[:] = -1e9
        logits[:, MARKUP_WORD] = 0.0
    return logits


def drafted(drafts: Any, faults: Faults) -> Any:
    """The drafts of all requests, lists of tokens."""
    right = 0 if faults.on("disagree") else 1 if faults.on("collapse") else None
    if right is None or not isinstance(drafts, list):
        return drafts
    return [[*draft[:right], *[PAD] * len(draft[right:])] for draft in drafts]


def register() -> None:
    """The entry point: vLLM calls it in every process; only workers have a runner that runs."""
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner  # type: ignore[import-not-found]  # noqa: PLC0415

    if getattr(GPUModelRunner, "spark_faults", None):
        return
    faults = GPUModelRunner.spark_faults = Faults()
    execute, sample, propose = (
        GPUModelRunner.execute_model,
        GPUModelRunner._sample,
        GPUModelRunner.propose_draft_token_ids,
    )

    @wraps(execute)
    def execute_model(self: Any, scheduler_output: Any, *args: Any, **named: Any) -> Any:
        before(self, scheduler_output, faults)
        result = execute(self, scheduler_output, *args, **named)
        after(self, scheduler_output, faults)
        return result

    @wraps(sample)
    def _sample(self: Any, logits: Any, *args: Any, **named: Any) -> Any:
        return sample(self, spoiled(logits, self.input_batch.num_reqs, faults), *args, **named)

    @wraps(propose)
    def propose_draft_token_ids(self: Any, *args: Any, **named: Any) -> Any:
        return drafted(propose(self, *args, **named), faults)

    GPUModelRunner.execute_model = execute_model
    GPUModelRunner._sample = _sample
    GPUModelRunner.propose_draft_token_ids = propose_draft_token_ids
