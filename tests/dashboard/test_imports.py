"""The page is drawn before torch is there."""

import subprocess
import sys
from pathlib import Path

import dashboard

ROOT = Path(__file__).resolve().parents[2]


def test_no_module_of_the_dashboard_imports_torch_or_transformers():
    names = sorted(path.stem for path in Path(dashboard.__path__[0]).glob("[a-z]*.py"))
    assert {"app", "backend", "sidebar", "state", "viewer"} <= set(names)
    code = (
        "import sys\n"
        + "".join(f"import dashboard.{name}\n" for name in names if name != "app")
        + "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
