import csv


def test_the_void_row_is_gone():
    with open("/app/clean.csv") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1", "3"]
