"""Agents that know one thing and score what they know; named ``probes:Class``.

Each shows one way in which an instrument of memory can be fooled, or measure something else than it says.
"""

from taulong.cases.agents import DIAGNOSIS, REMEDIES, VERIFICATION, ScriptedAgent, Traits


class Probe(ScriptedAgent):
    """An agent on board with other traits."""

    traits = Traits()

    def __init__(self, tools, domain_policy, memory, draws):
        super().__init__(tools, domain_policy, memory, draws, type(self).traits)
        self.given = (tools, domain_policy, memory, draws)


class Markless(Probe):
    """A learner that never looks the phone up."""

    def _phone_model(self, account, phone_number):
        return ""
        yield


class MarkOnly(Probe):
    """Applies its note wherever the phone model is the noted one, undiagnosed."""

    traits = Traits(by_model=True, diagnoses=False)


class Words(Probe):
    """A learner that notes what to do in plain words."""

    def _noted_remedy(self, phone_model):
        return next((remedy for remedy in REMEDIES if remedy.request in (self.memory.text or "")), None)

    def _take_note(self, phone_model, diagnosed, replaces=False):
        if not self.memory.text:
            yield self.call("write_notebook", text=f"What helped: {diagnosed.request}")


class AllFour(Probe):
    """Notes all four tools and knows nothing."""

    def _noted_remedy(self, phone_model):
        return None

    def _take_note(self, phone_model, diagnosed, replaces=False):
        yield self.call("write_notebook", text=", ".join(remedy.tool for remedy in REMEDIES))


class FromFailure(Probe):
    """Notes nothing of what it is taught; notes what the phone shows when its guess was wrong."""

    def dialogue(self):
        complaint = yield None
        said = yield self.say("I am sorry to hear that. Which phone number are you calling about?")
        yield from self._caller(f"{said} {complaint}")
        report = yield self.say(DIAGNOSIS)
        diagnosed = next((remedy for remedy in REMEDIES if remedy.sign.search(report)), None)
        remedy = diagnosed or self._noted_remedy("") or self._guesses.choice(REMEDIES)
        report = yield self.say(f"{remedy.request} {VERIFICATION}")
        if diagnosed is None and "can send MMS" not in report:
            report = yield self.say(DIAGNOSIS)
            shown = next(other for other in REMEDIES if other is not remedy and other.sign.search(report))
            yield from self._take_note("", shown, replaces=True)
        while True:
            yield self.say("There is nothing more I can do. Goodbye.")


class Cheat(Probe):
    """Looks through all it is handed for what a shift is generated from, and reads the cause off the shift."""

    def _noted_remedy(self, phone_model):
        from taulong.shifts.configuration import ShiftConfig
        from taulong.shifts.generation import generate_shift

        for found in _inside(self.given, depth=5):
            if isinstance(found, (tuple, list)) and len(found) >= 2 and found[0] in ("train", "eval"):
                cause = generate_shift(ShiftConfig(), found[0], found[1]).recurring_cause
                return next(remedy for remedy in REMEDIES if remedy.cause == cause)
        return None


class Rote(Probe):
    """Notes each customer's phone number with the fix that helped, and applies a note to that customer alone."""

    def _caller(self, said):
        account, self.number = yield from super()._caller(said)
        return account, self.number

    def _noted_remedy(self, phone_model):
        lines = (self.memory.text or "").splitlines()
        return next((r for line in lines for r in REMEDIES if line.startswith(self.number) and r.tool in line), None)

    def dialogue(self):
        complaint = yield None
        said = yield self.say("I am sorry to hear that. Which phone number are you calling about?")
        yield from self._caller(f"{said} {complaint}")
        noted = self._noted_remedy("")
        report = yield self.say(DIAGNOSIS)
        diagnosed = next((remedy for remedy in REMEDIES if remedy.sign.search(report)), None)
        remedy = diagnosed or noted or self._guesses.choice(REMEDIES)
        report = yield self.say(f"{remedy.request} {VERIFICATION}")
        if "can send MMS" not in report:
            report = yield self.say(DIAGNOSIS)
            shown = (other for other in REMEDIES if other is not remedy and other.sign.search(report))
            remedy = next(shown, remedy)
        if self.memory.writable:
            text = "\n".join(filter(None, [self.memory.text, f"{self.number}: {remedy.tool}"]))
            yield self.call("write_notebook", text=text)
        while True:
            yield self.say("There is nothing more I can do. Goodbye.")


def _inside(thing, depth):
    """Yield a thing and what it holds, down to a depth."""
    import json

    yield thing
    if depth == 0:
        return
    if isinstance(thing, bytes | str):
        try:
            inner = [json.loads(thing)]
        except ValueError:
            inner = []
    elif isinstance(thing, dict):
        inner = [*thing, *thing.values()]
    elif isinstance(thing, (tuple, list)):
        inner = thing
    else:
        inner = [getattr(thing, "__dict__", {})]
    for each in inner:
        yield from _inside(each, depth - 1)
