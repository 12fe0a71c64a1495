# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Causes that lie in the model's files, the settings or the node's memory. Data, which grows."""

from __future__ import annotations

from typing import Any

from .causes import WEAK, Cause, Choice, Facts, cause

COMPARE = "checkpoint_info, where the collection has it; size and SHA-256 of each shard against another node"


def _free_of_cache(facts: Facts) -> bool:
    """Memory that the kernel would give back at once: MemAvailable is far above MemFree."""
    free, available = facts.get("mem_free_kb"), facts.get("mem_available_kb")
    return _gib(available) - _gib(free) > GIB_OF_CACHE


def _taken(facts: Facts) -> bool:
    return facts.get("mem_available_kb") is not None and not _free_of_cache(facts)


GIB_OF_CACHE = 8.0


def _gib(kb: Any) -> float:
    return float(kb or 0) / (1 << 20)


MODEL: tuple[Cause, ...] = (
    cause(
        "kv_too_small",
        r"To serve at least one request with the model's max seq len \((?P<length>\d+)\), \(?(?P<need>[\d.]+) GiB "
        r"KV cache is needed, which is larger than the available KV cache memory \((?P<have>[\d.]+) GiB\)",
        "a context of {length} tokens needs {need} GiB of KV cache, and there are {have} GiB",
        "A smaller max_model_len, a larger KV pin (kv-cache-memory-bytes) or gpu-memory-utilization",
        "'Available KV cache memory' and 'GPU KV cache size' of each rank",
    ),
    cause(
        "kv_too_small",
        r"max seq len \((?P<length>\d+)\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\((?P<have>\d+)\)",
        "a context of {length} tokens does not fit into the KV cache, which has {have}",
        "A smaller max_model_len, a larger KV pin (kv-cache-memory-bytes) or gpu-memory-utilization",
        "'GPU KV cache size' of each rank",
    ),
    cause(
        "no_kv_memory",
        r"No available memory for the cache blocks",
        "after the weights nothing is left for the KV cache",
        "A larger gpu-memory-utilization or fewer batched tokens; more ranks",
        "'Model loading took' and 'Available KV cache memory' of each rank",
    ),
    cause(
        "no_free_memory",
        r"Free memory on device \S+ \((?P<free>[^)]*)\) on startup is less than desired",
        "at the start less memory is free ({free}) than gpu-memory-utilization claims",
        "",
        "MemFree against MemAvailable in /proc/meminfo; `nvidia-smi` for other programs",
        choices=(
            Choice(
                "page_cache",
                "the kernel's page cache holds it, as after copying a checkpoint: on a GB10 that counts as taken",
                "sync, then write 3 to /proc/sys/vm/drop_caches before the start",
                _free_of_cache,
            ),
            Choice(
                "other_server",
                "another program holds it, as an earlier server that has not ended",
                "End it; start the group only when it is gone on every node",
                _taken,
            ),
        ),
    ),
    cause(
        "gpu_out_of_memory",
        r"CUDA out of memory|OutOfMemoryError|Failed to load model - not enough GPU memory",
        "the GPU's memory, which on a Spark is the node's, does not suffice",
        "Lower gpu-memory-utilization, max-num-batched-tokens or max-num-seqs; end other programs",
        "MemAvailable at that time; what else runs on the node",
    ),
    cause(
        "host_out_of_memory",
        r"Out of memory: Killed process \d+ \((?P<name>(?:VLLM|vllm|python|ray|pt_main|sglang)[^)]*)\)"
        r"|A process of this unit has been killed by the OOM"
        r"|Failed with result 'oom-kill'",
        "the kernel ended a process of the server ({name}) because the node had no memory",
        "Fewer loader threads, less gpu-memory-utilization, no other programs on the node; swap only helps the loading",
        "`journalctl -k` of that node: the table of programs that the kernel prints before it",
    ),
    cause(
        "bystander_killed",
        r"Out of memory: Killed process \d+ \((?P<name>[^)]*)\)",
        "the node had no memory, and the kernel ended {name}: as a rule not the program that took it, which is the one "
        "that loads weights",
        "Fewer loader threads, less gpu-memory-utilization; keep {name} off the node, or make the server do without it",
        "`journalctl -k` of that node: the table of programs that the kernel prints before it",
        WEAK,
    ),
    cause(
        "shard_truncated",
        r"Error while deserializing header: (?P<said>[\w ,]+)",
        "a shard of the checkpoint is not whole ({said}); the message does not say which. A disk that was full while "
        "copying does that",
        "Copy the shard again from a node whose files are whole",
        COMPARE,
    ),
    cause(
        "no_weights",
        r"Cannot find any model weights with|Cannot find any model weights",
        "the folder that was looked into has no weights, though others may have: without the network, refs/main of the "
        "cache decides which snapshot is used, and can name a newer, incomplete one",
        "Serve the snapshot by its path, or pin the revision",
        "refs/main and the folders below snapshots in the cache of this node",
    ),
    cause(
        "weights_missing",
        r"Following weights were not initialized from checkpoint",
        "the checkpoint has not all weights of the model",
        "",
        f"which layers are named: consecutive ones at the end, or scattered; {COMPARE}",
        choices=(
            Choice(
                "shard_missing",
                "a shard is missing: the layers named are consecutive ones, as a rule the last",
                "Copy the shard",
            ),
            Choice(
                "wrong_model",
                "it is another model or quantization than the settings say: the layers named are scattered",
                "The model and revision that the recipe names",
            ),
        ),
    ),
    cause(
        "no_model",
        r"Repo id must be|Invalid repository ID or local directory specified|does not appear to have a file named "
        r"config\.json|is not a local folder and is not a valid model identifier",
        "the model's folder is not on this node, or its name is wrong",
        "Copy the checkpoint to this node under the path that the others use",
        "`ls` of that path on this node, as the unit's user",
    ),
    cause(
        "offline",
        r"Cannot reach (?P<url>\S+): offline mode is enabled|LocalEntryNotFoundError|OfflineModeIsEnabled",
        "something is not in the cache and may not be fetched, which can be a kernel package rather than the model",
        "Fetch it once on this node, or copy the cache of a node that has it",
        "what the message names, against the cache of another node",
    ),
    cause(
        "zero_size",
        r"ZeroDivisionError: ",
        "a size is 0: as with a block-size that is smaller than the compression (64 // 128) or 0",
        "The block-size that the recipe names",
        "the last line of code in the traceback above it",
    ),
    cause(
        "head_size",
        r"Unsupported CPU attention configuration: (?P<what>\S+)",
        "vLLM's CPU attention does not know {what}",
        "A model with heads of 32 or 64",
        "config.json of the model",
    ),
    cause(
        "assertion",
        r"AssertionError: (?P<what>.+)",
        "an assertion in the server's code failed: {what}. That is a fault of the program or of a setting that it does "
        "not know, not of the fabric",
        "A newer build; the setting that the traceback leads to",
        "the traceback above it",
    ),
)
