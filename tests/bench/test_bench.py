"""The bench itself: its sums, its rules for stopping, its file, and the processes that it asks."""

import pytest

import attnviz
from tests.bench import __main__ as bench
from tests.bench import growth, machine, passage, peers, what_ifs
from tests.bench.paired import Paired, Spent
from tests.bench.process import Took, Worker, WorkerFailed
from tests.bench.report import LINES, Reach, Report, duration, short, size, without_paths


def took(seconds: float = 1.0, *, peak: int = 10) -> Took:
    return Took(seconds, seconds, 5, peak, 100)


class Scripted:
    """A worker that answers what it is given, and then breaks off."""

    def __init__(self, *answers: Took) -> None:
        self.answers = list(answers)

    def do(self, ids: list[int]) -> Took:
        if not self.answers:
            raise WorkerFailed("it was killed, as for want of memory")
        return self.answers.pop(0)


# Sums


def rounds(*seconds: float, work: float = 1.0) -> list[Spent]:
    return [Spent(one, one * work) for one in seconds]


def test_the_ratio_is_of_rounds_and_not_of_medians() -> None:
    times = Paired(rounds(1, 10, 100), rounds(2, 20, 50, work=0.5))
    assert times.ratio == 2 and times.work == 1


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_an_exponent_is_the_power_that_values_grow_by(power: float) -> None:
    lengths = [128, 256, 1024, 8192]
    assert growth.exponent(lengths, [3 * n**power for n in lengths]) == pytest.approx(power)


@pytest.mark.parametrize(("lengths", "values"), [([128], [1.0]), ([128, 256], [0.0, 1.0])])
def test_no_exponent_is_made_up(lengths: list[int], values: list[float]) -> None:
    with pytest.raises(ValueError, match="two positive values"):
        growth.exponent(lengths, values)


def test_full_runs_are_timed_between_the_kinds_and_counted_for_all(monkeypatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(what_ifs, "spent", lambda way: way() or Spent(1.0, 2.0))
    kinds = {name: lambda name=name: asked.append(name) for name in "abcd"}
    times = what_ifs.in_turns(lambda: asked.append("run"), kinds, runs=64, rounds=2)
    assert times["a"].first == [Spent(64.0, 128.0)] * 2
    assert times["a"].second == [Spent(1.0, 2.0)] * 2
    runs = ["run"] * 4
    assert asked[:20] == [*runs, "a", *runs, "b", *runs, "c", *runs, "d"]
    assert asked[24] == "b", "each kind in turn goes first"


# Rules for stopping


def test_what_would_take_more_than_half_of_the_free_memory_is_not_tried() -> None:
    so_far = {1024: took(peak=10), 2048: took(peak=1000)}
    assert growth.too_much(so_far, 4096, free=8000) == ""
    words = growth.too_much(so_far, 4096, free=7999)
    assert "4.00 kB" in words and "8.00 kB" in words
    assert growth.too_much({}, 4096, free=1) == "", "nothing is known yet"


def test_a_peer_that_breaks_off_has_a_reason_and_no_number() -> None:
    workers = {"good": Scripted(*[took()] * peers.ROUNDS), "bad": Scripted(took())}
    found = peers.in_turns(workers, [1])  # type: ignore[arg-type]
    assert found["good"] == [took()] * peers.ROUNDS
    assert found["bad"] == "it was killed, as for want of memory"
    assert peers._stopped({64: found["bad"]}, 128).startswith("not tried, since 64 tokens")


def test_a_peer_that_takes_long_is_done_once() -> None:
    slow = Scripted(took(peers.LONG + 1))
    assert peers.in_turns({"slow": slow}, [1]) == {"slow": [took(peers.LONG + 1)]}  # type: ignore


def test_an_error_names_no_place_on_the_machine() -> None:
    words = "No such file: '/home/someone/model.bin' or file:///opt/pypi/simple/six/ at all"
    assert without_paths(words) == "No such file: 'a file' or a file at all"


# The file


def test_a_line_is_judged_only_at_the_length_it_is_asked_for_and_prints_as_it_is_written(
    tmp_path, capsys
) -> None:
    report = Report("Speed", ["About."])
    table = report.table("Lines")
    times = Paired(rounds(1, 1, 1), rounds(1, 1.1, 1.2, work=0.5))
    table.ratio("a | b", 1024, times, Reach(1.05, 1024))
    table.ratio("a | b", 256, times, Reach(1.05, 1024))
    table.value("bytes", 64, 45.5, "kB", Reach(80))
    table.value("bytes", 128, 0.07, "x", Reach(1 / 15))
    table.value("bytes", 128, 1200, "kB", Reach(1000))
    table.missing("all", 2048, "it would take 9 GB.")
    report.write(tmp_path / "results.md", closing=["The end."])
    text = (tmp_path / "results.md").read_text()
    lines = [[c.strip() for c in row.split(" | ")] for row in text.splitlines() if row[:1] == "|"]
    assert {len(line) for line in lines} == {len(LINES)}
    assert lines[2][0].endswith("a \\| b") and lines[2][-1] == "no |"
    assert lines[2][4] == "0.550 x", "of the processor"
    assert lines[3][-2:] == ["1.05 x at 1,024", "|"]
    assert lines[4][-2:] == ["80 kB", "yes |"]
    assert lines[5][-2:] == ["0.0667 x", "no |"]
    assert lines[6][-2:] == ["1,000 kB", "no |"]
    assert "all, 2,048 tokens: it would take 9 GB." in text and text.endswith("The end.\n")
    assert "1.100 x" in capsys.readouterr().out


def test_a_section_that_breaks_off_says_why_and_leaves_the_rest(tmp_path) -> None:
    report = Report("Speed", [])

    def section() -> None:
        report.table("Pages").add(*"abcdefghi")
        raise RuntimeError("no browser at /usr/bin/x\nmore")

    assert not bench._whole(report, "pages", section)
    assert bench._whole(report, "growth", lambda: None)
    report.write(tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "| a | b |" in text
    assert "## Broken off: pages\n\nNot measured to its end. RuntimeError: no browser" in text
    assert "/usr" not in text


def test_a_row_that_does_not_fit_its_table_is_refused() -> None:
    with pytest.raises(ValueError, match=f"1 cells in {len(LINES)} columns"):
        Report("", []).table("Lines").add("x")


def test_numbers_keep_three_digits_and_a_unit_that_suits() -> None:
    assert [short(1234.5), short(45.67), short(0.0123)] == ["1,234", "45.7", "0.0123"]
    assert [duration(0.5), duration(12.34)] == ["500 ms", "12.3 s"]
    assert [size(0), size(999), size(45_600), size(4.53e9)] == [
        "0 B",
        "999 B",
        "45.6 kB",
        "4.53 GB",
    ]


def test_the_machine_is_described_without_its_name_or_a_place() -> None:
    import platform

    words = " ".join([*machine.described(2), machine.others(machine.busy())])
    assert "2 threads" in words and "cores" in words
    assert platform.node() not in words and "/" not in words


# The processes


def test_a_worker_does_a_way_again_and_again_and_another_with_the_same_model() -> None:
    model = attnviz.load("planted-circuit")
    ids = model.tokenizer("red fox ran home")["input_ids"]
    with Worker("capture", "planted-circuit") as worker:
        first, second = worker.do(ids), worker.do(ids)
        matrices = worker.do(ids, "one_head")
    assert first.bytes == second.bytes == attnviz.capture(model, input_ids=ids).nbytes
    assert matrices.bytes == 2 * 4 * len(ids) ** 2
    assert first.seconds > 0 and first.work > 0 and first.process > 50e6


def test_what_a_way_raises_comes_back_and_the_worker_goes_on() -> None:
    with Worker("capture", "planted-circuit") as worker:
        with pytest.raises(WorkerFailed, match="BadInput"):
            worker.do([])
        assert worker.do([1, 2]).bytes > 0


def test_a_worker_that_cannot_start_says_why() -> None:
    with pytest.raises(WorkerFailed, match="it ended with code 1"):
        with Worker("capture", "no-such-model"):
            pass


@pytest.mark.parametrize("length", [1, 128, 8192])
def test_the_passage_has_as_many_tokens_as_asked(length: int) -> None:
    tokenizer = attnviz.load("smollm2-135m").tokenizer
    assert len(tokenizer(passage.text(tokenizer, length))["input_ids"]) == length
