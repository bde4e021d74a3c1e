"""The paper's figures and tables, one file each: a module here with an EXPERIMENT is found by its name."""
