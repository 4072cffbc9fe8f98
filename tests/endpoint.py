"""A model endpoint on the loopback interface: real HTTP chat completions with tools, played by the scripted sides.

LiteLLM, tau2's agent and customer, retries and timeouts are the real ones; only the model behind the address is not.
It keeps no state of conversations: from the messages of a request it replays the scripted side up to its next turn. Who
calls, it knows from the seed, which the suite derives for every case and side.

Run as a program it serves until its input closes: ``python tests/endpoint.py SHIFTS [LATENCY]`` prints its address and,
at the end, when each request came (seconds, of the monotonic clock that all processes of a machine share).
"""

import json
import re
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from taulong.backend import AssistantMessage, Task, ToolCall, ToolMessage, UserMessage
from taulong.cases.agents import AGENTS, ScriptedAgent
from taulong.cases.customer import ScriptedCustomer
from taulong.cases.models import case_seed
from taulong.cases.remembering import Shown
from taulong.draws import Draws, Streams
from taulong.shifts.causes import recurring_causes
from taulong.shifts.files import read_shifts
from taulong.shifts.stream import Shift

NOTEBOOK = re.compile(r"<notebook>.*?Its text:\n(.*)\n</notebook>", re.S)
CAP = re.compile(r"at most (\d+) characters")


class Fault:
    """What goes wrong with one request; the first argument says what.

    Args:
        kind: ``status`` (answer with an HTTP error), ``reset`` (close the connection), ``hang`` (answer after the
            client has given up), ``truncated`` (cut the JSON), ``empty_choices``, ``message`` (answer with this
            message), ``drip`` (a body byte by byte), ``headers`` and ``continue`` (either without an end), or ``bomb``
            (an answer that unpacks to a hundred megabytes).
        status, error, headers: of the HTTP error.
        message: of kind ``message``.
        finish_reason: likewise.
        usage: False leaves the token counts out.
        choice: further fields of the answer's choice.
    """

    def __init__(
        self,
        kind,
        status=500,
        error="the server had an error",
        headers=(),
        message=None,
        finish_reason="stop",
        usage=True,
        code=None,
        choice=None,
    ):
        self.kind, self.status, self.error, self.headers = kind, status, error, dict(headers)
        self.message, self.finish_reason, self.usage, self.code = message, finish_reason, usage, code
        self.choice = choice or {}


def say(content=None, *calls, finish_reason="stop", choice=None, **more) -> Fault:
    """Return the fault that answers with a message: its text, then calls as (name, arguments as text)."""
    message = {"role": "assistant", "content": content, **more}
    if calls:
        message["tool_calls"] = [
            {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, 1)
        ]
    return Fault("message", message=message, finish_reason=finish_reason, choice=choice)


def rate_limit(retry_after: int | None = None) -> Fault:
    """Return the fault of a 429, with Retry-After when seconds are given."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault("status", 429, "Rate limit reached for requests", headers)


CONTEXT_WINDOW = Fault(
    "status",
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    code="context_length_exceeded",
)


def scripted_sides(shifts: Iterable[Shift], agent: str = "learner", trials: int = 1) -> dict[int, Callable]:
    """Return, by the seed of a case and side, the function that makes its scripted side from the system prompt."""
    recurring_causes()  # once, before there are threads
    sides: dict[int, Callable] = {}
    for shift in shifts:
        for case in shift.cases:
            for trial in range(trials):
                where = (shift.split, shift.seed, case.position, trial)

                def new_agent(system: str, tools: set, where=where):
                    noted, cap = NOTEBOOK.search(system), CAP.search(system)
                    text = None if noted is None else noted[1].replace("(empty)", "")
                    memory = Shown(text, frozenset(tools), int(cap[1]) if cap else 0)
                    return ScriptedAgent([], "", memory, Streams("agent", *where), AGENTS[agent])

                sides[case_seed("agent", *where)] = new_agent
                sides[case_seed("user", *where)] = lambda system, tools, task=case.task: ScriptedCustomer(
                    Task.model_validate(task).user_scenario
                )
    return sides


class Endpoint:
    """A chat-completions server in threads of this process; a context that gives itself.

    Args:
        sides: from :func:`scripted_sides`; requests that no side plays are answered "Hello.".
        latency: seconds an answer takes, give or take a half: equal ones would make all conversations march in step.
        faults: faults of the coming requests, in order; None is no fault.
        fault: called with (number of the request, request), gives its fault or None; asked when ``faults`` is used up.
        keep: False keeps only when requests came, not what they were.
    """

    def __init__(self, sides=None, latency=0.0, faults=(), fault=lambda number, request: None, keep=True):
        self.sides, self.latency, self.faults, self.fault, self.keep = sides or {}, latency, list(faults), fault, keep
        self.requests: list[dict] = []
        self.headers: list = []
        self.times: list[float] = []
        self.connections = 0
        self.answers: list[int] = []  # tokens of each
        self.lock = threading.Lock()
        self.closing = threading.Event()
        endpoint = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 256

            def verify_request(self, request, client_address):
                endpoint.connections += 1
                return True

            def handle_error(self, request, client_address):
                """Say nothing: a client that gave up is part of the tests."""

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self):
                endpoint.answer(self)

            def log_message(self, *arguments):
                """Say nothing."""

        self.server = Server(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def tokens(self) -> int:
        """Tokens of all answers."""
        return sum(self.answers)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.lock:
            self.times.append(time.monotonic())
            if self.keep:
                self.requests.append(request)
                self.headers.append(handler.headers)
            number = len(self.requests) if self.keep else len(self.times)
            fault = self.faults.pop(0) if self.faults else self.fault(number, request)
        if self.latency:
            time.sleep(self.latency * Draws("latency", number).between(500, 1500) / 1000)
        kind = fault and fault.kind
        if kind == "reset":
            handler.close_connection = True
            return
        if kind == "hang":
            self.closing.wait(30)
            handler.close_connection = True
            return
        if kind in ("drip", "headers", "continue"):
            self._drip(handler, kind)
            return
        if kind == "bomb":
            _send(handler, 200, _bomb(), {"Content-Encoding": "gzip"})
            return
        if kind == "status":
            error = {"error": {"message": fault.error, "type": "error", "code": fault.code}}
            _send(handler, fault.status, json.dumps(error).encode(), fault.headers)
            return
        message = fault.message if kind == "message" else self.next_message(request)
        body = _completion(request, message, fault)
        with self.lock:
            self.answers.append((json.loads(body).get("usage") or {}).get("total_tokens", 0))
        if kind == "truncated":
            body = body[: len(body) // 2]
        _send(handler, 200, body)

    def _drip(self, handler: BaseHTTPRequestHandler, kind: str) -> None:
        """Send a little again and again until the client gives up."""
        handler.close_connection = True
        first, again = {
            "drip": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n", b" "),
            "headers": (b"HTTP/1.1 200 OK\r\n", b"X-Wait: 1\r\n"),
            "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        }[kind]
        with suppress(OSError):
            handler.wfile.write(first)
            while not self.closing.wait(0.05):
                handler.wfile.write(again)

    def next_message(self, request: dict) -> dict:
        """Return the scripted side's next message after those of a request."""
        system, *history = request["messages"]
        tools = {tool["function"]["name"] for tool in request.get("tools") or ()}
        new_side = self.sides.get(request.get("seed"))
        if new_side is None:
            return {"role": "assistant", "content": "Hello."}
        side = new_side(system["content"], tools)
        state = side.get_init_state()
        heard = AssistantMessage if isinstance(side, ScriptedCustomer) else UserMessage
        reply = None
        for message in history:
            if message["role"] == "user":
                reply, state = side.generate_next_message(
                    heard(role=heard.__name__[:-7].lower(), content=message["content"]), state
                )
            elif message["role"] == "tool":
                answer = ToolMessage(
                    id=message["tool_call_id"],
                    role="tool",
                    content=message["content"],
                    error=message["content"].startswith("Error: "),
                )
                reply, state = side.generate_next_message(answer, state)
        return {
            "role": "assistant",
            "content": reply.content,
            "tool_calls": [_call(call) for call in reply.tool_calls or ()] or None,
        }


def _call(call: ToolCall) -> dict:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _completion(request: dict, message: dict, fault: Fault | None) -> bytes:
    """Return a completion as OpenAI words it; a word of four characters is a token."""
    prompt, reply = (len(json.dumps(part)) // 4 for part in (request["messages"], message))
    reason = fault.finish_reason if fault else "stop"
    reason = "tool_calls" if message.get("tool_calls") and reason == "stop" else reason
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": []
        if fault and fault.kind == "empty_choices"
        else [{"index": 0, "message": message, "finish_reason": reason, **(fault.choice if fault else {})}],
    }
    if fault is None or fault.usage:
        completion["usage"] = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    return json.dumps(completion).encode()


def _bomb() -> bytes:
    """Return a hundred megabytes of blanks, packed piece by piece, lest this side takes the memory."""
    packing = zlib.compressobj(wbits=31)
    return b"".join(packing.compress(b" " * 1_000_000) for _ in range(100)) + packing.flush()


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


if __name__ == "__main__":
    with Endpoint(
        scripted_sides(read_shifts(sys.argv[1])), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0, keep=False
    ) as serving:
        print(serving.url, flush=True)
        sys.stdin.read()
    print(json.dumps(serving.times))
