"""Reports for people: what the library found, in the terminal and as pages with figures."""
