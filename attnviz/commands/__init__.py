"""The commands of `python -m attnviz`, a module each."""
