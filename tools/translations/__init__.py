"""Catalogs of translations: made from what a page says now, and checked against it.

Sphinx finds the texts of pages, babel those of code, templates and data (``locales/babel.cfg``); sphinx-intl brings
``locales/`` up to date with them, and ``python -m tools.translations check`` says what is missing, stale or
broken there. The catalogs are files of gettext (``.po``), which every tool for translators opens.
"""
