"""Draws a Vega-Lite chart without a browser: run as a script, in a process of its own.

The engine inside is a JavaScript machine. It holds Python's lock while it draws, for seconds, and
keeps 200 MB afterwards; a process that serves others, or a notebook, has neither to spare.

Reads one JSON object {"want": [...], "spec": {...}, "scale": 2} and writes one with what is
wanted: "svg" and "js" as text, "png" as base64. Nothing is fetched: the engine has no network.
"""

import base64
import json
import sys
from typing import Any

VEGA_LITE = "6.4"


def main() -> None:
    import vl_convert

    asked = json.load(sys.stdin)
    spec, want = json.dumps(asked["spec"]), asked["want"]
    found = {}
    options: dict[str, Any] = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
    if "svg" in want:
        found["svg"] = vl_convert.vegalite_to_svg(spec, **options)
    if "png" in want:
        png = vl_convert.vegalite_to_png(spec, scale=asked["scale"], **options)
        found["png"] = base64.b64encode(png).decode()
    if "js" in want:
        bundle: Any = vl_convert.javascript_bundle  # its stub asks for more than it needs
        found["js"] = bundle(vl_version=VEGA_LITE)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
