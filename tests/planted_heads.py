"""What each head of the planted circuit was written to do, by (layer, head)."""

PLANTED: dict[tuple[int, int], str] = {
    (0, 0): "previous-token",
    (0, 1): "duplicate-token",
    (0, 2): "uniform",
    (1, 0): "induction",
    (1, 1): "first-token",
    (1, 2): "uniform",
}
