"""Catalogs of translations: made from what a page says now, and checked against it.

``python -m npudocs.site.translations update`` brings ``locales/`` up to date with the texts that
``make gettext`` extracted; ``check`` says what is missing, stale or broken in them. The catalogs are files
of gettext (``.po``), which every tool for translators opens.
"""
