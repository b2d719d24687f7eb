"""Gets pages from a server: GET only, with a limit on time and size. Blocks; call it in a thread."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from kvtui import __version__
from kvtui.errors import ConfigError, KvtuiError

TIMEOUT_S: Final = 2.0
LARGEST: Final = 64 << 20  # bytes of a page
_CHUNK: Final = 1 << 16
TOKEN: Final = "KVTUI_TOKEN"  # environment variable with a bearer token


class FetchError(KvtuiError):
    """A page that did not come; `status` is the server's answer, None where there was none."""

    def __init__(self, message: str, *, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class _SameHost(HTTPRedirectHandler):
    """Follows a redirect on the same host only: a token is meant for nobody else."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Client:
    """Pages of one server. `name` is its address without what is secret."""

    def __init__(
        self, url: str, *, timeout_s: float = TIMEOUT_S, env: Mapping[str, str] = os.environ
    ) -> None:
        self.name, secret = _address(url)
        self._timeout_s = timeout_s
        self._authorization = secret or _bearer(env.get(TOKEN, ""))
        self._opener: OpenerDirector = build_opener(_SameHost)

    def text(self, path: str) -> str:
        """The page at `path`; FetchError where it does not come whole within the time-out."""
        headers = {"User-Agent": f"kvtui/{__version__}", "Accept": "text/plain, application/json;q=0.9"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        request = Request(self.name + path, headers=headers, method="GET")
        until = time.monotonic() + self._timeout_s
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return self._body(answer, until).decode("utf-8", "replace")
        except HTTPError as error:
            error.close()
            raise FetchError(
                f"{self.name}{path} answers {error.code} {error.reason}",
                status=error.code,
                hint=_hint(error.code),
            ) from None
        except TimeoutError:
            raise self._slow() from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise self._slow() from None
            words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise FetchError(
                f"{self.name} cannot be reached: {words}", hint="is it running, and is the port right?"
            ) from None

    def json(self, path: str) -> Any:
        """The page at `path` as JSON."""
        try:
            return json.loads(self.text(path))
        except (ValueError, RecursionError):
            raise FetchError(f"{self.name}{path} is not JSON") from None

    def _body(self, answer: IO[bytes], until: float) -> bytes:
        """Read to the end, but no longer than allowed: a server may send a byte now and then."""
        body = bytearray()
        while chunk := answer.read1(_CHUNK):  # type: ignore[attr-defined]
            body += chunk
            if time.monotonic() > until:
                raise TimeoutError
            if len(body) > LARGEST:
                raise FetchError(f"{self.name} sends a page of more than {LARGEST >> 20} MiB")
        missing = getattr(answer, "length", None)
        if missing:
            raise FetchError(f"{self.name} broke off its answer, {missing:,} bytes are missing")
        return bytes(body)

    def _slow(self) -> FetchError:
        return FetchError(f"{self.name} does not answer within {self._timeout_s:g} s")


def _address(url: str) -> tuple[str, str | None]:
    """The server's address, and what its user and password make of the header for authorization."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        plain = re.sub(r"[^/]*@", "", url)
        raise ConfigError(f"'{plain}' is no address of a server", hint="for example http://localhost:8000")
    secret = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        secret = "Basic " + base64.b64encode(pair.encode()).decode()
    host = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix("/metrics").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, f"{host}:{port}" if port else host, path, "", "")), secret


def _hint(status: int) -> str | None:
    if status in (401, 403):
        return f"put a token into the environment variable {TOKEN}"
    return None


def _bearer(token: str) -> str | None:
    token = token.strip()
    if not (token.isascii() and token.isprintable()):  # http.client would show it in its complaint
        raise ConfigError(f"the token in {TOKEN} has characters that no token has")
    return f"Bearer {token}" if token else None
