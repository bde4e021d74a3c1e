"""Everything headstart raises on purpose.

    HeadstartError                 (catch this to catch them all)
    ├── LogError                   a log that cannot be used: the row and the column are named
    ├── ActionError                an action index or label that does not exist, or none available
    ├── OutcomeError               an outcome that is not a finite number, or outside the stated range
    ├── ContextError               a context of the wrong length or kind
    ├── OptionError                a setting outside its range
    │   └── CannotBeSaved          a part that has no way to save its state
    ├── PolicyFileError            a file that holds no policy, or none that may be used here
    └── MissingExtraError          an optional dependency that is not installed, and how to get it

All but MissingExtraError are ValueErrors too, MissingExtraError is an ImportError too, so code that
knows nothing of headstart still catches them.
"""


class HeadstartError(Exception):
    """The root of the tree."""


class LogError(HeadstartError, ValueError):
    """The log is malformed, empty, or lacks what was asked of it."""


class ActionError(HeadstartError, ValueError):
    """The action does not exist, or no action is available."""


class OutcomeError(HeadstartError, ValueError):
    """The outcome is not a finite number in the stated range."""


class ContextError(HeadstartError, ValueError):
    """The context has the wrong length or holds something that is not a finite number."""


class OptionError(HeadstartError, ValueError):
    """A setting is outside its range."""


class CannotBeSaved(OptionError):
    """A part, or one that it holds, has no way to save its state."""


class PolicyFileError(HeadstartError, ValueError):
    """The file holds no policy, is cut or damaged, or is of another version or another log."""


class MissingExtraError(HeadstartError, ImportError):
    """An optional part of headstart was asked for and is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'headstart[{extra}]'")
