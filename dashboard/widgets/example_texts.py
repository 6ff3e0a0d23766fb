"""Texts to start from, written for this app."""

EXAMPLES = {
    "A repetition": (
        "Our lighthouse keeper winds the brass clock at dawn, "
        "and at dusk our lighthouse keeper winds the brass"
    ),
    "A garden path": "The cook who was fed the soup spoiled said that the guests served wine left.",
    "Who is it": "Mara lent the violin to Ines because she had promised to practise.",
    "Code": "def area(width, height):\n    return width * height\n\nprint(area(3, 4))",
    "French, then English": "Le chat noir dort sur le toit. The black cat sleeps on the roof.",
    "Emoji and accents": "Zoë made crêpes 🥞 for Søren, and Søren ate every crêpe 🥞 with jam.",
}
