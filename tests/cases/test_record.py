"""A record is one class: what is written, what is read back, and what the documentation says of each column."""

from dataclasses import fields

import pytest
from conversations import NO_MEMORY, block

from taulong.cases.case import run_case
from taulong.cases.record import CaseRecord, columns_table
from taulong.graders.gates import GRADERS


def test_what_is_written_is_read_back():
    shift = block()[0]
    row = run_case(shift, shift.cases[0], NO_MEMORY, "learner").record
    assert CaseRecord.from_row(row).row() == row
    assert list(row) == [column.name for column in fields(CaseRecord)]
    with pytest.raises(TypeError, match="mood"):
        CaseRecord.from_row({**row, "mood": "good"})


def test_every_column_says_what_it_means_and_every_grader_has_one():
    table = columns_table().splitlines()
    assert len(table) == 2 + len(fields(CaseRecord))
    assert all(line.count(" | ") == 2 for line in table[2:])
    assert all(column.metadata["means"] for column in fields(CaseRecord))
    assert set(GRADERS) < {column.name for column in fields(CaseRecord)}
