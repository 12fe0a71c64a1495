# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_resolved: what servers resolved, what recipes promise, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.vllm_resolved import FilterModule
from tests.unit.serving.serving_world import recorded, said

vllm_resolved = FilterModule().filters()["vllm_resolved"]

SEEN = {
    "block_size": 256,
    "cache_dtype": "fp8_ds_mla",
    "num_gpu_blocks": 5465,
    "kv_cache_size_tokens": 1399106,
    "kv_cache_max_concurrency": 1.33,
    "kv_cache_memory_bytes": None,
    "enable_prefix_caching": True,
    "id": "dsv4",
    "root": "/srv/models/dsv4",
    "max_model_len": 1048576,
    "version": "0.27.1",
    "labels": {"gpu_memory_utilization": 0.85},
    "unread": [],
}
EXPECT = {
    "block_size": 256,
    "kv_cache_dtype": "fp8_ds_mla",
    "attention_backend": None,
    "nccl": None,
    "kv_tokens": 1399106,
    "kv_tokens_how": "measured",
    "max_model_len": 1048576,
}
LAB = EXPECT | {"kv_tokens": 1048576, "kv_tokens_how": "derived", "max_model_len": 4096, "block_size": 128}
CPU = {"expect": LAB, "runtime": {"build": "cpu"}, "served_name": None, "model_path": None, "tensor_parallel": 4}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, str, str, str]]]] = {
    # What was seen and expected otherwise; what is told: what, severity, pieces of expected and remedy.
    "all is well": ({}, {}, []),
    "a start that found a bit less": ({"kv_cache_size_tokens": 1357133}, {}, []),
    "a start that found less": (
        {"kv_cache_size_tokens": 1357132},
        {},
        [("KV tokens", "fail", "at least 1357133, the recipe's 1399106 less 3%", "gpu_memory_utilization from 0.85")],
    ),
    "a pool below the context": (
        {"kv_cache_size_tokens": 1048575},
        {},
        [
            (
                "KV tokens",
                "fail",
                "at least 1048576, which is max_model_len",
                "or lower max_model_len to 1048575 or less",
            )
        ],
    ),
    "a pool below the context, though the recipe promised no more": (
        {"kv_cache_size_tokens": 1000000},
        {"kv_tokens": 1000000},
        [
            (
                "KV tokens",
                "fail",
                "at least 1048576, which is max_model_len",
                "or lower max_model_len to 1000000 or less",
            )
        ],
    ),
    "a pinned pool that is too small": (
        {"kv_cache_size_tokens": 700000, "kv_cache_memory_bytes": 7_000_000_000},
        {},
        [
            (
                "KV tokens",
                "fail",
                "at least 1048576",
                "raise kv_cache_memory_bytes from 7000000000 to 10485760000 or more",
            )
        ],
    ),
    "a pool that nobody knows": (
        {"kv_cache_size_tokens": None},
        {},
        [("KV tokens", "unknown", "at least 1357133", "/metrics")],
    ),
    "a pool of nothing": (
        {"kv_cache_size_tokens": 0},
        {},
        [("KV tokens", "fail", "at least 1048576", "free memory on the node that has least")],
    ),
    "numbers that came as text": (
        {"kv_cache_size_tokens": "1399106", "block_size": "256", "max_model_len": "1048576"},
        {"kv_tokens": "1399106"},
        [],
    ),
    "another block size": ({"block_size": 128}, {}, [("block size", "fail", "256", "run the role vllm")]),
    "no block size": ({"block_size": None}, {}, [("block size", "unknown", "256", "/metrics")]),
    "a block size that the recipe leaves open": ({"block_size": 16}, {"block_size": None}, []),
    "another context": ({"max_model_len": 524288}, {}, [("max_model_len", "fail", "1048576", "run the role vllm")]),
    "a context that nobody knows": (
        {"max_model_len": None},
        {"max_model_len": None},
        [("max_model_len", "unknown", "None", "/v1/models")],
    ),
    "another data type": ({"cache_dtype": "auto"}, {}, [("data type of the KV cache", "fail", "fp8_ds_mla", "--kv-")]),
    "fp8 is not fp8_e4m3": (
        {"cache_dtype": "fp8"},
        {"kv_cache_dtype": "fp8_e4m3"},
        [("data type of the KV cache", "fail", "fp8_e4m3", "--kv-cache-dtype fp8_e4m3")],
    ),
    "no data type": ({"cache_dtype": None}, {}, [("data type of the KV cache", "unknown", "fp8_ds_mla", "/metrics")]),
    "auto became something": ({"cache_dtype": "bfloat16"}, {"kv_cache_dtype": "auto"}, []),
    "the model's own data type, perhaps": (
        {"cache_dtype": "auto"},
        {"kv_cache_dtype": "bfloat16"},
        [("data type of the KV cache", "unknown", "bfloat16", "the model's own data type is bfloat16")],
    ),
    "a backend that nobody read": (
        {},
        {"attention_backend": "FLASHINFER_MLA_SPARSE_DSV4"},
        [("attention backend", "unknown", "FLASHINFER_MLA_SPARSE_DSV4", "give the journal of each rank")],
    ),
    "NCCL that nobody read": ({}, {"nccl": "2.30.7"}, [("NCCL", "unknown", "2.30.7", "give the journal")]),
}


def short(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["what"], one["severity"]) for one in found]


@pytest.mark.parametrize("case", CASES)
def test_differences(case: str) -> None:
    seen, expect, told = CASES[case]
    found = vllm_resolved(SEEN | seen, EXPECT | expect)
    assert short(found) == [(what, severity) for what, severity, _expected, _remedy in told]
    for one, (_what, severity, expected, remedy) in zip(found, told, strict=True):
        assert expected in str(one["expected"])
        assert remedy in one["remedy"]
        assert (one["seen"] is None) <= (severity == "unknown")


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (1048576, None),
        (1048448, None),
        (1048447, "raise VLLM_CPU_KVCACHE_SPACE from 1 to 2 or more"),
        (4095, "raise VLLM_CPU_KVCACHE_SPACE from 1 to 2 or more, or lower max_model_len to 4095 or less"),
    ],
)
def test_a_pool_that_was_reckoned(tokens: int, words: str | None) -> None:
    """It may be one block smaller, for rounding."""
    seen = {"block_size": 128, "kv_cache_size_tokens": tokens, "kv_cache_memory_bytes": 2**30, "max_model_len": 4096}
    found = vllm_resolved(SEEN | seen, CPU | {"expect": LAB | {"kv_cache_dtype": "auto"}})
    assert [one["remedy"] for one in found] == ([] if words is None else [words])


def test_nothing_was_read() -> None:
    """A server that was not ready: all is unknown, nothing is fine."""
    found = vllm_resolved(None, {"expect": EXPECT, "served_name": "dsv4", "model_path": "/srv/models/dsv4"})
    assert short(found) == [
        ("KV tokens", "unknown"),
        ("block size", "unknown"),
        ("max_model_len", "unknown"),
        ("model", "unknown"),
        ("folder of the model", "unknown"),
        ("data type of the KV cache", "unknown"),
    ]


def test_another_model() -> None:
    whole = {"expect": EXPECT, "served_name": "glm", "model_path": "/srv/models/glm"}
    found = vllm_resolved(SEEN, whole)
    assert [(one["what"], one["seen"], one["expected"]) for one in found] == [
        ("model", "dsv4", "glm"),
        ("folder of the model", "/srv/models/dsv4", "/srv/models/glm"),
    ]


NCCL_CASES: list[tuple[Any, int | None, list[tuple[str, Any, str]]]] = [
    ("2.30.7", None, []),
    ("2.29.3", None, [("NCCL", "2.29.3", "fail")]),
    ({0: "2.30.7", 1: "2.30.7+cuda13.0"}, 2, []),
    ("2.31.1", None, []),
    ({"0": "2.30.7", "1": "2.28.9"}, 2, [("NCCL", "2.28.9, 2.30.7", "fail"), ("NCCL of rank 1", "2.28.9", "fail")]),
    ({0: "2.30.7", 1: None}, 2, [("NCCL of rank 1", None, "unknown")]),
    ({0: "2.30.7"}, 3, [("NCCL of rank 1, 2", None, "unknown")]),
    (["2.30.7", "2.31.1"], None, [("NCCL", "2.30.7, 2.31.1", "fail")]),
    ({0: ["2.30.7", "2.28.9"]}, 1, [("NCCL", "2.28.9, 2.30.7", "fail"), ("NCCL of rank 0", "2.28.9", "fail")]),
]


@pytest.mark.parametrize(("nccl", "ranks", "told"), NCCL_CASES)
def test_nccl(nccl: Any, ranks: int | None, told: list[tuple[str, Any, str]]) -> None:
    whole = {"expect": EXPECT | {"nccl": "2.30.7"}, "tensor_parallel": ranks}
    found = vllm_resolved(SEEN, whole, nccl=nccl)
    assert [(one["what"], one["seen"], one["severity"]) for one in found] == told


def test_ranks_with_different_nccl() -> None:
    found = vllm_resolved(SEEN, EXPECT, nccl={0: "2.30.7", 1: "2.28.9"})
    assert [(one["seen"], one["severity"]) for one in found] == [("2.28.9, 2.30.7", "fail")]
    assert vllm_resolved(SEEN, EXPECT, nccl={0: "2.30.7", 1: "2.30.7"}) == []


def test_journals_of_gpus() -> None:
    lines = (
        "(Worker_TP0 pid=9) INFO 12-01 01:00:00 [pynccl.py:113] vLLM is using nccl==2.30.7",
        "(Worker_TP0 pid=9) INFO 12-01 01:00:01 [cuda.py:482] Using FLASH_ATTN attention backend out of [...].",
        "(Worker_TP0 pid=9) INFO 12-01 01:00:01 [x.py:1] Using NCCL backend for all2all",
        "(Worker_TP0 pid=9) INFO 12-01 01:00:02 [x.py:1] Using 'MARLIN' NvFp4 MoE backend out of potential backends.",
    )
    expect = EXPECT | {"nccl": "2.30.7", "attention_backend": "FLASH_ATTN"}
    whole = {"expect": expect, "tensor_parallel": 2}
    assert vllm_resolved(SEEN, whole, journals=[{"journal": said(*lines)}, {"journal": said(*lines)}]) == []
    other = (lines[0].replace("2.30.7", "2.28.9"), lines[1].replace("Using FLASH_ATTN", "Using FLASHINFER"))
    found = vllm_resolved(SEEN, whole, journals={"0": said(*lines), "1": said(*other)})
    assert [(one["what"], one["seen"], one["expected"]) for one in found] == [
        ("attention backend of rank 1", "FLASHINFER", "FLASH_ATTN"),
        ("NCCL", "2.28.9, 2.30.7", "one version on all ranks"),
        ("NCCL of rank 1", "2.28.9", "2.30.7 or newer"),
    ]


def test_the_last_start_counts() -> None:
    old = said("INFO vLLM is using nccl==2.28.9", invocation="e" * 32)["lines"]
    new = said("INFO vLLM is using nccl==2.30.7", start=100.0)["lines"]
    expect = EXPECT | {"nccl": "2.30.7"}
    assert vllm_resolved(SEEN, expect, journals=[{"lines": old + new}]) == []
    assert short(vllm_resolved(SEEN, expect, journals=[{"lines": old}])) == [("NCCL of rank 0", "fail")]


def test_the_recorded_journals_of_a_real_server() -> None:
    journals = {rank: recorded(f"truncated.rank{rank}.tsv") for rank in (0, 1)}
    expect = EXPECT | {"attention_backend": "CPU_ATTN"}
    assert vllm_resolved(SEEN, {"expect": expect, "tensor_parallel": 2}, journals=journals) == []
    found = vllm_resolved(SEEN, {"expect": expect, "tensor_parallel": 3}, journals=journals)
    assert short(found) == [("attention backend of rank 2", "unknown")]


def test_no_expectation() -> None:
    with pytest.raises(AnsibleFilterError, match="expect is nothing"):
        vllm_resolved(SEEN, None)


@given(
    st.dictionaries(st.sampled_from(sorted(SEEN)), st.none() | st.integers() | st.text(max_size=4) | st.booleans()),
)
def test_what_was_not_read_is_never_fine(seen: dict[str, Any]) -> None:
    """Whatever else was seen: an expectation that is there and cannot be judged is told."""
    found = vllm_resolved(seen, EXPECT)
    told = {one["what"] for one in found}
    for key, what in (
        ("kv_cache_size_tokens", "KV tokens"),
        ("block_size", "block size"),
        ("max_model_len", "max_model_len"),
        ("cache_dtype", "data type of the KV cache"),
    ):
        assert what in told or seen.get(key) is not None
    assert all(one["severity"] in ("fail", "unknown") and one["remedy"] for one in found)
