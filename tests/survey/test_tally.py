"""Tallies: streaming statistics against those of numpy on all numbers at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnviz.survey.head_statistics import _STEP, ACCURACY, LEAST, MEASURES, QUANTILES, Statistics

TEXTS, LAYERS, HEADS = 200, 2, 3


def text(draw, *, gone=()):
    """A stand-in for a profile: numbers of every size, and some that are not there."""
    shape = (LAYERS, HEADS)
    values = {name: draw.lognormal(0, 2, shape) for name in MEASURES}
    for name in gone:
        values[name][0, 1] = np.nan
    counted = {name: draw.integers(1, 50, shape).astype(float) for name in MEASURES}
    null = {name: draw.random(shape) for name in MEASURES}
    ceilings = {name: draw.random(shape) for name in MEASURES}
    return SimpleNamespace(values=values, counted=counted, ceilings=ceilings, null=null.__getitem__)


@pytest.fixture(scope="module")
def profiles():
    draw = np.random.default_rng(0)
    return [text(draw, gone=["focus"] if n % 3 == 0 else []) for n in range(TEXTS)]


def tally_of(profiles):
    statistics = Statistics.empty(LAYERS, HEADS)
    for profile in profiles:
        statistics.take(profile)
    return statistics


def stacked(profiles, kind, name):
    return np.stack([getattr(profile, kind)[name] for profile in profiles])


@pytest.mark.parametrize("name", ["focus", "distance"])
def test_means_variances_and_counts_are_those_of_all_numbers_at_once(profiles, name):
    found = tally_of(profiles).grids(name)
    values, rows = stacked(profiles, "values", name), stacked(profiles, "counted", name)
    there = np.isfinite(values)
    assert (found["texts"] == there.sum(axis=0)).all()
    assert (found["rows"] == (rows * there).sum(axis=0)).all()
    weighted = np.nansum(values * rows, axis=0) / (rows * there).sum(axis=0)
    np.testing.assert_allclose(found["mean"], weighted, rtol=1e-12)
    np.testing.assert_allclose(found["text_mean"], np.nanmean(values, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["variance"], np.nanvar(values, axis=0, ddof=1), rtol=1e-10)
    nulls = np.stack([profile.null(name) for profile in profiles])
    expected = (nulls * rows * there).sum(axis=0) / (rows * there).sum(axis=0)
    np.testing.assert_allclose(found["null"], expected, rtol=1e-12)


def test_quantiles_are_within_their_accuracy(profiles):
    found = tally_of(profiles).grids("entropy")
    values = stacked(profiles, "values", "entropy")
    for name, share in QUANTILES.items():
        exact = np.quantile(values, share, axis=0, method="lower")
        np.testing.assert_allclose(found[name], exact, rtol=ACCURACY + 1e-9)


def test_quantiles_are_within_their_accuracy_at_the_edges_of_bins_too():
    for value in LEAST * np.exp(_STEP * np.array([1, 1.0000001, 2, 500.9999999, 501])):
        one = text(np.random.default_rng(0))
        one.values["focus"][:] = value
        statistics = Statistics.empty(LAYERS, HEADS)
        statistics.take(one)
        found = statistics.grids("focus")["q50"]
        np.testing.assert_allclose(found, value, rtol=ACCURACY + 1e-9)


def test_order_and_partition_change_nothing(profiles):
    whole = tally_of(profiles)
    draw = np.random.default_rng(1)
    shuffled = [profiles[n] for n in draw.permutation(TEXTS)]
    parts = Statistics.empty(LAYERS, HEADS)
    for start in range(0, TEXTS, 37):
        parts.add(tally_of(shuffled[start : start + 37]))
    for name in ("texts", "rows", "bins"):
        assert (getattr(parts, name) == getattr(whole, name)).all()
    for measure in MEASURES:
        for name, grid in whole.grids(measure).items():
            np.testing.assert_allclose(parts.grids(measure)[name], grid, rtol=1e-9, err_msg=name)


def test_numbers_at_the_ends_and_heads_without_any():
    one = text(np.random.default_rng(0))
    one.values["focus"][:] = [[0.0, -1e-9, 1e-5], [1.0, 1e9, np.nan]]
    statistics = Statistics.empty(LAYERS, HEADS)
    statistics.take(one)
    found = statistics.grids("focus")
    assert found["q50"][0].tolist() == [0, 0, 0]
    assert found["q50"][1, 0] == pytest.approx(1, rel=ACCURACY)
    assert found["q50"][1, 1] == pytest.approx(1e5, rel=ACCURACY)
    assert np.isnan(found["q50"][1, 2]) and np.isnan(found["mean"][1, 2])
    assert found["texts"][1, 2] == 0 and np.isnan(found["variance"]).all()
