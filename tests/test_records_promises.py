"""What the boundary promises about privacy: what is public stays public, and what was counted is said."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_hierarchy, domain_of_paths, domain_taken_from_the_data

RECORDS = b"sex,age\nF,young\nF,young\nM,old\n"
LEAVES = b"sex,age\nF,young\nF,old\nM,young\nM,old\n"
COLUMNS = ["sex", "age"]


def as_parquet(**columns: list[object]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def code_of(attempt: object) -> str:
    with pytest.raises(InputError) as caught:
        attempt()  # type: ignore[operator]
    return caught.value.code


# ---- the private file is no public list


@pytest.mark.parametrize(
    "listed",
    [
        RECORDS,
        b"age,sex\nold,M\nyoung,F\nyoung,F\n",
        as_parquet(sex=["M", "F", "F"], age=["old", "young", "young"]),
    ],
    ids=["same bytes", "rows and columns in another order", "another format"],
)
def test_the_private_file_is_refused_as_its_own_domain(listed: bytes) -> None:
    assert code_of(lambda: count_hierarchy(RECORDS, COLUMNS, domain=domain_of_paths(listed, COLUMNS))) == (
        "DOMAIN_IS_DATA"
    )


def test_grouped_private_counts_are_refused_as_their_own_domain() -> None:
    private, stored_anew = b"sex,n\nF,5\nM,7\n", as_parquet(n=[7, 5], sex=["M", "F"])
    for listed in (private, stored_anew):
        domain = domain_of_paths(listed, ["sex"], weight="n")
        assert code_of(lambda domain=domain: count_hierarchy(private, ["sex"], domain=domain, weight="n")) == (
            "DOMAIN_IS_DATA"
        )
    last_year = domain_of_paths(b"sex,n\nF,5\nM,8\n", ["sex"], weight="n")
    assert count_hierarchy(private, ["sex"], domain=last_year, weight="n").total == 12


def test_a_list_of_leaves_is_a_domain_even_if_every_leaf_holds_one_record() -> None:
    shuffled = b"sex,age\nM,old\nF,young\nF,old\nM,young\n"
    assert count_hierarchy(shuffled, COLUMNS, domain=domain_of_paths(LEAVES, COLUMNS)).total == 4


def test_public_records_may_be_their_own_domain() -> None:
    domain = domain_of_paths(RECORDS, COLUMNS, records_are_public=True)
    assert count_hierarchy(RECORDS, COLUMNS, domain=domain).total == 3


def counted(records: bytes) -> Dataset:
    return count_hierarchy(records, COLUMNS, domain=domain_taken_from_the_data())


def test_data_sets_are_the_same_by_bytes_or_by_counts_on_equal_names() -> None:
    data = counted(RECORDS)
    assert data.source_digest == counted(RECORDS).source_digest != ""
    assert data.is_same_as(count_hierarchy(RECORDS, ["sex"], domain=domain_taken_from_the_data()))  # the same bytes
    other_order = count_hierarchy(
        b"age,sex\nold,M\nyoung,F\nyoung,F\n", COLUMNS, domain=domain_of_paths(b"sex,age\nM,old\nF,young\n")
    )
    assert other_order.fingerprint != data.fingerprint and data.is_same_as(other_order)
    assert not data.is_same_as(counted(RECORDS + b"M,old\n"))
    assert not data.is_same_as(counted(b"sex,age\nF,young\nM,old\nM,old\n"))
