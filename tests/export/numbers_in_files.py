"""The numbers in a file, read as anybody reads them: with pandas, json and numpy."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd

from attnviz import export
from attnviz.heads.masks import MASK_REASONS


def read_numbers(data, kind):
    """{name: array} of a file, with -inf where masked, and the places along its axes."""
    saved = export.from_bytes(data, kind)
    if kind in ("npz", "html"):
        return saved.arrays
    assert saved.arrays == {}  # of every other kind attnviz itself reads the provenance alone
    if kind == "json":
        return read_json(json.loads(data)["arrays"], saved.provenance)
    frame = read_csv(data) if kind == "csv" else pd.read_parquet(io.BytesIO(data))
    return read_frame(frame, saved.provenance)


def read_csv(data):
    """The table in a CSV, read as its first line says."""
    note = next(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))[0]
    recipe = re.search(r"In Python: (pandas\.read_csv\(FILE, .*\)); attnviz", note).group(1)
    return eval(recipe, {"pandas": pd, "FILE": io.BytesIO(data)})


def read_frame(frame, made):
    shape = tuple(len(made["axes"][axis]["places"]) for axis in made["axis_order"])
    found = {}

    def along(cells, axes):
        """The cells of a column that is the same along every other axis."""
        whole = np.asarray(cells).reshape(shape)
        first = tuple(slice(None) if axis in axes else 0 for axis in made["axis_order"])
        return whole[first]

    for name, about in made["arrays"].items():
        cells = frame.get(name)
        if name == "mask_reason":
            cells = [MASK_REASONS.index(word) if word else 0 for word in frame["mask"]]
        elif "masked" in about:
            assert cells[frame["mask"] != ""].isna().all()
            cells = np.where(frame["mask"] != "", -np.inf, cells)
        found[name] = along(cells, about["axes"]).astype(about["dtype"])
    return found | {f"{axis}_places": along(frame[axis], [axis]) for axis in made["axis_order"]}


def read_json(arrays, made):
    words = {None: -np.inf}
    found = {f"{axis}_places": np.array(arrays[f"{axis}_places"]) for axis in made["axis_order"]}
    for name, about in made["arrays"].items():
        cells = np.array(arrays[name], object)
        numbers = [words.get(cell, cell) for cell in cells.ravel()]
        found[name] = np.array(numbers).astype(about["dtype"]).reshape(about["shape"])
    return found
