# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's own files are read; what NCCL refuses, or makes something else of, is refused."""

from __future__ import annotations

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import Channel
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import GraphError, parse

GRAPH = (
    '<graph id="0" pattern="4" crossnic="1" nchannels="1" speedintra="0.24" speedinter="0.24" latencyinter="0" '
    'typeintra="LOC" typeinter="P2C" samechannels="1">'
)
CHANNEL = '<channel><net dev="0"/><gpu dev="0"/><net dev="1"/></channel>'
GOOD = f'<graphs version="1">{GRAPH}{CHANNEL}</graph></graphs>'

# As NCCL writes NCCL_GRAPH_DUMP_FILE: two spaces a level, 0x before device numbers but 0, and the rank of the GPU. The
# last graph has no channel, so no closing tag.
DUMPED = """\
<graphs version="1">
  <graph id="0" pattern="4" crossnic="1" nchannels="2" speedintra="0.24" speedinter="0.24" latencyinter="0" \
typeintra="LOC" typeinter="P2C" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="3"/>
      <net dev="0x1"/>
    </channel>
    <channel>
      <net dev="0x2"/>
      <gpu dev="0" rank="3"/>
      <net dev="0x1f"/>
    </channel>
  </graph>
  <graph id="1" pattern="3" crossnic="0" nchannels="1" speedintra="12" speedinter="1e-05" latencyinter="0" \
typeintra="LOC" typeinter="PHB" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="3"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="3" pattern="5" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" \
typeintra="LOC" typeinter="PIX" samechannels="0"/>
</graphs>
"""


def test_what_nccl_dumps() -> None:
    ring, tree, nvls = parse(DUMPED)
    assert ring.channels == (Channel(0, 0, 1, rank=3), Channel(2, 0, 0x1F, rank=3))
    assert (ring.id, ring.pattern, ring.crossnic, ring.nchannels, ring.samechannels) == (0, 4, 1, 2, 1)
    assert (ring.speedintra, ring.latencyinter, ring.typeintra, ring.typeinter) == (0.24, 0, "LOC", "P2C")
    assert (tree.id, tree.pattern, tree.speedinter, len(tree.channels)) == (1, 3, 1e-05, 1)
    assert (nvls.id, nvls.nchannels, nvls.channels) == (3, 0, ())


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "\n",
        GOOD.replace("><", ">\r\n   <"),
        GOOD.replace("<channel>", "<!-- root A > all -->\n<channel>"),
        "<!-- by hand -->" + GOOD,
        GOOD + "<!-- the end -->",
    ],
)
def test_blanks_and_comments_between_tags(text: str) -> None:
    assert parse(text) == parse(GOOD)


def test_latency_may_be_left_out() -> None:
    assert parse(GOOD.replace(' latencyinter="0"', "")) == parse(GOOD)


def test_sixteen_attributes() -> None:
    extra = "".join(f' x{number}="1"' for number in range(6))
    assert parse(GOOD.replace(' samechannels="1"', f' samechannels="1"{extra}')) == parse(GOOD)


def test_lengths_that_still_fit() -> None:
    assert parse(GOOD.replace(' samechannels="1"', f' samechannels="1" {"k" * 254}="{"v" * 253}"')) == parse(GOOD)


def test_as_many_elements_as_fit() -> None:
    (graph,) = parse(GOOD.replace(CHANNEL, CHANNEL * 640))
    assert len(graph.channels) == 640


@pytest.mark.parametrize("version", [None, "2.27.3", "2.30.7", "v2.30.7-1", "2.28.9+cuda13.0", "3.0"])
def test_p2c(version: str | None) -> None:
    assert parse(GOOD, nccl=version)[0].typeinter == "P2C"


@pytest.mark.parametrize("version", ["2.27.2", "2.26.5", "1.99"])
def test_no_p2c_before(version: str) -> None:
    with pytest.raises(GraphError, match=r"typeinter of <graph> is 'P2C': expected .*since 2\.27\.3"):
        parse(GOOD, nccl=version)
    assert parse(GOOD.replace("P2C", "PHB"), nccl=version)[0].typeinter == "PHB"


# What NCCL refuses.
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file has no element: expected <graphs>"),
        (" \n", "the file has no element"),
        ('<?xml version="1.0"?>' + GOOD, r"^line 1, column 1: <\?xml> in the file: expected <graphs>"),
        ("\ufeff" + GOOD, "column 1: '\\\\ufeff' in the file: expected '<'"),
        (GOOD.replace("<channel>", "\t<channel>"), r"'\\t' in <graph>: expected '<'"),
        (GOOD.replace("<graph id", "<graph\tid"), "'=' in an element's name, 'graph\\\\tid=': expected a space"),
        (GOOD.replace('0" pattern', '0"\tpattern'), r"'\\t' within <graph>"),
        (GOOD.replace('0" pattern', '0"\npattern'), r"'\\n' within <graph>"),
        (GOOD.replace("<graph id", "<graph\nid"), r"'\\n' within <graph>"),
        (GOOD.replace("<channel>", "text<channel>"), "'t' in <graph>"),
        (GOOD.replace('"4"', "4"), "'4' behind pattern=: expected a double quote"),
        (GOOD.replace('"4"', '"4'), "'1' within <graph>"),
        (GOOD.replace('crossnic="1"', 'crossnic="1"x'), "'x' within <graph>"),
        (GOOD.replace('dev="1"/>', 'dev="1"/ >'), "' ' behind '/' of <net>"),
        (GOOD.replace("</graphs>", ""), "<graphs> has no end: expected </graphs>"),
        (GOOD.replace("</graph>", ""), "'</graphs>' at the end of <graph>: expected </graph>"),
        (GOOD.replace("</channel>", "</chanel>"), "'</chanel>' at the end of <channel>: expected </channel>"),
        (GOOD.replace("</channel>", "</channel >"), "'</channel >' at the end of <channel>"),
        (GOOD[:-1], "at the end of <graphs>"),
        (GOOD[:30], "the file ends within"),
        (GOOD[: GOOD.index('="4"') + 2], "the file ends within the value of pattern"),
        (GOOD.replace("<channel>", "<!-- <channel>"), "a comment has no end: expected '-->'"),
        (GOOD.replace("<channel>", "<!--dev=1 --><channel>"), "a comment has '=' in its first word"),
        ("<" + "g" * 254 + ">", "an element's name is longer than 253 characters"),
        (GOOD.replace(' samechannels="1"', f' samechannels="1" {"k" * 255}="1"'), "an attribute's name is longer"),
        (GOOD.replace('samechannels="1"', f'samechannels="{"1" * 254}"'), "the value of samechannels is longer"),
        (GOOD.replace(CHANNEL, CHANNEL * 641), "element 641 in <graph>: expected 640 at most"),
        (GOOD.replace('version="1"', 'version="2"'), "<graphs> has version '2': expected version 1"),
        (GOOD.replace(' version="1"', ""), r"<graphs> has no version \(its attributes: none\)"),
        (GOOD.replace('<gpu dev="0"/>', "<gpu/>"), "<gpu> has no dev"),
        (GOOD.replace('<gpu dev="0"/>', '<gpu dev="1"/>'), "gpu dev is '1': expected 0"),
    ],
)  # fmt: skip
def test_what_nccl_refuses(text: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        parse(text)


# What NCCL takes for something else without a word.
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<system version="1"></system>', "<system> in the file: expected <graphs>"),
        (GOOD + GOOD, "something follows </graphs>"),
        (GOOD.replace("channel>", "chanel>"), "<chanel> in <graph>: expected <channel>"),
        (GOOD.replace("gpu dev", "nic dev"), "<nic> in <channel>: expected <net> or <gpu>"),
        (GOOD.replace('<net dev="0"/>', '<net dev="0"><net dev="1"/></net>'), "<net> in <net>: expected nothing"),
        (GOOD.replace('"0" pattern', '"0"  pattern'), "a space before ' ' in <graph>: expected .* exactly one space"),
        (GOOD.replace('dev="1"/>', 'dev="1" />'), "a space before '/' in <net>"),
        (GOOD.replace("<channel>", "<channel >"), "a space before '>' in <channel>"),
        (GOOD.replace("latencyinter", "\tlatencyinter"), r"'\\tlatencyinter' in <graph>: expected a name"),
        (GOOD.replace(' crossnic="1"', " crossnic"), "the attribute 'crossnic' without a value"),
        (GOOD.replace('pattern="4"', "pattern='4'"), '"\'" behind pattern=: expected a double quote'),
        (GOOD.replace('id="0"', 'id="0" id="1"'), "<graph> has id twice"),
        (
            GOOD.replace("<channel>", "<channel" + "".join(f' x{number}="1"' for number in range(17)) + ">"),
            "attribute 17 of <channel>: expected 16 at most",
        ),
        (GOOD.replace('id="0"', 'id="zero"'), "id of <graph> is 'zero': expected an integer"),
        (GOOD.replace('id="0"', 'id="00"'), "id of <graph> is '00': expected an integer"),
        (GOOD.replace('speedinter="0.24"', 'speedinter="0,24"'), "speedinter of <graph> is '0,24': expected a number"),
        (GOOD.replace("LOC", "NEAR"), "typeintra of <graph> is 'NEAR': expected .*NCCL would take LOC"),
        (GOOD.replace("P2C", "P2CX"), "typeinter of <graph> is 'P2CX'"),
        (GOOD.replace('dev="1"', 'dev="rocep1s0f1"'), "dev of <net> is 'rocep1s0f1': expected a hexadecimal number"),
        (GOOD.replace('<net dev="1"/>', ""), r"<channel> has net, gpu: expected net \(to receive\), gpu, net"),
        (GOOD.replace('<net dev="0"/>', '<net dev="0"/><net dev="0"/>'), "<channel> has net, net, gpu, net"),
        (GOOD.replace('<net dev="0"/><gpu dev="0"/>', '<gpu dev="0"/><net dev="0"/>'), "<channel> has gpu, net, net"),
        (GOOD.replace(CHANNEL, "<channel/>"), "<channel> has nothing"),
    ],
)  # fmt: skip
def test_what_nccl_takes_for_something_else(text: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        parse(text)


@pytest.mark.parametrize(
    "name",
    ["id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter", "typeintra", "typeinter", "samechannels"],
)
def test_attributes_that_must_be_there(name: str) -> None:
    start = GRAPH.index(f' {name}="')
    end = GRAPH.index('"', start + len(name) + 3) + 1
    with pytest.raises(GraphError, match=rf"<graph> has no {name} \(its attributes: .*: expected {name}$"):
        parse(GOOD.replace(GRAPH, GRAPH[:start] + GRAPH[end:]))


def test_the_place_is_named() -> None:
    text = DUMPED.replace('<gpu dev="0" rank="3"/>', '<gpu dev="0"\trank="3"/>', 1)
    with pytest.raises(GraphError, match=r"^line 5, column 19: '\\t' within <gpu>") as caught:
        parse(text)
    assert text[caught.value.position] == "\t"
