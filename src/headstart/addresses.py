"""Addresses that hold a secret, as people may see them: in a terminal, a log line, an error.

What is masked is text, not an address, because a database's own messages quote it in forms of theirs.
"""

from __future__ import annotations

import re

_IN_URL = re.compile(
    r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@'\"]*:)([^\s'\"]*)@"
)  # to the last @: a password may have one
_AS_SETTING = re.compile(r"(\b(?:password|passwd|sslpassword)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'\"]+)", re.IGNORECASE)


def mask_secrets(text: str, address: str = "") -> str:
    """The text with every password of an address as ***: `postgresql://user:***@host/db`, `?password=***`.

    With the `address` that it is about, also where the text has its password alone, as libpq does.
    """
    for pattern in (_IN_URL, _AS_SETTING):
        for _, secret in pattern.findall(address):
            text = text.replace(secret.strip("'"), "***") if secret.strip("'") else text
    return _AS_SETTING.sub(r"\1***", _IN_URL.sub(r"\1***@", text))
