"""What the documents promise: the examples of the README and of every docstring run."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import attnviz
from attnviz.models import support

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(attnviz.__path__, "attnviz.")
    if not module.name.endswith("__main__")
)
_NUMBER = re.compile(r"-?\d+\.(\d+)(?:e-?\d+)?")


class ByPrecision(doctest.OutputChecker):
    """A printed number need only agree to the digits the example writes."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        wanted, given = (list(_NUMBER.finditer(text)) for text in (want, got))
        if len(wanted) == len(given):
            for expected, found in reversed(list(zip(wanted, given, strict=True))):
                digits = len(expected.group(1))
                if round(float(found.group()), digits) == float(expected.group()):
                    got = got[: found.start()] + expected.group() + got[found.end() :]
        return super().check_output(want, got, optionflags)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(checker=ByPrecision(), verbose=False)
    report: list[str] = []
    for examples in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(examples, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_examples_of_the_readme_run(smollm2, capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert capsys.readouterr().out == " clock\n"
    assert names["capture"].top_tokens(1)[0][0].text == " clock"


def test_the_readme_counts_architectures_as_the_sweep_did():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    verdicts = [row["verdict"] for row in support.read_record()["architectures"]]
    counts = {verdict: verdicts.count(verdict) for verdict in support.VERDICTS}
    assert f"of the {len(verdicts)} text models" in text
    assert f"{counts['exact']} are shown exactly, {counts['refused']} are refused" in text
    assert f"and {counts['could not be built']} could not be tried" in text


def test_a_wrong_number_in_an_example_is_noticed():
    assert ByPrecision().check_output("0.33\n", "0.3333\n", 0)
    assert not ByPrecision().check_output("0.34\n", "0.3333\n", 0)
    assert not ByPrecision().check_output("[0.33]\n", "[0.33, 0.33]\n", 0)
