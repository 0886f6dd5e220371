"""Waiting where a REST catalog answers that it is asked too often: such a request was not done.

Neither `requests` nor pyiceberg waits then, so the session of a catalog does: for all requests,
those of pyiceberg (loading a table, a commit) and those of `rest_requests`.
"""

from __future__ import annotations

from time import sleep
from typing import Any, Final

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter

_TOO_MANY: Final = 429
_WAITS: Final = (0.5, 1, 2, 4)
"""Seconds to wait after that answer, one time after the other; longer if the server says so."""
_LONGEST_WAIT: Final = 30


def wait_where_asked_too_often(session: Session) -> None:
    """Let a session ask again after the answer 429, four times at most."""
    for prefix, adapter in list(session.adapters.items()):
        if not isinstance(adapter, _Waiting):
            session.mount(prefix, _Waiting(adapter))


class _Waiting(BaseAdapter):
    """Sends by another adapter, which may sign a request each time that it sends it."""

    def __init__(self, inner: BaseAdapter) -> None:
        super().__init__()
        self._inner = inner

    def send(
        self,
        request: PreparedRequest,
        *how: Any,  # noqa: ANN401 - passed on as it is
        **named: Any,  # noqa: ANN401 - passed on as it is
    ) -> Response:
        """The answer, or the last one if the server goes on saying that it is asked too often."""
        answer = self._inner.send(request.copy(), *how, **named)
        for seconds in _WAITS:
            if answer.status_code != _TOO_MANY:
                break
            told = answer.headers.get("Retry-After", "")
            _ = answer.content  # its connection is free then
            sleep(min(max(seconds, int(told) if told.isdecimal() else 0), _LONGEST_WAIT))
            answer = self._inner.send(request.copy(), *how, **named)
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()
