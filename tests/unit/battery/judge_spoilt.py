# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: RUF001 (the texts are as they came)
"""Texts that are wrong. Excerpts are shortened; in those that end in dots the loop went on."""

from __future__ import annotations

from battery.judge.text import BURST, LOOP, MARKUP, MISREAD, REPLACED, SCRIPT, STRAY

from tests.unit.battery.judge_case import Fault, Text

STORY = "Tell me a long story about a lighthouse keeper."


def seen(
    name: str,
    fault: Fault,
    kinds: str | tuple[str, ...],
    *texts: str,
    prompt: str = STORY,
    temperature: float = 0.0,
    composed: bool = False,
) -> Text:
    return Text(
        name, fault, texts, frozenset([kinds] if isinstance(kinds, str) else kinds), prompt, temperature, composed
    )


SPOILT = (
    seen("Q01", "corrupt", BURST, "!" * 39),
    seen("Q02", "corrupt", BURST, "！！！！！！！！！！！！！！！"),
    seen("Q04", "corrupt", LOOP, " Cheng" * 12),
    seen(
        "Q05",
        "corrupt",
        LOOP,
        "This request asks for a long story about a cat in a used car lot ( dealership lot presumably). stray pet "
        "dealer lot lot mascot lot lot lot pet dealer lot lot pet dealer lot lot pet dealer lot lot pet dealer lot",
        prompt="Tell me a long story about a cat in a used car lot.",
    ),
    seen("Q06", "model", LOOP, "Run." * 73, "Run. " * 56, "I look at the file first.\n" + "Run.\n" * 61, composed=True),
    seen("Q08", "corrupt", STRAY, "locklock...."),
    seen(
        "Q09",
        "corrupt",
        LOOP,
        "\n\nLet me pick a function.\n\nLet me pick a function.\n\nLet me pick a function.\n\nLet me pick a fun",
        prompt="Write a function.",
    ),
    seen("Q10", "corrupt", REPLACED, "그는 깊은 생각에 \ufffd겼다", prompt="소설의 첫 문장을 써 줘."),
    seen(
        "Q12",
        "corrupt",
        REPLACED,
        "\ufffd\ufffdábelské",
        r'{"content":" \ufffd"}{"content":"\ufffdáb"}',
        "To je \ufffd\ufffd\ufffd!",
        prompt="Napiš větu.",
    ),
    seen(
        "Q13",
        "corrupt",
        REPLACED,
        "봐드리겠\ufffd\ufffd\ufffd니다",
        "걸\ufffd\ufffd\ufffd야 \ufffd\ufffd니까",
        prompt="도와줘",
    ),
    seen(
        "Q14",
        "corrupt",
        REPLACED,
        "🎉 The party \ufffd\ufffd begins at \ufffd\ufffd\ufffd nine 🎈 and \ufffd\ufffd ends \ufffd at dawn 🌅.",
        prompt="Invite my friends, with many emoji.",
        composed=True,
    ),
    seen(
        "Q16",
        "corrupt",
        STRAY,
        "Az erdø szélén őszi szél fújt, és a tűz mellett ülő gyerekek énekeltek.",
        "Az őszi erdő szélén tűz égett, ìgy a gyerekek nem fáztak.",
        prompt="Írj egy történetet az őszi erdőről.",
        composed=True,  # the letters are the source's, the sentences are not
    ),
    seen("Q18", "corrupt", SCRIPT, "amarustum信atom EXTineslyphantimagin..."),
    seen(
        "Q20",
        "corrupt",
        STRAY,
        "for i in range(0apse, n):",
        "total = 0hed",
        # `carrierhed`, `bobAmporton` and `modeipse` of the same report are names like others: the code must be run.
        prompt="Repair this code.",
    ),
    seen(
        "Q21",
        "corrupt",
        SCRIPT,
        "The keeper lamp 灯塔 went of stair 的 forty and the 大海 window did table.",
        composed=True,
    ),
    seen("Q22", "corrupt", SCRIPT, "The report was finishedлен on time, and the 报告 was sent.", composed=True),
    seen(
        "Q24",
        "corrupt",
        STRAY,
        "Q-placeholder QSS — low-Q one: embedded Q24×24 base64 PNG QSS app.js:44-45.\n"
        "Not downloaded → QSS QSSQSSQSS no Q-Q asset.",
        prompt="Which assets does the page load?",
    ),
    seen(
        "Q25",
        "corrupt",
        BURST,
        "L 1. 000000000000000\n\n\n11500000000000001\n\n\n\n0\n0\n\n\n\n\n灭",
        prompt="你好，请介绍一下你自己。",
    ),
    seen(
        "Q26",
        "corrupt",
        SCRIPT,
        "what is the meaning of life puttingใสcarouselgetDoctrineComfort Telecomлась_visualี,อาร "
        "IsPlainOldDataSAMPLE فارس 전체.bt",
        prompt="what is the meaning of life",
        temperature=1.0,
    ),
    seen(
        "Q66",
        "corrupt",
        SCRIPT,
        "Hello Bakanı titten echangezpeuronsotionEvent echang RTAL salopes limburg vivastreet сторін.arraycopy "
        "vivastreet ] ...",
        prompt="Hi",
    ),
    seen("Q65", "harness", MISREAD, 'It works â€" mostly.', "Ã¢"),
    seen(
        "Q36",
        "parser",
        MARKUP,
        "<‖DSML‖tool_calls>",
        '<｜｜DSML｜｜parameter name="path">',
        "</｜｜DSML｜｜parameter>",
        "<｜｜DSML｜｜tool...>",
        "hello<‖DSML‖tool_calls>world",
    ),
    seen(
        "Q37",
        "parser",
        MARKUP,
        "<｜DSML｜tool_calls></｜DSML｜tool_calls>",
        "</｜DSML｜parameter>",
        "</｜DSML｜invoke>",
    ),
    seen("Q38", "parser", MARKUP, "<｜DSML｜tool_calls"),
    seen("Q40", "corrupt", MARKUP, "<｜begin▁of▁sentence｜><｜begin▁of▁sentence｜><｜begin▁of▁sentence｜><｜begin▁"),
    seen("Q41", "parser", MARKUP, "Hello! How can I help you today?<|im_end|>", prompt="Hi"),
    seen(
        "Q42",
        "parser",
        MARKUP,
        "春风轻拂绿意新，|assistant|助时光荏苒。\n|assistant|勤勉不懈怠，|assistant|智慧照万方。",
        prompt="写一首关于春天的诗",
    ),
    seen(
        "Q44",
        "parser",
        MARKUP,
        "1.  The user asks for the product of 17 and 23…\n3.  Provide the answer briefly.</think>391",
        prompt="What is 17 * 23?",
    ),
    seen("Q45", "parser", MARKUP, "<think>The", prompt="Hi"),
    seen(
        "Q46",
        "corrupt",
        MARKUP,
        "</think>\n</think>\nI will now write REQUESTS.md and export-files.sh for the VPN.",
        prompt="hi",
        composed=True,
    ),
)

# The article says what was seen, and shows no text: all of these are composed.
ARTICLE = (
    seen("A-hash", "corrupt", STRAY, "The keeper climbed the # stairs and lit the lamp.", composed=True),
    seen("A-hash-glued", "corrupt", STRAY, "The keeper climbed the stairs# and lit the lamp.", composed=True),
    seen("A-hashes", "corrupt", STRAY, "The keeper climbed ## the stairs and lit ### the lamp.", composed=True),
    seen(
        "A-burst",
        "corrupt",
        (STRAY, BURST),
        "The keeper climbed the stairs ################ and lit the lamp.",
        composed=True,
    ),
    seen("A-burst-alone", "corrupt", BURST, "The keeper slept.\n" + "#" * 40, "# " * 30, "#" * 900, composed=True),
    seen(
        "A-code",
        "corrupt",
        STRAY,
        "The keeper climbed the stairs }); and lit the lamp.",
        "The keeper was in the tower) { and the lamp was lit.",
        composed=True,
    ),
    seen("A-loop", "corrupt", LOOP, "He lit the lamp and waited. " * 6, "the lamp of " * 9, composed=True),
    seen(
        "A-drift",
        "corrupt",
        LOOP,
        " ".join(f"the lamp {word} lit the lamp went out" for word in ("was", "then was", "soon was", "of was") * 4),
        composed=True,
    ),
    seen(
        "A-mixing",
        "corrupt",
        SCRIPT,
        "The keeper climbed the 楼梯 and lit the лампа.",
        "The keeper lit the 등불 at dusk.",
        composed=True,
    ),
    seen("A-dsml", "corrupt", MARKUP, 'I look it up.\n<|DSML|tool_calls>\n<|DSML|invoke name="find">', composed=True),
)
# Of the notes beside the entries, and spellings that other templates have.
RELATED = (
    seen("near-Q09-slashes", "corrupt", BURST, "/" * 40, "as before ////////////////////", composed=True),
    seen("near-Q09-quotes", "corrupt", STRAY, "'s's't's's's's's..."),
    seen("near-Q30", "corrupt", STRAY, "lockhandlehandle..."),
    seen("one-word-glued", "corrupt", STRAY, "lotlotlotlotlotlot", "he said lotlotlot", composed=True),
    seen("han-loop", "corrupt", LOOP, "好的，我来看。" * 9, prompt="你好", composed=True),
    seen("zeros", "corrupt", BURST, "It is " + "0" * 300, composed=True),
    seen("code-loop", "corrupt", LOOP, "```c\n" + "free(left);\n" * 300, prompt="Write code.", composed=True),
    seen("cyrillic-glued", "corrupt", SCRIPT, "Смотритель зажёг лампin и ушёл.", prompt="Расскажи.", composed=True),
    seen(
        "mojibake", "corrupt", MISREAD, "caf\u00c3\u00a9", "It\u00e2\u20ac\u2122s", "\u00e2\u0080\u0099", composed=True
    ),
    seen(
        "markup",
        "parser",
        MARKUP,
        "<|im_end|>",
        "<|im_end",
        "<|start_header_id|>assistant",
        "<|channel|>analysis<|message|>",
        "< | DSML | function_calls>",
        "<||DSML||invoke",
        "<｜tool▁calls▁begin｜>",
        "｜DSML｜",
        "</think>",
        "done </think",
        "◁/think▷",
        "[TOOL_CALLS]",
        "[/INST]",
        "<tool_call>",
        "</tool_call",
        "<function=find>",
        '<parameter name="x">',
        "<minimax:tool_call>",
        "https<arg_value>x",
        "yes</s>",
        "<0x0A>",
        "the▁lamp",
        "the keeper |user| said",
        composed=True,
    ),
)
