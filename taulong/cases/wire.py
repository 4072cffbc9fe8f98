"""HTTP that ends: a call has a deadline over all its parts, and its answer no more bytes than one can be.

httpx's timeout is a wait for the next bytes, so that headers, blanks or a body that drip never run into it, and what it
unpacks has no bound. Both are mended beneath httpx, in this process alone, and only inside :func:`bounded`.
"""

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps

import httpcore
from httpcore._backends.sync import SyncStream, TLSinTLSStream  # what every pool of httpx reads from
from httpx import DecodingError
from httpx import _decoders as decoders

LARGEST = 16_000_000
"""Bytes of an answer, as they come and unpacked; the longest answers of models have some hundred thousand."""


@dataclass
class _Bounds:
    ends: float  # of the monotonic clock
    left: int = LARGEST


_bounds: ContextVar[_Bounds | None] = ContextVar("bounds", default=None)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Have what this thread sends and reads by httpx end after so many seconds, and after :data:`LARGEST` bytes."""
    token = _bounds.set(_Bounds(time.monotonic() + seconds))
    try:
        yield
    finally:
        _bounds.reset(token)


def _in_time(transfer: Callable) -> Callable:
    @wraps(transfer)
    def limited(self, what, timeout: float | None = None):
        bounds = _bounds.get()
        if bounds is None:
            return transfer(self, what, timeout)
        rest = bounds.ends - time.monotonic()
        if rest <= 0:
            raise httpcore.ReadTimeout("the deadline of the call has passed")
        done = transfer(self, what, rest if timeout is None else min(rest, timeout))
        if done:
            bounds.left -= len(done)
            if bounds.left < 0:
                raise httpcore.ReadError(f"the answer has more than {LARGEST:,} bytes")
        return done

    return limited


class _Unpacking:
    """A decoder of httpx that stops at :data:`LARGEST` bytes: a megabyte may hold a gigabyte."""

    def __init__(self):
        super().__init__()
        self.unpacked = 0

    def decode(self, data: bytes) -> bytes:
        """Return what a piece of an answer holds."""
        if _bounds.get() is None:
            return super().decode(data)  # type: ignore[misc]
        try:
            text = self.decompressor.decompress(data, LARGEST - self.unpacked + 1)  # type: ignore[attr-defined]
        except zlib.error as error:
            raise DecodingError(str(error)) from error
        self.unpacked += len(text)
        if self.unpacked > LARGEST:
            raise DecodingError(f"the answer has more than {LARGEST:,} bytes")
        return text


class _GZip(_Unpacking, decoders.GZipDecoder):
    pass


class _Deflate(_Unpacking, decoders.DeflateDecoder):
    pass


for _stream in (SyncStream, TLSinTLSStream):
    _stream.read, _stream.write = _in_time(_stream.read), _in_time(_stream.write)  # type: ignore[method-assign]
decoders.SUPPORTED_DECODERS.update(gzip=_GZip, deflate=_Deflate)
