"""The one config of edgeinf: read with positions, checked in full, and the single source for ``serve``.

``load.load`` gives the values or refuses; ``load.inspect`` gives every diagnostic as well.
"""
