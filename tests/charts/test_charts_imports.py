import subprocess
import sys

_ALL = """
import importlib, pkgutil, sys
import attnviz.charts
for module in pkgutil.iter_modules(attnviz.charts.__path__):
    importlib.import_module(f"attnviz.charts.{module.name}")
loaded = {"torch", "transformers", "streamlit"} & set(sys.modules)
assert not loaded, loaded
"""


def test_no_chart_imports_torch_not_even_indirectly():
    done = subprocess.run([sys.executable, "-c", _ALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
