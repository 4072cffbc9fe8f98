"""Copies of records cost nothing and hide nothing: states are told apart exactly where tau2's own hash tells them apart."""

import pytest

from taulong import backend
from taulong.audit.scripts import gold_calls, play_in
from taulong.domains import DOMAINS, find_domain, fresh, state_hash
from taulong.domains.state import changes, tables
from taulong.errors import ConfigError

COPIED = ("airline", "retail", "mock")


def actions(domain, number):
    tasks = [
        task for task in backend.domain_tasks(domain) if task.evaluation_criteria and task.evaluation_criteria.actions
    ]
    return [gold_calls(task) for task in tasks[::-1][:number]]


@pytest.mark.parametrize("domain", COPIED)
def test_two_states_have_one_hash_exactly_where_tau2_says_so(domain):
    ours, theirs = {}, {}
    for number, calls in enumerate([[], *actions(domain, 6), *actions(domain, 2)]):
        copied, stock = fresh(domain), backend.registry.get_env_constructor(domain)()
        answers = [[message.content for message in play_in(each, calls)] for each in (copied, stock)]
        assert answers[0] == answers[1]
        ours[number], theirs[number] = state_hash(copied), stock.get_db_hash()
        assert copied.get_db_hash() == theirs[number]
    for one in ours:
        for other in ours:
            assert (ours[one] == ours[other]) == (theirs[one] == theirs[other])


@pytest.mark.parametrize("domain", COPIED)
def test_no_run_changes_what_is_shared(domain):
    before = {
        name: {key: record.model_dump_json() for key, record in table.items()} for name, table in tables(domain).items()
    }
    for calls in actions(domain, 20):
        play_in(fresh(domain), calls)
    after = {
        name: {key: record.model_dump_json() for key, record in table.items()} for name, table in tables(domain).items()
    }
    assert before == after
    assert changes(fresh(domain)) == {}


@pytest.mark.parametrize("domain", [name for name in DOMAINS if name in backend.registry.get_domains()])
def test_every_stray_of_a_domain_lands(domain):
    strays = find_domain(domain).find_strays()
    assert strays
    for stray in strays:
        environment = fresh(domain)
        assert not environment.get_response(stray.call).error
        assert changes(environment)


def test_an_unknown_domain_is_refused_with_the_near_match():
    with pytest.raises(ConfigError, match="airline"):
        find_domain("airlines")
