"""Texts on which heads of a kind show themselves, written for this app."""

PROBES = {
    "Random words, repeated": (
        "lamp river seven copper window tiger salt paper hill engine "
        "lamp river seven copper window tiger salt paper hill engine "
        "lamp river seven copper window tiger salt paper hill engine"
    ),
    "Repeated names": (
        "Nora met Felix at the station. Felix gave Nora a ticket, and Nora gave Felix a map. "
        "When the train came, Felix thanked Nora, and Nora waved to Felix."
    ),
    "A list": (
        "Shopping list:\n- apples: 4\n- bread: 1\n- candles: 12\n- milk: 2\n- oranges: 6\n- rice: 1"
    ),
    "Code": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n"
        "    return result\n\ndef mean(prices):\n    return total(prices) / len(prices)\n"
    ),
}
