# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Others' benchmarks beside ours, where they are there. Their figures are theirs: nothing here corrects them.

The key goes into the environment, never into an argument: everybody on the machine can read arguments.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from .command import Done, run
from .course import AskSpeed
from .failure import Api
from .model import Server
from .outcome import Measure, SpeedTask
from .settings import Settings
from .speed.text import text

Read = Callable[[Mapping[str, Any]], tuple[Measure, ...]]
Ask = Callable[["Outside", Path | None], Awaitable[tuple[Measure, ...]]]
VLLM, BENCHY = "outside_vllm_bench", "outside_llama_benchy"
PROMPT_TOKENS = 2048
BOOK, BOOK_WORDS = "book.invalid", 60_000
# llama-benchy takes the key as an argument only: it is added inside of the process.
KEYED = (
    "import os, runpy, sys; sys.argv[1:] += ['--api-key', os.environ.pop('OPENAI_API_KEY')]; "
    "runpy.run_module('llama_benchy', run_name='__main__', alter_sys=False)"
)


@dataclass(frozen=True, slots=True)
class Outside:
    """What is measured, with how many tokens a prompt and an answer. `tokenizer` is the folder of the checkpoint."""

    url: str
    model: str
    key: str = field(repr=False)
    tokenizer: Path
    salt: str
    prompt_tokens: int = PROMPT_TOKENS
    answer_tokens: int = 128
    seconds: float = 600.0

    def environment(self, home: str) -> Mapping[str, str]:
        """They write settings and caches into the home that they are given, and ask nobody but the server."""
        return {
            "OPENAI_API_KEY": self.key,
            "HOME": home,
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "NO_PROXY": "*",
        }


def measures(settings: Settings, api: Api) -> Sequence[tuple[str, AskSpeed]]:
    """One step of a run for each benchmark that the settings name."""

    def step(call: Ask, program: Path, tokenizer: Path) -> AskSpeed:
        async def measure(_server: Server, task: SpeedTask) -> tuple[Measure, ...]:
            prompt = min(PROMPT_TOKENS, settings.context_tokens // 2)
            asked = Outside(api.url, api.model, api.key, tokenizer, task.salt, prompt, seconds=task.budget_seconds)
            return await call(asked, program)

        return measure

    programs = ((VLLM, vllm_bench, settings.vllm_program), (BENCHY, llama_benchy, settings.benchy_program))
    folder = settings.checkpoint
    return [(name, step(call, program, folder)) for name, call, program in programs if program and folder]


async def vllm_bench(asked: Outside, vllm: Path | None) -> tuple[Measure, ...]:
    """Figures of `vllm bench serve`, or one measure without values that says why there are none."""
    if not there(vllm):
        return (Measure(VLLM, "", (), f"vllm is not there: seen {vllm}, expected an executable"),)
    with tempfile.TemporaryDirectory(prefix="battery-") as folder:
        done = await run(vllm_argv(asked, vllm, Path(folder)), asked.seconds, asked.environment(folder))
        return _told(VLLM, done, Path(folder) / "result.json", vllm_measures, asked)


def vllm_argv(asked: Outside, vllm: Path, folder: Path) -> list[str]:
    """Random tokens from a seed of the salt: the default seed would meet the prefix cache of the last run."""
    return [
        *(str(vllm), "bench", "serve", "--backend", "openai", "--base-url", asked.url, "--model", asked.model),
        *("--tokenizer", str(asked.tokenizer), "--dataset-name", "random"),
        *("--random-input-len", str(asked.prompt_tokens), "--random-output-len", str(asked.answer_tokens)),
        *("--num-prompts", "8", "--max-concurrency", "1", "--ignore-eos", "--temperature", "0"),
        *("--seed", str(zlib.crc32(asked.salt.encode()) % 2**31)),
        *("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99"),
        *("--save-result", "--result-dir", str(folder), "--result-filename", "result.json"),
    ]


def vllm_measures(data: Mapping[str, Any]) -> tuple[Measure, ...]:
    """KeyError, TypeError or ValueError for what is not its JSON."""
    note = f"{data['completed']} requests, {data.get('failed', 0)} failed, {data['max_concurrency']} at once"
    if not data["completed"]:
        return (Measure(VLLM, "", (), note),)
    pause = float(data["median_tpot_ms"])
    return (
        Measure(f"{VLLM}_output_tokens_per_second", "tokens/s", (float(data["output_throughput"]),), note),
        Measure(f"{VLLM}_decode_tokens_per_second", "tokens/s", (1000 / pause,) if pause > 0 else (), note),
        Measure(f"{VLLM}_ttft_seconds", "s", (float(data["median_ttft_ms"]) / 1000,), note),
    )


async def llama_benchy(asked: Outside, program: Path | None) -> tuple[Measure, ...]:
    """Figures of llama-benchy, or one measure without values that says why there are none."""
    if not there(program):
        return (Measure(BENCHY, "", (), f"llama-benchy is not there: seen {program}, expected an executable"),)
    python = interpreter(program)
    if python is None:
        why = f"{program} does not begin with the path of its Python: install llama-benchy in a virtual environment"
        why += " whose path has no space"
        return (Measure(BENCHY, "", (), why),)
    with tempfile.TemporaryDirectory(prefix="battery-") as folder:
        _book(Path(folder), asked.salt)
        argv = benchy_argv(asked, python, Path(folder))
        done = await run(argv, asked.seconds, asked.environment(folder))
        return _told(BENCHY, done, Path(folder) / "result.json", benchy_measures, asked)


def there(program: Path | None) -> TypeGuard[Path]:
    return program is not None and program.is_file()


def interpreter(program: Path) -> str | None:
    """From the first line of a script; none when it is not one of Python."""
    with program.open("rb") as script:
        first = script.readline(4096)
    words = first.removeprefix(b"#!").decode("utf-8", "replace").strip()
    return words if first.startswith(b"#!") and Path(words).name.startswith("python") else None


def benchy_argv(asked: Outside, python: str, folder: Path) -> list[str]:
    return [
        *(python, "-c", KEYED, "--base-url", f"{asked.url}/v1", "--model", asked.model),
        *("--tokenizer", str(asked.tokenizer), "--pp", str(asked.prompt_tokens), "--tg", str(asked.answer_tokens)),
        *("--depth", "0", "--runs", "3", "--concurrency", "1", "--exact-tg", "--no-cache", "--skip-coherence"),
        *("--latency-mode", "generation", "--book-url", BOOK),
        *("--save-result", str(folder / "result.json"), "--format", "json"),
    ]


def _book(home: Path, salt: str) -> None:
    """Where llama-benchy keeps a book that it has fetched before: nothing is fetched then."""
    cache = home / ".cache" / "llama-benchy"
    cache.mkdir(parents=True)
    name = hashlib.md5(BOOK.encode(), usedforsecurity=False).hexdigest()
    (cache / f"{name}.txt").write_text(text(f"{salt} book", BOOK_WORDS), encoding="utf-8")


def benchy_measures(data: Mapping[str, Any]) -> tuple[Measure, ...]:
    """KeyError, TypeError or ValueError for what is not its JSON."""
    found = [entry for entry in data["benchmarks"] if entry["concurrency"] == 1 and entry["context_size"] == 0]
    if not found:
        raise ValueError("no entry for one request without context")
    entry = found[0]
    note = f"version {data['version']}, prompts of {entry['prompt_size']} tokens, answers of {entry['response_size']}"
    return (
        Measure(f"{BENCHY}_prefill_tokens_per_second", "tokens/s", _values(entry, "pp_throughput", 1), note),
        Measure(f"{BENCHY}_decode_tokens_per_second", "tokens/s", _values(entry, "tg_throughput", 1), note),
        Measure(f"{BENCHY}_ttft_seconds", "s", _values(entry, "e2e_ttft", 1000), note),
    )


def _values(entry: Mapping[str, Any], name: str, by: float) -> tuple[float, ...]:
    metric = entry.get(name)
    return () if metric is None else tuple(float(value) / by for value in metric["values"])


def _told(name: str, done: Done, result: Path, read: Read, asked: Outside) -> tuple[Measure, ...]:
    """What is in the file, or why there is nothing."""
    why = done.words
    if not why:
        try:
            return read(json.loads(result.read_bytes()))
        except OSError as error:
            why = f"it left no result: {error.strerror}"
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            why = f"its result is not what was expected ({type(error).__name__}: {error}): look at its version"
    return (Measure(name, "", (), why.replace(asked.key, "(the key)")),)
