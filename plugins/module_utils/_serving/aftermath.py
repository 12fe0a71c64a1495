# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Lines that are secondary by nature, and ends of processes without a word: data, which grows.

C(SYMPTOM) lines say that something failed before; none of them is ever the answer. C(SILENT) ones are the answer where
nothing better is known of the rank that they are on.
"""

from __future__ import annotations

from .causes import SILENT, SYMPTOM, Cause, cause

KERNEL_CHECK = "`journalctl -k` of that node at that time: the OOM killer, NVRM, Xid"

AFTERMATH: tuple[Cause, ...] = (
    cause(
        "worker_died",
        r"Worker proc (?P<name>\S+) died unexpectedly(?: \(exit code: (?P<status>-?\w+)\))?"
        r"|proc died unexpectedly \(exitcode=(?P<code>-?\d+)\)",
        "a worker process of this rank ended and said nothing of why: kill -9, the kernel's OOM killer or a crash in "
        "compiled code; its exit code does not tell",
        "Look at the kernel's log of this node; nothing more is in the unit's",
        KERNEL_CHECK,
        SILENT,
    ),
    cause(
        "unit_killed",
        r"Main process exited, code=(?:killed|dumped), status=(?P<status>\S+)",
        "the unit's main process was ended by a signal ({status}) and said nothing of why",
        "If nobody did that by hand, look at the kernel's log of this node",
        KERNEL_CHECK,
        SILENT,
    ),
    cause(
        "unit_exited",
        r"Main process exited, code=exited, status=(?P<status>\S+)|: Deactivated successfully\.",
        "the unit's main process ended by itself and said nothing of why; vLLM ends with 0 after a crash too",
        "Look at the lines before it",
        KERNEL_CHECK,
        SILENT,
    ),
    cause(
        "engine_dead",
        r"EngineDeadError|EngineCore encountered (?:an issue|a fatal error)|AsyncLLM output_handler failed"
        r"|vLLM shutdown signal from EngineCore|Worker failed with error|\[dump_input\.py:\d+\]",
        "the engine is dead, and this line does not say why",
        "Read the ranks' journals above it",
        weight=SYMPTOM,
    ),
    cause(
        "not_started",
        r"Engine core initialization failed|EngineCore failed to start|WorkerProc initialization failed"
        r"|WorkerProc (?:failed to start|failed\.|hit an exception)|Error executing method|Exception in worker"
        r"|Engine process failed to start|Process (?:SpawnProcess|EngineCore|Worker)\S*:$"
        r"|Failed core proc\(s\)|Failed to run autotuning code block",
        "a process could not start, and this line does not say why",
        "Read the ranks' journals above it",
        weight=SYMPTOM,
    ),
    cause(
        "cancelled",
        r"RuntimeError: cancelled$|RayChannelTimeoutError|(?:^|\W)asyncio\.\S*CancelledError|KeyboardInterrupt"
        r"|SystemExit|resource_tracker: There appear to be \d+ leaked|leaked shared_memory objects",
        "a process was told to stop, or lost the one that it waited for",
        "Read the ranks' journals above it; with RayChannelTimeoutError after one or two requests on GB10 try "
        'cudagraph_mode "piecewise"',
        weight=SYMPTOM,
    ),
    cause(
        "step_timeout",
        r"RPC call to (?P<method>\w+) timed out",
        "a step did not end in time: some rank stopped working minutes before this line, which is only where the head "
        "gave up",
        "Persistent JIT caches and warm-up of the shapes that are served; the engine build rather than a flag",
        "GPU power per rank (96 % at less than 25 W spins), `py-spy dump` of each worker, errors of the RDMA ports",
        SYMPTOM,
        before=300.0,
    ),
    cause(
        "ended_by_hand",
        r"died, exit code: -9\b|scheduler died \(exit code: -9\)",
        "a supervisor ended a process that did not answer; the hang began minutes earlier",
        "Look for the hang: the address that each rank advertised (VLLM_HOST_IP, SGLANG_HOST_IP) has to be the one on "
        "the control plane",
        "the last line of each rank; `ss -ltnp` for listeners on an address of another network",
        SYMPTOM,
        before=300.0,
    ),
    cause(
        "build_failed",
        r"CalledProcessError|ninja: build stopped|Ninja build failed",
        "a kernel was not built, and this line does not say why",
        "Read the compiler's words above it",
        weight=SYMPTOM,
    ),
    cause(
        "lost_peer",
        r"Connection (?:closed|reset) by peer|pair\.cc:\d+\]|Broken ?[Pp]ipe|ConnectionResetError|EOFError"
        r"|ConnectionRefusedError|recvValue failed|sendBytes failed|(?:Failed to recv|connection was likely closed)"
        r"|DistStoreError|TCPStore.*(?:failed|Failed)|zmq\.error\.(?:Again|ContextTerminated)",
        "the other end of a connection went away: this rank noticed, it is not the one that failed",
        "Read the journals of the other ranks at that time",
        "which rank's journal ends first",
        SYMPTOM,
    ),
    cause(
        "not_joined",
        r"Cannot provide a placement group requiring|Tensor parallel size may exceed available GPUs"
        r"|If running on K8s with limited GPUs",
        "fewer nodes joined than the model was to be spread over: the cause is on the node that did not come",
        "Read the journal of that node; `ray status` names those that came",
        weight=SYMPTOM,
        before=1800.0,
    ),
)

STOPPING = r"^Stopping |: Stopping "
"""systemd's own word that somebody asked for the end: nothing after it in this invocation is a failure."""
