"""Mistakes in how models are shared between captures, and in what-ifs."""

from tests.mutation.trial import Edit, Mutation, broken

_MASKS = "tests/capture/test_masks.py::test_"
_TRACES = "tests/capture/test_traces.py::test_"
_RUN = "tests/interventions/test_run.py::test_"
_KINDS = "tests/interventions/test_kinds.py::test_"

SHARING = (
    broken(
        "training mode is not switched off",
        "capture/loan.py",
        '(module, "training", False) for module',
        '(module, "training", True) for module',
        _MASKS + "training_mode_is_left_and_put_back",
    ),
    broken(
        "training mode is not put back",
        "capture/loan.py",
        "            setattr(thing, name, entry[1])\n",
        '            setattr(thing, name, entry[1] and name != "training")\n',
        _MASKS + "training_mode_is_left_and_put_back",
    ),
    broken(
        "the attention choice is not switched back",
        "capture/loan.py",
        "            setattr(thing, name, entry[1])\n",
        '            if name == "training":\n                setattr(thing, name, entry[1])\n',
        _TRACES + "the_first_capture_of_a_model_leaves_nothing_behind[attention interface, sdpa]",
    ),
    broken(
        "the first capture to end switches the model back under the others",
        "capture/loan.py",
        "        if entry[2] == 0:\n",
        "        if entry[2] >= 0:\n",
        _TRACES + "a_switch_holds_until_the_last_that_needs_it_is_done",
    ),
    broken(
        "the running capture is one for all threads",
        "capture/interface.py",
        'running: ContextVar[Recording | None] = ContextVar("attnviz_running", default=None)\n',
        "class _OneForAll(list):\n"
        "    get = lambda self: self[-1] if self else None\n"
        "    set = list.append\n"
        "    reset = lambda self, token: self.pop()\n\n\n"
        "running: Any = _OneForAll()\n",
        "tests/capture/test_ways.py::test_a_plain_run_in_another_thread_leaves_no_trace_in_a_capture",
    ),
)

WHAT_IFS = (
    broken(
        "a key hidden through the mask brings the future back",
        "capture/arguments.py",
        "        if self.causal:\n            allowed = allowed.tril()\n",
        "",
        _RUN + "running_only_what_can_change_gives_what_a_full_run_gives",
    ),
    Mutation(
        "a head is taken away after the projection",
        (
            Edit(
                "capture/recording.py",
                "self.opened(block, block.changed(output[0][0]))[None]",
                "self.opened(block, output[0][0])[None]",
            ),
            Edit(
                "capture/recording.py",
                "                self._project(self._open, found)\n",
                "                block = self._open.block\n"
                "                self._project(self._open, found)\n"
                "                size = result.shape[-1] // block.heads\n"
                "                for one in block.interventions:\n"
                "                    for head in one.heads(block.heads):\n"
                "                        result[..., head * size : (head + 1) * size] = 0\n",
            ),
            Edit("interventions/run.py", "    verify(calls, before.info.dtype)\n", ""),
        ),
        (_RUN + "a_head_is_a_slice_before_the_projection_and_not_after",),
    ),
    broken(
        "a what-if is drawn and not run",
        "capture/recording.py",
        "self.opened(block, block.changed(output[0][0]))[None]",
        "self.opened(block, output[0][0])[None]",
        _RUN + "a_head_is_a_slice_before_the_projection_and_not_after",
    ),
    broken(
        "a hidden key leaves its row short",
        "interventions/kinds.py",
        "        return replace(head, allowed=head.allowed & ~hidden, removed=removed)\n",
        "        weights = np.where(hidden, np.float32(0), head.weights)\n"
        "        return replace(head, replaced=weights, removed=removed)\n",
        _KINDS + "a_hidden_key_is_masked_and_the_row_adds_up_to_one_again",
    ),
    broken(
        "later positions are counted from where the run begins",
        "interventions/kinds.py",
        "    return [query - offset for query in queries if query >= offset]\n",
        "    return [min(query, count - 1) for query in queries]\n",
        _RUN + "running_only_what_can_change_gives_what_a_full_run_gives",
    ),
    broken(
        "a position that nothing can change is left out one too early",
        "interventions/kinds.py",
        "return max(min(self.keys, default=0), min(self.queries or (0,)))",
        "return max(min(self.keys, default=0), min(self.queries or (0,))) + 1",
        _RUN + "running_only_what_can_change_gives_what_a_full_run_gives",
    ),
)

MUTATIONS = (*SHARING, *WHAT_IFS)
