"""The project's own settings, hooks and session on toy pipelines."""

from fedtext.settings import (  # noqa: F401
    CONFIG_LOADER_ARGS,
    CONFIG_LOADER_CLASS,
    DISABLE_HOOKS_FOR_PLUGINS,
    HOOKS,
    SESSION_CLASS,
)
