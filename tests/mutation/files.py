"""Mistakes in what is written into files and read back from them."""

from tests.mutation.trial import broken

_TABLES = "tests/export/test_tables.py::test_"
_FILES = "tests/export/test_round_trip.py::test_"
_SCRIPT = "tests/export/test_script.py::test_"
_PICTURES = "tests/export/test_pictures.py::test_"

MUTATIONS = (
    broken(
        "a token is run as a formula",
        "export/tables.py",
        'return f"\'{text}" if risky else text',
        "return text",
        _TABLES + "no_cell_of_text_is_a_formula_and_every_number_stays_one",
    ),
    broken(
        "a negative number becomes a text",
        "export/tables.py",
        "words = [number(value) for value in values]",
        "words = [_quoted(safe(number(value))) for value in values]",
        _TABLES + "no_cell_of_text_is_a_formula_and_every_number_stays_one",
    ),
    broken(
        "a masked score is a number in CSV",
        "export/tables.py",
        'words = [w if why == "" else "" for w, why',
        "words = [w for w, why",
        _TABLES + "masked_is_empty_in_csv_and_null_in_parquet",
    ),
    broken(
        "a masked score is a number in Parquet",
        "export/tables.py",
        "hidden = masked if _is_masked(made, name) else None",
        "hidden = None",
        _TABLES + "masked_is_empty_in_csv_and_null_in_parquet",
    ),
    broken(
        "a masked score is an infinity in JSON",
        "export/arrays.py",
        "cells[hidden] = None",
        "cells[hidden] = cells[hidden]",
        _TABLES + "json_is_strict",
    ),
    broken(
        "queries and keys change places in a table",
        "export/view.py",
        "-1 if i == number else 1 for i in range(len(shape))",
        "-1 if i != number else 1 for i in range(len(shape))",
        _TABLES + "the_header_says_who_asks_and_who_answers",
    ),
    broken(
        "what-ifs are not done again",
        "export/comparison.py",
        "if changes else found",
        "if not changes else found",
        _FILES + "what_ifs_are_in_the_file_and_are_done_again[npz]",
    ),
    broken(
        "the seed of a what-if is lost",
        "export/changes.py",
        "if v != _plain(default[k])",
        'if v != _plain(default[k]) and k != "seed"',
        _SCRIPT + "a_what_if_survives_a_file_a_script_and_a_command_line[Permute]",
    ),
    broken(
        "other weights of a model pass",
        "export/comparison.py",
        'if info.revision != about["revision"]:',
        "if False:",
        _FILES + "other_weights_are_refused_by_name",
    ),
    broken(
        "a cell that is masked now and was not then passes",
        "export/comparison.py",
        "if (seen != np.isfinite(new)).any() or",
        "if",
        _FILES + "another_result_is_noticed",
    ),
    broken(
        "the window of a long text is another row's",
        "export/script.py",
        '"part = head.rows(rows[0], rows[-1] + 1)"',
        '"part = head.rows(rows[0] - 1, rows[-1])"',
        _SCRIPT + "the_script_cuts_the_same_window",
    ),
    broken(
        "a text ends the element that it stands in",
        "export/webpage.py",
        'text.replace("<", "\\\\u003c")',
        'text.replace("<", "<")',
        _PICTURES + "the_page_is_whole_and_asks_for_nothing",
    ),
    broken(
        "the cells of an SVG are turned over",
        "export/vector.py",
        "M{first} {row}h",
        "M{row} {first}h",
        _PICTURES + "the_cells_of_the_svg_are_shapes_of_the_same_colours",
    ),
)
