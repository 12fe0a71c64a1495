# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: RUF001 (the texts are as they came)
"""Texts that look bad and are right: nothing may be found in them."""

from __future__ import annotations

from tests.unit.battery.judge_case import Fault, Text


def silent(name: str, fault: Fault, prompt: str, *texts: str, temperature: float = 0.0, composed: bool = True) -> Text:
    return Text(name, fault, texts, frozenset(), prompt, temperature, composed)


VERSES = (
    "The sea came in, the sea went out,",
    "A gull flew over the grey church tower,",
    "The children left, the boats came home,",
    "The snow lay thick upon the pier,",
)
CLEAN = (
    silent(
        "N01",
        "clean",
        "用一句话解释什么是RDMA。",
        "RDMA（远程直接内存访问）允许一台机器的网卡直接读写另一台机器的内存，绕过对方CPU和操作系统内核，因此时延低、占用少。",
    ),
    silent(
        "N02",
        "clean",
        "퍼셉트론이 뭐예요?",
        "퍼셉트론은 입력에 가중치를 곱해 더한 뒤 임계값을 넘으면 1, 아니면 0을 내보내는 가장 단순한 인공 신경망입니다.",
    ),
    silent(
        "N04",
        "clean",
        "What is U+FFFD?",
        "The character U+FFFD (\ufffd) is shown when a decoder meets an invalid byte, "
        r'e.g. "caf\xe9" read as UTF-8 gives "caf'
        '\ufffd".',
    ),
    silent(
        "N05",
        "clean",
        "How do I set up the link?",
        "#### 1. Cabling\n#### 2. Addresses\n##### 2.1 Port 0\n#### 3. Test",
    ),
    silent(
        "N06",
        "clean",
        "How do I set the MTU?",
        f"{'#' * 48}\n# node A\n{'#' * 48}\nip link set dev eth1 mtu 9000   # jumbo",
        f"```sh\n{'#' * 48}\nip link set dev eth1 mtu 9000   # jumbo\n```",
        f"{'#' * 20} node A {'#' * 20}\nip link set dev eth1 mtu 9000   # jumbo",
    ),
    silent(
        "N08",
        "clean",
        "Unroll the loop.",
        "acc += *p++;\n" * 8,
        "acc += *p++;\n" * 4,
        "```c\n" + "acc += *p++;\n" * 32 + "```",
    ),
    silent("N09", "clean", 'Write "ready" 12 times separated by spaces.', "ready " * 11 + "ready"),
    silent(
        "N12",
        "clean",
        "Give me the formula.",
        r"$$\sum_{i=0}^{L-1} s_i = L\cdot s,\qquad \frac{\partial \mathcal{L}}{\partial w_{ij}} = \delta_j\,x_i$$",
    ),
    silent(
        "N13",
        "clean",
        "State of the nodes as JSON?",
        '{"nodes":[{"id":0,"mtu":9000,"ok":true},{"id":1,"mtu":9000,"ok":true}],"errors":[]}',
    ),
    silent(
        "N14",
        "clean",
        "Give me a small PNG and a checksum.",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "iVBORw0KGgo" + "A" * 60 + "NSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    ),
    silent("N16", "clean", "Give me an XML sample.", '<parameter name="mtu">9000</parameter><function name="set"/>'),
    silent(
        "N17",
        "clean",
        'Give "good morning" in 5 languages.',
        "Good morning · Guten Morgen · おはようございます · Доброе утро · 좋은 아침이에요",
    ),
    silent("N18", "clean", "Did it work?", "Yes!!! That worked!!!"),
    silent(
        "N20",
        "clean",
        "Write something about the sea.",
        "\n".join(f"{verse}\nAnd the lighthouse keeps its silver hour." for verse in VERSES),
    ),
    silent(
        "N21",
        "clean",
        "Dump the first bytes.",
        "00000010: 0000 0000 0000 0000 0000 0000 0000 0000  ................",
        "\n".join(f"{16 * row:08x}: {'0000 ' * 8} {'.' * 16}" for row in range(40)),
        "\n".join(f"0000:0{bus}:00.0 Ethernet controller: Mellanox MT2910" for bus in range(8)),
    ),
    silent("N24", "clean", "How far is it?", "[####################----------] 67%", "[" + "#" * 30 + "] 100%"),
    silent("N26", "clean", "Show me diacritics.", "Árvíztűrő tükörfúrógép; pingüino; zażółć gęślą jaźń."),
    silent(
        "Q58", "clean", "Prove it.", "", composed=False
    ),  # content was null: the cap came before the end of the reasoning
    silent(
        "Q60",
        "model",
        "Which of the compounds is it?",
        "These would not be separable by常规? So the answer is C.",
        temperature=1.0,
        composed=False,
    ),
    silent(
        "Q61",
        "model",
        "Which constant is it?",
        "Hmm hmm hmm. OK — now WHICH: constant 144 @1600, or adaptive calc @1488?",
        "The first is small. Hmm. The second is not. Hmm. Let me see both. Hmm. Hmm. It is the first. Hmm.",
        composed=False,
    ),
)
# Further things that people and models write.
MORE = (
    silent("table", "clean", "A table?", "| node | mtu | ok |\n| --- | --- | --- |\n" + "| a | 9000 | yes |\n" * 20),
    silent("long-table-rule", "clean", "A table?", "# table\n|" + " --- |" * 90),
    silent("laugh", "clean", "Funny?", "Hahahahaha! Jajajajaja. Hahahahahaha! Blah blah blahblahblah."),
    silent("reduplication", "clean", "Dinner?", "Couscous with mahimahi, said the hotshots."),
    silent("cry", "clean", "And then?", "Nooooooooo, he cried. Yes!!!!! Really?!"),
    silent(
        "hash-words",
        "clean",
        "How?",
        "Press the # key, see issue #12 and the # of nodes in C#; the tag #spark is fine.",
    ),
    silent("greek", "clean", "Latency?", "It is 15 μs with Δt = 2σ, so λ is about 0.1 and Ω(n)."),
    silent("tea", "clean", "Where does the word tea come from?", "From Chinese 茶, which is chá in Mandarin."),
    silent("hanja", "clean", "인공지능이 뭐예요?", "인공지능(人工知能)은 기계의 지능입니다."),
    silent("japanese", "clean", "RDMAとは何ですか。", "RDMAは、メモリを直接に読み書きする仕組みです。"),
    silent("french", "clean", "Et alors ?", "Il a dit « CAFÉ », puis « voilà » ; l'été, à Noël, déjà. SÃO PAULO."),
    silent("hungarian", "clean", "Mi az?", "Az őszi erdőben a tűz mellett ülő Søren crème brûlée-t evett, à la carte."),
    silent("rule", "clean", "And?", "-" * 120 + "\n" + "=" * 80 + "\nContents " + "." * 90 + " 3"),
    silent(
        "zero-fields",
        "clean",
        "Which ids?",
        "00000000-0000-0000-0000-000000000000 and 0000000000000000 and 0x" + "0" * 20,
    ),
    silent("zero-words", "clean", "What is it?", "A 0day with 0deg tilt, 0xff and 0bad."),
    silent("html-asked", "clean", "How does HTML strike out?", "With <s>text</s>."),
    silent("template-asked", "clean", "Which special tokens has ChatML?", "<|im_start|> and <|im_end|>."),
    silent("tag-echoed", "clean", "Why do I see </think> in content?", "The parser missed </think> there."),
    silent("role-table", "clean", "Columns?", "|user|system|\n|---|---|\n|a|b|"),
    silent("operator", "clean", "How do I parse in Haskell?", "Use p <|> q, and f <| x in F#."),
    silent("matrix", "clean", "Identity?", "\n".join(" ".join("01"[i == j] for i in range(6)) for j in range(6))),
    silent("bits", "clean", "Truth table?", "0 0 0\n0 1 1\n1 0 1\n1 1 0"),
    silent("song", "clean", "Sing a song with a chorus.", "Row, row, row your boat, gently down the stream. " * 4),
    silent("counted-song", "clean", "Go on.", "Let it be, let it be, let it be, let it be."),
    silent(
        "list",
        "clean",
        "What is the state?",
        "\n".join(f"- Port p0 of node {node} is connected to port p1 of node {node + 1}." for node in range(1, 30)),
    ),
    silent(
        "spanish", "clean", "¿Qué tal?", "¡Muy bien! El año que viene iré a España; ¿y tú? Según él, el pingüino nadó."
    ),
    silent(
        "code", "clean", "Why?", "Call `f(a);` first:\n```js\nlist.map((x) => { go(x); });\n```\nThen the rest is done."
    ),
    silent(
        "groups", "clean", "Which expression?", r"(?P<function>[0-7]) of `test_<function>` with assistant|user|system"
    ),
    silent("anchor", "clean", "Where?", "It is in the docs of a.b.c_info#module and that is the end of it."),
    silent("title", "clean", "How?", "Set up the links\n################\n\nPlug them in."),
    silent("unknown-letters", "clean", "Which key?", "D13" + "x" * 37 + " and \\0spark."),
    silent(
        "links",
        "clean",
        "What has changed?",
        "\n".join(f"* It is right now ([#{n}](https://example.org/a/long/path/to/pull/{n}))." for n in range(40)),
    ),
    silent("url", "clean", "Where?", "It is in the guide at https://example.org/page#the-end of the manual."),
    silent(
        "steps", "clean", "How?", "Example:\n```\na = 1;\n```\n" * 2 + "Then restart it.\n```\nsystemctl restart x\n```"
    ),
)
