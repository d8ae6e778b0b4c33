"""This site's pages, tables and looks."""
