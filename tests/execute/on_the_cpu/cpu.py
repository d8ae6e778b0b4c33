"""What this project hands in: its device, and the state that may not stay."""

import dataclasses
import os
import platform


@dataclasses.dataclass(frozen=True)
class Processor:
    """The processor of this machine."""

    kind: str = "processor"
    on: bool = True
    label: str = "processor"
    name: str = platform.machine()

    def described(self, say):
        """Name it in one phrase."""
        return say("a processor, {name}").format(name=self.name)

    def stamp(self):
        """Results are those of this kind of processor."""
        return self.name


def reset():
    """Forget the mode."""
    os.environ.pop("SUMS_MODE", None)


def left_behind():
    """The mode may not stay."""
    mode = os.environ.get("SUMS_MODE")
    return [(f"SUMS_MODE={mode}", "SUMS_MODE")] if mode else []
