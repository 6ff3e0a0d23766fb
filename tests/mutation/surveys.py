"""Mistakes in what is said of a head over a corpus."""

from tests.mutation.trial import broken

_SURVEY = "tests/survey/test_survey.py::test_"
_LOCAL = "tests/survey/test_local.py::test_"
_TALLY = "tests/survey/test_tally.py::test_"
_MEANS = _TALLY + "means_variances_and_counts_are_those_of_all_numbers_at_once[focus]"

MUTATIONS = (
    broken(
        "a text without a number moves the mean",
        "survey/tally.py",
        "apart = np.where(counted, values - self.mean, 0)",
        "apart = np.nan_to_num(values) - self.mean",
        _MEANS,
    ),
    broken(
        "variances are taken from the old mean",
        "survey/tally.py",
        "self.squares += apart * np.where(counted, values - self.mean, 0)",
        "self.squares += apart * apart",
        _MEANS,
    ),
    broken(
        "every text weighs the same in a mean over rows",
        "survey/tally.py",
        "self.total += np.nan_to_num(values) * rows",
        "self.total += np.nan_to_num(values)",
        _MEANS,
    ),
    broken(
        "numbers in a common bin are counted once",
        "survey/tally.py",
        "self.bins[(*at, _bin(values[at]))] += 1",
        "self.bins[(*at, _bin(values[at]))] = 1",
        _TALLY + "quantiles_are_within_their_accuracy",
    ),
    broken(
        "a text that fails is counted",
        "survey/findings.py",
        "            part.failures.append(one)\n",
        "            part.failures.append(one)\n            part.texts += 1\n",
        _SURVEY + "a_text_that_fails_is_recorded_and_left_out",
    ),
    broken(
        "a row of one key is an example of its head",
        "survey/examples.py",
        "alone = piece.allowed.sum(axis=-1) < 2",
        "alone = piece.allowed.sum(axis=-1) < 1",
        "tests/survey/test_examples.py::test_a_row_that_has_no_choice_is_no_example",
    ),
    broken(
        "parts that a killed run has left are made and counted again",
        "survey/run.py",
        "watch.known(len(chosen))\n        else:\n            yield number, chosen",
        "watch.known(len(chosen))\n        yield number, chosen",
        _SURVEY + "a_run_that_is_killed_goes_on_and_counts_no_text_twice",
    ),
    broken(
        "the texts of a survey wait for one another",
        "survey/local.py",
        "with threads(whole // at_once), _pool(at_once) as pool:",
        "with threads(whole // at_once), _pool(1) as pool:",
        _LOCAL + "as_many_texts_at_once_as_torch_has_threads",
    ),
    broken(
        "a survey that is stopped reads on",
        "survey/local.py",
        "pool.shutdown(cancel_futures=True)",
        "pool.shutdown()",
        _LOCAL + "a_survey_that_is_stopped_begins_no_other_text_and_gives_the_threads_back",
    ),
)
