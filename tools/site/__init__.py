"""The documentation site: pages are assembled from docs/, the documents at the root and the program itself, then
built by Sphinx. `make docs` is `python -m tools.site`; nothing is asked of an outside host."""
