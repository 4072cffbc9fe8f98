"""A parameter is refused before a kernel starts: values by the notebook's config, names by what is there."""

import pytest

from taulong.batch import checks, notebooks
from taulong.batch.checks import check_notebook
from taulong.batch.parameters import find_notebook
from taulong.batch.sweeps import read_sweep
from taulong.cli import main
from taulong.errors import ConfigError, DataError
from taulong.paths import NOTEBOOKS

REFUSED = {
    "40_memory_value -p level=95": "level: 95.0; accepted: within (0, 1)",
    "40_memory_value -p run=smok": "did you mean 'smoke'?",
    "40_memory_value -p cap_runs=[smok]": "did you mean 'smoke'?",
    "20_execute_runs -p agents=[lerner]": "did you mean 'learner'?",
    "20_execute_runs -p shifts=smoek": "did you mean 'smoke'",
    "30_audit_reward_basis -p tasks=bse": "did you mean 'base'?",
    "10_generate_shifts -p num_cases=900": "num_cases: 900",
    "50_regrade_runs -p files=[x.json]": "'x.json' does not exist",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_wrong_value_is_refused_before_a_kernel(words, capsys, monkeypatch):
    monkeypatch.setattr(notebooks, "_execute", lambda *_: pytest.fail("a kernel was started"))
    assert main(["notebook", *words.split()]) == 2
    assert REFUSED[words] in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_defaults_of_every_notebook_are_good(path):
    check_notebook(path, {})


def test_the_config_of_a_notebook_is_built_from_its_own_cell(monkeypatch):
    built = []

    class Config:
        def __init__(self, *values):
            built.append(values)

    monkeypatch.setattr("taulong.reading.ReportConfig", Config)
    check_notebook(find_notebook("40_memory_value"), {"level": 0.5})
    assert built == [("smoke", (), 0.5, 0, 0.1, 0.1, False)]


def test_what_an_earlier_point_of_a_sweep_writes_may_be_read(tmp_path):
    path = tmp_path / "sweep.yaml"
    chain = (
        "notebooks:\n"
        "  - {notebook: 10_generate_shifts, parameters: {shifts: fresh-set}}\n"
        "  - {notebook: 20_execute_runs, parameters: {shifts: fresh-set, run: fresh-run}}\n"
        "  - {notebook: 40_memory_value, parameters: {run: fresh-run}}\n"
    )
    path.write_text(chain)
    assert len(read_sweep(path)[1]) == 3
    path.write_text(chain.replace("shifts: fresh-set, run", "shifts: fresh-sat, run"))
    with pytest.raises(DataError, match="fresh-sat"):
        read_sweep(path)
    path.write_text(chain.replace("parameters: {run: fresh-run}", "parameters: {run: fresh-run, level: 95}"))
    with pytest.raises(ConfigError, match="level"):
        read_sweep(path)


def test_every_name_in_the_tables_is_a_parameter():
    from taulong.batch.parameters import read_defaults

    for stem, names in checks.READS.items():
        assert set(names) <= set(read_defaults(find_notebook(stem)))
    for stem, name in checks.WRITES.items():
        assert name in read_defaults(find_notebook(stem))
