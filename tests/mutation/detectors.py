"""Mistakes in what is said of a head as a whole."""

from tests.mutation.trial import broken

_DETECTORS = "tests/test_detectors.py::test_"
_AT_ONCE = _DETECTORS + "all_heads_at_once_are_the_heads_one_by_one"
_ITSELF = _DETECTORS + "a_query_is_no_duplicate_of_itself_and_no_induction_to_itself"

MUTATIONS = (
    broken(
        "rows of a long text are taken for the first ones",
        "detectors/profiles.py",
        "np.linspace(0, count - 1, min(most or count, count)).round().astype(int)",
        "np.arange(min(most or count, count))",
        _DETECTORS + "the_rows_looked_at_are_spread_over_the_text",
    ),
    broken(
        "a row that attends to nothing counts in an average",
        "detectors/yardstick.py",
        "self.attends = (keys > 0) & targets.real",
        "self.attends = (keys >= 0) & targets.real",
        _DETECTORS + "a_row_that_attends_to_nothing_does_not_count",
    ),
    broken(
        "a row of padding counts in an average",
        "detectors/yardstick.py",
        "self.attends = (keys > 0) & targets.real",
        "self.attends = (keys > 0) & True",
        _DETECTORS + "rows_of_padding_do_not_count",
    ),
    broken(
        "a token is a duplicate of itself",
        "detectors/measures.py",
        "(self.query_ids[:, None] == self.key_ids) & (self._to != self._from)",
        "(self.query_ids[:, None] == self.key_ids)",
        _DETECTORS + "same_token_looks_both_ways_and_duplicate_token_back_only",
    ),
    broken(
        "induction looks at the query itself",
        "detectors/measures.py",
        "(self.query_ids[:, None] == before) & (self._to < self._from)",
        "(self.query_ids[:, None] == before) & (self._to <= self._from)",
        _ITSELF,
    ),
    broken(
        "induction looks at the earlier copy and not behind it",
        "detectors/measures.py",
        "np.concatenate([[-1], self.key_ids[:-1]])",
        "self.key_ids",
        _DETECTORS + "each_planted_head_is_found_and_no_other[induction]",
    ),
    broken(
        "an even row is even over masked keys too",
        "capture/pieces.py",
        "np.maximum(counts, 1)",
        "np.full_like(counts, allowed.shape[-1])",
        _DETECTORS + "the_uniform_head_is_its_own_null[first_token]",
    ),
    broken(
        "a ceiling forgets the mask",
        "detectors/yardstick.py",
        "self.met = (sought[:, None] & allowed).any(axis=-1)",
        "self.met = (sought[:, None] | np.zeros_like(allowed)).any(axis=-1)",
        _DETECTORS + "a_ceiling_is_the_share_of_rows_that_can_get_there",
    ),
    broken(
        "the tokens that are dealt out anew include the special ones",
        "detectors/sums.py",
        "dealt[~fixed] = np.random.default_rng(seed).permutation(ids[~fixed])",
        "dealt[:] = np.random.default_rng(seed).permutation(ids)",
        _DETECTORS + "tokens_dealt_out_anew_leave_a_habit_of_position",
    ),
    broken(
        "heads are multiplied with the keys of another group",
        "capture/pieces.py",
        "self._k[:, :end].swapaxes(1, 2)",
        "self._k[::-1, :end].swapaxes(1, 2)",
        _AT_ONCE + "[grouped heads]",
    ),
    broken(
        "heads read value heads in turn, not in groups",
        "capture/pieces.py",
        "np.arange(block.heads) // (block.heads // block.kv_heads)",
        "np.arange(block.heads) % block.kv_heads",
        _AT_ONCE + "[grouped heads]",
    ),
    broken(
        "the sink is left out where all heads are weighed at once",
        "capture/pieces.py",
        "weigh(score, self._sink, out=score)",
        "weigh(score, out=score)",
        _AT_ONCE + "[learned sinks]",
    ),
    broken(
        "rows with a gap are taken for one run of keys",
        "detectors/yardstick.py",
        "return (start, stop) if (stop - start == keys).all() else None",
        "return start, stop",
        _DETECTORS + "even_attention_and_the_longest_value_by_any_mask[gap]",
    ),
    broken(
        "the longest value is looked for in half of a run",
        "capture/pieces.py",
        "first + keys - 2**level",
        "first",
        _DETECTORS + "even_attention_and_the_longest_value_by_any_mask[window]",
    ),
    broken(
        "the length of an output is taken before the output projection",
        "capture/pieces.py",
        "through = vectors @ self._through",
        "through = vectors",
        _DETECTORS + "lengths_go_through_the_output_projection",
    ),
)
