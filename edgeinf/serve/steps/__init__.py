"""The steps of a request, one per file, in the order in which the pipeline lists them."""
