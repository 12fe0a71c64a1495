# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on every fragment of cases.txt, by hand: rank, code, a piece of the line, words that have to fall."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._serving.diagnose import diagnose
from tests.unit.serving.never_lines import NEVER
from tests.unit.serving.serving_world import cases, from_text, key, line


class Expected(NamedTuple):
    verdict: str
    rank: int | None
    code: str | None
    quote: str = ""
    says: tuple[str, ...] = ()


F, U, S = "found", "undecided", "secondary"
EXPECTED = {
    "S01": Expected("no_journal", 1, "join", "1/2 clients joined", ("601 s", "no journal from rank 1")),
    "S02": Expected(F, 0, "docker_address", "172.17.0.9", ("VLLM_HOST_IP",)),
    "S04": Expected(F, 0, "gloo_ifname", "Unable to resolve hostname", ("GLOO_SOCKET_IFNAME", "/etc/hosts")),
    "S06": Expected(F, 0, "ifname", "family 59936", ("need not be the one", "rank 3 has eth2")),
    "S08": Expected(S, None, "ended_by_hand", "exit code: -9", ("SGLANG_HOST_IP",)),
    "S09": Expected(F, 11, "port_in_use", "192.168.100.58:40043"),
    "S10": Expected(F, 0, "port_in_use", "EADDRINUSE"),
    "S12": Expected(S, None, "not_joined", "Cannot provide a placement group", ("the node that did not come",)),
    "S13": Expected(F, 0, "version_differs", "Version mismatch", ("same image digest",)),
    "S16": Expected(F, 0, "no_cable", "192.168.104.1", ("no cable joins",)),
    "S17": Expected(F, 0, "cable", "192.168.100.3"),
    "S18": Expected(U, 0, "no_cable", "failed with 110", ("NCCL that is loaded", "NCCL_IB_HCA", "cable")),
    "S20": Expected(F, 0, "no_gid", "fe80", ("the peer", "link-local")),
    "S21": Expected(F, 0, "no_gid", "remote GID ::", ("the peer", "NCCL_IB_GID_INDEX")),
    "S22": Expected(F, 0, "no_gid", "local GID ::", ("this node",)),
    "S24": Expected(F, 0, "no_gid", "NCCL WARN Call to ibv_modify_qp", ("this node and the peer",)),
    "S25": Expected(F, 0, "no_cable", "failed with 101"),
    "S25b": Expected(U, 0, "no_cable", "failed with error Network is unreachable"),
    "S26": Expected(F, 0, "no_net_plugin", "NET plugin", ("/dev/infiniband",)),
    "S28": Expected(U, 0, "register_memory", "Cannot allocate memory", ("kho=off", "LimitMEMLOCK", "CmaTotal")),
    "S29": Expected(U, 0, "register_memory", "ibvwrap.cc:217", ("kho=off", "LimitMEMLOCK", "CmaTotal")),
    "S30": Expected(F, 0, "locked_memory", "ibv_create_cq", ("memlock",)),
    "S32": Expected(F, 0, "unanswered", "error 12"),
    "S33": Expected("nothing", None, None),
    "S34": Expected("no_journal", 0, "watchdog", "Watchdog caught", ("no journal from rank 0",)),
    "S37": Expected(F, 0, "ptxas_arch", "ptxas fatal", ("sm_121a", "TRITON_PTXAS_PATH")),
    "S38": Expected(F, 0, "ptxas_arch", "ptxas fatal", ("sm_121a",)),
    "S40": Expected(F, 0, "no_kernel_image", "no kernel image", ("cu130",)),
    "S41": Expected(F, 0, "no_nvcc", "'nvcc'", ("CUDA_HOME",)),
    "S41b": Expected(F, 0, "no_nvcc", "Could not find nvcc"),
    "S42": Expected(F, 0, "cuda_home", ":/usr/local/cuda-12.8/bin/nvcc", ("colon",)),
    "S44": Expected(F, 1, "deep_gemm_jit", "runtime != nullptr"),
    "S45": Expected(F, 0, "sparse_mla_decode", "num_tokens > 64 (5 vs. 64)", ("5 tokens",)),
    "S46": Expected(F, 0, "sparse_mla_shape", "decode-dsv4 launch failed"),
    "S48": Expected(F, 0, "kv_reshape", "setStorage"),
    "S49": Expected(F, 0, "zero_size", "ZeroDivisionError", ("block-size",)),
    "S52": Expected(F, 0, "driver_too_old", "590.48", ("not another driver",)),
    "S53": Expected(F, 0, "no_gpu", "was not detected"),
    "S54": Expected(F, 0, "gpu_memory", "CUDA unknown error", ("NVRM",)),
    "S56": Expected(F, 0, "kv_too_small", "100000", ("4.26 GiB", "4.25 GiB")),
    "S57": Expected(F, 0, "kv_too_small", "131072", ("58496",)),
    "S58": Expected(S, None, "not_started", "Failed core proc(s)"),
    "S58b": Expected("unknown", 0, "unknown", "Traceback"),
    "S60": Expected(F, 0, "gpu_memory", "NV_ERR_NO_MEMORY", ("expandable_segments:False",)),
    "S61": Expected(F, 0, "bystander_killed", "lmcache", ("not the program that took it",)),
    "S64": Expected(F, 0, "shard_truncated", "MetadataIncompleteBuffer", ("SHA-256",)),
    "S65": Expected(F, 0, "no_weights", "Cannot find any model weights", ("refs/main",)),
    "S66": Expected(U, 0, "weights_missing", "model.layers.47", ("consecutive", "scattered")),
    "S68": Expected(F, 0, "offline", "huggingface_hub.errors.OfflineModeIsEnabled", ("kernel package",)),
    "S69": Expected(F, 0, "model_too_new", "deepseek_v4"),
    "S70": Expected(F, 0, "bad_flag", "--gdn-decode-kernel b12x", ("--gdn-decode-kernel b12x",)),
    "S73": Expected(S, 0, "watchdog", "missing ranks: {0}", ("rank 0 launched fewer operations",)),
    "S74": Expected(S, None, "step_timeout", "sample_tokens"),
    "S77": Expected("nothing", None, None),
    "S78": Expected(F, 0, "assertion", "MoE was handed 35 rows"),
    "S80": Expected("died", 0, "worker_died", "VllmWorker-0", ("journalctl -k",)),
    "S81": Expected(S, None, "engine_dead", "EngineDeadError"),
    "S82": Expected(S, None, "not_started"),
    "S84": Expected(F, 0, "all_reduce", "custom_all_reduce.cuh:455"),
}
CASES = cases()
UNSURE = {"S06", "S09", "S60", "S61"}
"""Found, and not certain: ranks are missing, or the line can be there without harm."""


def words(answer: dict[str, Any]) -> str:
    choices = " ".join(f"{one['cause']} {one['cure']}" for one in answer["choices"])
    return " ".join((answer["summary"], answer["cause"], answer["cure"], answer["check"], choices))


def test_every_fragment_has_a_verdict() -> None:
    assert sorted(CASES) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name: str) -> None:
    wanted = EXPECTED[name]
    answer = diagnose(from_text(CASES[name]))
    assert (answer["verdict"], answer["rank"], answer["code"]) == (wanted.verdict, wanted.rank, wanted.code)
    assert wanted.quote in (answer["line"] or "")
    assert (answer["line"] is None) == (wanted.verdict == "nothing")
    assert [word for word in wanted.says if word not in words(answer)] == []
    assert "{" not in answer["cause"] + answer["cure"]
    assert answer["certain"] is (wanted.verdict == F and name not in UNSURE)
    assert answer["summary"]


def spread(name: str) -> dict[int, Any]:
    """The case with every other rank up to the highest, each saying harmless things."""
    journals: dict[int, Any] = from_text(CASES[name])
    for rank in range(max(journals) + 1):
        journals.setdefault(rank, {"lines": [line("INFO 08-03 13:35:33 [model.py:1] Resolved architecture", 0.5)]})
    return journals


@given(st.sampled_from(sorted(CASES)), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_order_of_ranks_and_harmless_lines_change_nothing(name: str, shuffle: random.Random) -> None:
    journals = spread(name)
    before = key(diagnose(journals))
    ranks = list(journals)
    shuffle.shuffle(ranks)
    noisy = {}
    for rank in ranks:
        lines = list(journals[rank]["lines"])
        # A third line of waiting is a hang, and S77 has two.
        for noise in shuffle.sample([one for one in NEVER if name != "S77" or "shm_broadcast" not in one], k=10):
            # Never between the parts of a message that its poster broke into several lines.
            place = shuffle.choice([0, len(lines)])
            at = lines[min(place, len(lines) - 1)]["time"] + (0.1 if place else -0.1)
            mono = lines[min(place, len(lines) - 1)]["monotonic"] + (0.1 if place else -0.1)
            lines.insert(place, lines[0] | {"time": at, "monotonic": mono, "message": noise, "source": "unit"})
        noisy[rank] = journals[rank] | {"lines": lines}
    answer = diagnose(noisy)
    assert key(answer) == before
    shown = [answer["line"], *(one["line"] for part in ("also", "secondary", "last") for one in answer[part])]
    assert not set(shown) & set(NEVER)


@given(st.sampled_from([name for name in sorted(CASES) if EXPECTED[name].rank is not None]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_without_the_failing_ranks_journal_nothing_is_certain(name: str, empty: bool) -> None:
    journals = spread(name)
    journals.setdefault(1, {"lines": [line("INFO 08-03 13:35:33 [model.py:1] Resolved architecture", 0.5)]})
    failing = diagnose(journals)["rank"]
    if empty:
        journals[failing] = None
    else:
        del journals[failing]
    answer = diagnose(journals, expected=max((*journals, failing)) + 1)
    assert answer["certain"] is False
    assert failing in answer["missing"]
    assert f"no journal from rank {failing}" in answer["summary"]
    assert answer["verdict"] in {"no_journal", "secondary"} or answer["line"]
