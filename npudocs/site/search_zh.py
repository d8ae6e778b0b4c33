"""Search in Chinese: text without spaces is cut into words, in the index and in what a reader types.

jieba cuts the pages; the terms of ``locales/zh_CN/terms.tsv`` are words for it, too. The browser has no jieba:
it takes the longest words that the index knows. Sphinx alone would look for a whole phrase as one word.
"""

from __future__ import annotations

import logging
import re

import snowballstemmer
from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

from npudocs.execute import problems
from npudocs.site import words
from npudocs.site.translations import terms

HERE = words.LOCALES / "zh_CN"
_HAN = re.compile(r"[\u4e00-\u9fff]+")


class Chinese(SearchChinese):
    """Sphinx's Chinese with the terms of this site."""

    js_splitter_code = (HERE / "split.js").read_text(encoding="utf-8")

    def init(self, options: dict[str, str]) -> None:
        """Make the terms words."""
        try:
            import jieba
        except ImportError:
            problems.stop("the Chinese search needs jieba: pip install -r docs/requirements.txt")
        jieba.setLogLevel(logging.WARNING)
        # Not Sphinx's init, which has jieba read its own dictionary a second time.
        self.stemmer = snowballstemmer.stemmer("english")
        for term in terms.load(HERE / terms.NAME):
            for word in (word for one in term.chinese for word in _HAN.findall(one)):
                jieba.add_word(word)


def setup(app: Sphinx) -> None:
    if app.config.language == "zh_CN":
        app.add_search_language(Chinese)
