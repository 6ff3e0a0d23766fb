"""python -m attnviz, run as a reader would run it."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.export.numbers_in_files import read_numbers

ROOT = Path(__file__).resolve().parents[1]


def in_a_process(*arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "attnviz", *arguments],
        input=given,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=120,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def attnviz(*arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    """The same in this process, which has imported torch already."""
    from attnviz.__main__ import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "ascii", newline="\n") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", err)
        try:
            code = main(list(arguments))
        except SystemExit as end:  # argparse's own
            code = int(end.code or 0)
    out.flush()
    err.flush()
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def test_help_names_the_commands_and_the_exit_codes() -> None:
    code, out, _ = in_a_process("--help")
    assert code == 0
    assert "check" in out and "exit codes" in out
    code, out, _ = attnviz("check", "--help")
    assert code == 0
    assert all(option in out for option in ("--against", "--model", "--text", "--tolerance"))


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("check",), ("check", "a", "--what")])
def test_a_wrong_command_line_exits_with_2(arguments: tuple[str, ...]) -> None:
    code, out, err = attnviz(*arguments)
    assert (code, out) == (2, "")
    assert "usage" in err


def test_a_file_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("the,cat\n0.8,0.2\n0.3,0.7\n")
    code, out, err = in_a_process("check", str(path))
    assert code == 0
    assert out.startswith("Attention weights, rounded (rounded_weights)")
    assert "first row was read as labels" in err


def test_two_files_are_compared(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("0.75 0.14 0.11")
    (tmp_path / "s.txt").write_text("2.1 0.4 -0.7")
    code, out, _ = attnviz("check", str(tmp_path / "w.txt"), "--against", str(tmp_path / "s.txt"))
    assert code == 0
    assert "about 1.01" in out and "about 4.6" in out


def test_text_comes_from_the_input() -> None:
    code, out, _ = attnviz("check", "-", given=b"0.3 -inf\n-1.7 2.3\n")
    assert code == 0
    assert out.startswith("Attention scores (scores)")


def test_one_of_several_matrices_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "heads.npy"
    np.save(path, np.stack([np.eye(3), [[1, -2, 3]] * 3]))
    code, out, err = attnviz("check", str(path))
    assert (code, out) == (1, "")
    assert "Choose one: 0, 1." in err
    code, out, _ = attnviz("check", str(path), "--choose", "1")
    assert (code, out.splitlines()[0]) == (0, "Attention scores (scores)")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "no-such-file.csv"), "cannot be read"),
        (("check", "-"), "no numbers"),
        (("check", "pyproject.toml"), "different lengths"),
        (("check", "-", "--model", "planted-circuit"), "needed together"),
    ],
)
def test_what_is_refused_exits_with_1_and_says_why(arguments: tuple[str, ...], words: str) -> None:
    code, out, err = attnviz(*arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_the_head_is_named(tmp_path: Path) -> None:
    import attnviz as library

    text = "the red fox saw the red fox"
    cap = library.capture(library.load("planted-circuit"), text)
    path = tmp_path / "w.npy"
    np.save(path, cap.head(1, 0).weights)
    options = ("--model", "planted-circuit", "--text", text)
    code, out, _ = attnviz("check", str(path), *options)
    assert code == 0
    assert "It matches the weights of decoder layer 1, head 0" in out
    code, out, _ = attnviz("check", str(path), *options[:3], "a cat sat on the old mat by day")
    assert code == 0
    assert "It matches none of the 6 heads" in out


def test_a_reader_that_stops_early_sees_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("0.8,0.2\n")
    command = f"{sys.executable} -m attnviz check {path} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=ROOT, timeout=120)
    assert done.stdout.decode().startswith("Attention weights")
    assert not done.stderr


# capture, heads, again

RED = ("planted-circuit", "red fox ran home red fox ran home")


def test_a_head_is_captured_saved_and_made_again(tmp_path: Path) -> None:
    import attnviz as library

    files = [tmp_path / f"head.{kind}" for kind in ("npz", "csv", "svg")]
    outs = [word for path in files for word in ("--out", str(path))]
    code, out, err = attnviz("capture", *RED, "--layer", "1", "--head", "0", *outs)
    assert code == 0
    assert "planted-circuit, layer 1, head 0" in out and "gives its largest weight" in out
    assert "Running the model" in err and "blocks recorded" in err and "head.npz: " in err
    expected = library.capture(library.load(RED[0]), RED[1]).head(1, 0)
    for path in files[:2]:
        found = read_numbers(path.read_bytes(), path.suffix[1:])
        assert np.array_equal(found["weights"], expected.weights)
        code, out, err = attnviz("again", str(path))
        assert (code, out.splitlines()[-1][:22]) == (0, "The same in every bit,")
    code, out, _ = attnviz("again", str(files[2]), "--quiet", "--out", str(tmp_path / "x.json"))
    assert code == 0 and "The same in every bit, all" in out and "by their digests" in out
    found = read_numbers((tmp_path / "x.json").read_bytes(), "json")
    assert np.array_equal(found["weights"], expected.weights)


def test_what_ifs_and_options_reach_the_file(tmp_path: Path) -> None:
    from attnviz import export

    path = tmp_path / "head.json"
    code, _, err = attnviz(
        *("capture", "planted-circuit", "-", "--layer", "1", "--head", "0", "--query", "5"),
        *("--what-if", "HideKeys(1, 0, keys=[1])", "--what-if", "Temper(temperature=2.0)"),
        *("--stage", "dot", "--measure", "weight", "--out", str(path), "--quiet"),
        given="red fox ran home\nred fox 日本".encode(),
    )
    assert (code, "Running" in err) == (0, False)
    saved = export.read(path)
    assert saved.provenance["input"]["asked"]["text"] == "red fox ran home\nred fox 日本"
    assert [c["kind"] for c in saved.provenance["interventions"]] == ["HideKeys", "Temper"]
    assert saved.provenance["place"]["query"] == 5 and "stage" in saved.provenance["arrays"]
    assert saved.again().identical


def test_a_result_that_is_not_the_same_exits_with_1(tmp_path: Path) -> None:
    import json

    path, other = tmp_path / "head.json", tmp_path / "head.npz"
    outs = ("--out", str(path), "--out", str(other))
    assert attnviz("capture", *RED, "--layer", "1", "--head", "0", *outs)[0] == 0
    with np.load(other) as file:
        arrays = dict(file)
    arrays["weights"][3, 0] = 0.5
    np.savez(other, **arrays)
    code, out, _ = attnviz("again", str(other))
    assert code == 1 and "Not the same" in out and "in weights" in out
    whole = json.loads(path.read_text())
    whole["provenance"]["arrays"]["weights"]["sha256"] = "0" * 64
    path.write_text(json.dumps(whole, indent=1))
    code, out, _ = attnviz("again", str(path))
    assert code == 1 and "Not the same in every bit: weights" in out
    whole["provenance"]["model"]["revision"] = "planted-0"
    path.write_text(json.dumps(whole))
    code, _, err = attnviz("again", str(path))
    assert code == 1 and "planted-0, and here is planted-1" in err


def test_where_the_numbers_come_from_is_printed(tmp_path: Path) -> None:
    import json

    path = tmp_path / "head.png"
    assert attnviz("capture", *RED, "--layer", "1", "--head", "0", "--out", str(path))[0] == 0
    code, out, err = attnviz("again", str(path), "--about")
    found = json.loads(out)
    assert (code, err, found["place"]["layer"]) == (0, "", 1)


def test_all_heads_are_measured(tmp_path: Path) -> None:
    path = tmp_path / "heads.csv"
    code, out, err = attnviz("heads", *RED, "--out", str(path))
    assert code == 0 and "Measuring every head 100%" in err
    assert "Induction: layer 1, head 0 has the most, 1 " in out
    found = read_numbers(path.read_bytes(), "csv")
    assert found["induction"][1, 0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("capture", *RED, "--layer", "9", "--head", "0"), "Layer 9 of the decoder"),
        (("capture", *RED, "--layer", "1", "--head", "9"), "no head 9"),
        (("capture", *RED, "--layer", "1", "--head", "0", "--query", "99"), "no query 99"),
        (("capture", *RED, "--layer", "1", "--head", "0", "--stage", "x"), "no score stage"),
        (("capture", *RED, "--layer", "1", "--head", "0", "--out", "a.xls"), "svg, png, csv"),
        (("capture", *RED, "--layer", "1", "--head", "0", "--out", "/no/a.csv"), "no folder"),
        (("capture", *RED, "--layer", "1", "--head", "0", "--what-if", "x"), "not a what-if"),
        (("capture", "a/b/c", "x", "--layer", "1", "--head", "0"), "name"),
        (("heads", *RED, "--measure", "x"), "no measure 'x'"),
        (("again", "no-such.npz"), "cannot be read"),
        (("again", "pyproject.toml"), "svg, png, csv"),
    ],
)
def test_what_cannot_be_done_exits_with_1(arguments: tuple[str, ...], words: str) -> None:
    code, out, err = attnviz(*arguments)
    assert (code, out) == (1, "")
    assert words in err and "Traceback" not in err


def test_help_of_every_command_has_its_options_and_exit_codes() -> None:
    options = {"capture": "--what-if", "heads": "--measure", "again": "--about"}
    for command, option in options.items():
        code, out, _ = attnviz(command, "--help")
        assert code == 0 and option in out and "exit codes" in out and "--out FILE" in out


# survey


def test_a_survey_prints_what_it_found_and_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("red fox ran home red fox ran home\nthe cat sat on the mat the cat sat\n")
    command = ("survey", "planted-circuit", str(corpus), "--out", str(tmp_path / "out"))
    code, out, err = in_a_process(*command)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("2 texts, ") and lines[0].endswith("0 texts cut, 0 left out")
    assert lines[1].startswith("layer 1, head 0: induction 1.000, null 0.")
    assert "texts, " in err
    code, again, err = attnviz(*command)
    assert (code, again) == (0, out) and "a second" not in err
    code, _, err = attnviz(*command, "--max-tokens", "5")
    assert code == 1 and "survey of something else" in err


def test_a_plan_is_worked_out_from_what_is_measured(tmp_path: Path) -> None:
    code, out, _ = attnviz("survey", "planted-circuit", "probes", "--plan")
    assert code == 0
    assert out.startswith("measured here: 16 texts of ")
    assert "\n200 texts, hours by workers: " in out and "\n1,000,000 texts, hours" in out
    code, _, err = attnviz("survey", "planted-circuit", "probes")
    assert code == 1 and "Give --out DIR" in err


def test_a_survey_of_nothing_and_of_no_measure_is_refused(tmp_path: Path) -> None:
    code, _, err = attnviz("survey", "planted-circuit", "gone.txt", "--out", str(tmp_path))
    assert code == 1 and "no corpus 'gone.txt'" in err
    given = ("survey", "planted-circuit", "probes", "--out", str(tmp_path), "--measure", "charm")
    code, _, err = attnviz(*given)
    assert code == 1 and "no head measure 'charm'" in err
