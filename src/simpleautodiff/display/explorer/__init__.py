"""The explorer: graph, table and code of a program in one page, linked and animated."""
