"""The device of a build: ``app.config.execute_device``, and a table of it on a page.

A project (or a test) may set that value in its ``conf.py`` itself; who else asks is `npudocs.device`.
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs.device import DeviceError, describe
from npudocs.execute import problems


def _fill_config(app: Sphinx, config: Config) -> None:
    if config.execute_device is None:
        try:
            config.execute_device = describe()
        except DeviceError as error:
            problems.stop(str(error))


def setup(app: Sphinx) -> None:
    app.connect("config-inited", _fill_config)
