"""Addresses of services, from an argument or the environment."""

import os
import re
from dataclasses import dataclass

import httpx

URL_VARIABLE, KEY_VARIABLE = "VERIFIER_URL", "VERIFIER_API_KEY"
LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """base: without a trailing /score. query: what follows the question mark, sent with /score alone."""

    base: str
    query: str = ""

    @property
    def shown(self) -> str:
        """For messages and logs: without the user and the password that may stand in it."""
        return without_password(self.base)

    def url_of(self, path: str) -> str:
        return f"{self.base}{path}?{self.query}" if self.query and path == "/score" else self.base + path


def base_url(url: str | None) -> str:
    """The address of the service, from the argument or the environment, without a trailing /score."""
    return address(given(url)).base


def addresses(url: str | None) -> tuple[Address, ...]:
    """Each of the addresses, separated by commas, once. Raises ValueError for what is none."""
    found = dict.fromkeys(address(part) for part in given(url).split(",") if part.strip())
    return tuple(found)


def given(url: str | None) -> str:
    """The argument, or else the variable. Raises ValueError where both are empty."""
    found = (url if url is not None else os.environ.get(URL_VARIABLE, "")).strip(" \t\r\n,")
    if not found:
        raise ValueError(f"no address of a service: give one, or set {URL_VARIABLE}=http://HOST:8000")
    return found


def without_password(text: str) -> str:
    return re.sub("//.*@", "//", text)


def address(text: str) -> Address:
    found, _, query = text.strip().partition("?")
    if "://" not in found:
        found = f"http://{found}"
    base = found.rstrip("/").removesuffix("/score").rstrip("/")
    _check(base)
    return Address(base, query)


def _check(base: str) -> None:
    """Raises ValueError where no request could go there: better now than at every call."""
    shown = without_password(base)
    try:
        read = httpx.URL(base)
    except httpx.InvalidURL as fault:
        raise ValueError(f"{shown!r} is no address of a service: {fault}") from None
    known = read.scheme in ("http", "https") and read.host and (read.port or 1) <= LAST_PORT
    if not known or len(base.split()) != 1:
        raise ValueError(f"{shown!r} is no address of a service, such as http://HOST:8000")
