# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics: as vLLM writes it, in both spellings, over engines, and broken."""

from __future__ import annotations

import pytest
from battery.counters import counters
from battery.model import ServerError

ENGINE = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="{engine}",model_name="copy"}} 3.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="{engine}",model_name="copy"}} 1.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{{engine="{engine}",model_name="copy",reason="capacity"}} 100.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{{engine="{engine}",model_name="copy"}} 1000.0
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{{engine="{engine}",model_name="copy"}} 1.7e+09
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{{engine="{engine}",model_name="copy"}} 250.0
# TYPE vllm:external_prefix_cache_hits_total counter
vllm:external_prefix_cache_hits_total{{engine="{engine}",model_name="copy"}} 9.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{{engine="{engine}",model_name="copy"}} 2.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{engine="{engine}",model_name="copy"}} 1.2548e+04
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="{engine}",model_name="copy"}} 640.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="128",cache_dtype="auto",engine="{engine}",kv_cache_size_tokens="{kv}",\
num_gpu_blocks="70"}} 1.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{{engine="{engine}",le="+Inf",model_name="copy"}} NaN
"""
DRAFTING = """\
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{{engine="{engine}",model_name="copy"}} 100.0
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{{engine="{engine}",model_name="copy"}} 200.0
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{{engine="{engine}",model_name="copy"}} 85.0
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",model_name="copy",position="1"}} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",model_name="copy",position="0"}} 80.0
"""


def metrics(*engines: int, drafting: bool = True, kv: str = "9001") -> str:
    return "".join((ENGINE + DRAFTING * drafting).format(engine=engine, kv=kv) for engine in engines)


def test_one_engine() -> None:
    seen = counters(metrics(0), 7.5)
    assert (seen.at, seen.running, seen.waiting, seen.preemptions) == (7.5, 3, 1, 2)
    assert (seen.generated_tokens, seen.prompt_tokens) == (640, 12548)
    assert (seen.prefix_queries, seen.prefix_hits) == (1000, 250)
    assert (seen.drafts, seen.draft_tokens, seen.accepted_tokens, seen.accepted_at) == (100, 200, 85, (80, 5))
    assert (seen.kv_tokens, seen.block_tokens) == (9001, 128)


def test_engines_are_summed() -> None:
    seen = counters(metrics(0, 1), 0)
    assert (seen.running, seen.generated_tokens, seen.drafts, seen.accepted_at) == (6, 1280, 200, (160, 10))
    assert (seen.kv_tokens, seen.block_tokens) == (18002, 128)


@pytest.mark.parametrize("spell", [lambda text: text.replace("_total", ""), lambda text: text.replace("\n", "\r\n")])
def test_other_spellings(spell: type[str]) -> None:
    assert counters(spell(metrics(0)), 0) == counters(metrics(0), 0)


def test_without_speculative_decoding() -> None:
    seen = counters(metrics(0, drafting=False), 0)
    assert (seen.drafts, seen.draft_tokens, seen.accepted_tokens, seen.accepted_at) == (None, None, None, ())


@pytest.mark.parametrize(
    ("text", "kv", "block"),
    [
        (metrics(0, kv="None"), 128 * 70, 128),
        (metrics(0, kv="None").replace('num_gpu_blocks="70"', 'num_gpu_blocks="None"'), None, 128),
        (metrics(0, 1).replace('kv_cache_size_tokens="9001"', 'x="y"', 1), 128 * 70 + 9001, 128),
        ("\n".join(line for line in metrics(0).split("\n") if "cache_config" not in line), None, None),
    ],
)
def test_the_cache_is_only_what_the_server_says(text: str, kv: int | None, block: int | None) -> None:
    seen = counters(text, 0)
    assert (seen.kv_tokens, seen.block_tokens) == (kv, block)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "vllm:num_requests_running, vllm:num_requests_waiting, vllm:generation_tokens"),
        ("<html>\n<body>It works!</body>\n</html>", "and 2 more missing"),
        (metrics(0).replace("vllm:num_preemptions", "vllm:x"), ": vllm:num_preemptions missing"),
        (metrics(0).replace("640.0", "many"), "not what Prometheus reads"),
        (metrics(0).replace('"copy"} 640.0', '"copy'), "not what Prometheus reads"),
        (metrics(0).replace("640.0", "NaN"), "vllm:generation_tokens is nan"),
        (metrics(0).replace('position="1"', 'position="one"'), "not what Prometheus reads"),
        (metrics(0).replace('position="1"', 'place="1"'), "not what Prometheus reads"),
    ],
)
def test_broken_text(text: str, said: str) -> None:
    with pytest.raises(ServerError) as refused:
        counters(text, 0)
    assert said in str(refused.value)
    assert "what listens on this port" in str(refused.value)
    assert "\n" not in str(refused.value)
