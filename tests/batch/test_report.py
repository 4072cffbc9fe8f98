"""The report is one file that needs nothing else."""

import re

from taulong.batch.parameters import find_notebook
from taulong.batch.report import html


def test_the_report_is_one_html_file_that_fetches_nothing():
    page = html(find_notebook("40_memory_value"), "TauLong: smoke")
    assert "<title>TauLong: smoke</title>" in page
    fetched = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [link for link in fetched if not link.startswith(("data:", "#"))] == []
    assert page.count("data:image/png;base64,") >= 6
    assert "planned cases are scored" in page
    assert "tau2_data" in page
    assert "taulong run" in page
