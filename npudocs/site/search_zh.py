"""Search in Chinese: text without spaces is cut into words, in the index and in what a reader types.

jieba cuts the pages; the terms of ``locales/zh_CN/terms.tsv`` are words for it, too. The browser has no jieba:
it takes the longest words that the index knows. Sphinx alone would look for a whole phrase as one word.
"""

from __future__ import annotations

import functools
import logging
import re

import snowballstemmer
from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

from npudocs.execute import problems
from npudocs.site import words

HERE = words.LOCALES / "zh_CN"
_HAN = re.compile(r"[\u4e00-\u9fff]+")
# What jieba takes for one run of letters; of what stands between, no word comes that is long enough to be searched.
_RUN = re.compile(r"[\u4e00-\u9fd5a-zA-Z0-9+#&._%-]+")


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
        self.stemmer.stemWord = functools.cache(self.stemmer.stemWord)
        for line in (HERE / "terms.tsv").read_text(encoding="utf-8").splitlines()[1:]:
            for word in _HAN.findall(line.split("\t")[1]):
                jieba.add_word(word)

    def split(self, input: str) -> list[str]:
        """Return what Sphinx's own does; jieba cuts each run of letters alone, and most come many times."""
        latin = self.latin1_letters.findall(input)
        self.latin_terms.update(latin)
        return [word for run in _RUN.findall(input) for word in _cut(run)] + latin


@functools.cache
def _cut(run: str) -> list[str]:
    import jieba

    return [*jieba.cut_for_search(run)]


def setup(app: Sphinx) -> None:
    if app.config.language == "zh_CN":
        app.add_search_language(Chinese)
