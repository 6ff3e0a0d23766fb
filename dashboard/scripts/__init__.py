"""Python that measures again what a page measured: for the files of its pictures, page by page.

Each is the end of a script that has made `model`, `capture` and `head`, with a what-if also `run`;
of two sides `other`; what it leaves is `table`, whose columns of numbers are those of the picture's
own table. What the reader chose stands in it as literals.
"""
