"""The misconceptions, in an order for newcomers: what is what, what follows, what is drawn."""

from dashboard.misconceptions import (
    average_heads,
    bright_map,
    chosen,
    different_behaviour,
    is_the_output,
    learned_parameter,
    masked_or_low,
    named_heads,
    proves_use,
    score_and_weight,
    temperature,
)

ENTRIES = {
    module.ENTRY.key: module.ENTRY
    for module in (
        score_and_weight,
        learned_parameter,
        proves_use,
        is_the_output,
        chosen,
        different_behaviour,
        average_heads,
        named_heads,
        bright_map,
        masked_or_low,
        temperature,
    )
}
