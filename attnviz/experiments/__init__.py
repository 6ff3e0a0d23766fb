"""What a page measures: one function a measurement, which returns the table that the page shows.

A page calls the function, draws its table and words the finding; the script that the page exports
is the same call. In every table a row is a thing that is drawn, and its first columns name it.
Where a page needs more than the table, the result has it beside `.table`.

>>> import attnviz
>>> from attnviz.experiments import averaged_heads
>>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
>>> averaged_heads.average_heads(capture, capture.head(1, 0), query=6).columns.tolist()
['Key', 'average of the heads', 'this head']
"""
