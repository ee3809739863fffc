"""A rejection is traced to sub-resources by Azure's words, and to an owner by halving where nobody is named."""

from __future__ import annotations

import pytest

from intentc.bridges.azure.rejections import OwnerSearch, Rejection, named_parts, rejection_of
from tests.support.azure_gateway import OWN, item, small_gateway


def test_an_id_in_the_message_names_the_sub_resource() -> None:
    words = f"Rules {OWN}/requestRoutingRules/shop and {OWN}/requestRoutingRules/lost have the priority 100."
    assert named_parts(Rejection("X", words), small_gateway()) == ["requestRoutingRules/shop"]


def test_ids_are_found_without_case_and_before_a_full_stop() -> None:
    words = f"There is something wrong with {OWN.upper()}/HTTPLISTENERS/SHOP."
    assert named_parts(Rejection("X", words), small_gateway()) == ["httpListeners/shop"]


def test_a_path_rule_names_its_path_map() -> None:
    document = small_gateway()
    document["properties"]["urlPathMaps"] = [item("urlPathMaps", "paths")]
    words = f"{OWN}/urlPathMaps/paths/pathRules/pr-1 has a wrong path"
    assert named_parts(Rejection("X", words), document) == ["urlPathMaps/paths"]


def test_a_name_in_the_details_counts_where_there_is_no_id() -> None:
    found = rejection_of(
        {"error": {"code": "A", "message": "no", "details": [{"code": "B", "message": "Pool 'pool'."}]}}
    )
    assert named_parts(found, small_gateway()) == ["backendAddressPools/pool"]


def test_a_name_inside_another_word_does_not_count() -> None:
    assert named_parts(Rejection("X", "The whirlpool is full."), small_gateway()) == []


@pytest.mark.parametrize("body", [None, "a page", {"error": "text"}, {"error": {"details": 7}}])
def test_an_answer_that_is_no_error_object_still_has_words(body: object) -> None:
    assert rejection_of(body).words


@pytest.mark.parametrize("number", [1, 2, 3, 7, 64])
def test_halving_finds_the_rejected_owner_in_few_documents(number: int) -> None:
    owners = [f"owner-{index:02}" for index in range(number)]
    for culprit in owners:
        search, sent = OwnerSearch(owners), 0
        while search.found is None:
            search.learn(was_accepted=culprit in search.left_out)
            sent += 1
        assert search.found == culprit
        assert sent <= 1 + number.bit_length()


def test_a_search_fails_if_the_document_is_rejected_without_all_owners() -> None:
    search = OwnerSearch(["a", "b"])
    assert search.left_out == {"a", "b"}
    search.learn(was_accepted=False)
    assert search.has_failed and search.found is None


def test_the_rejected_owner_with_precedence_is_found_first() -> None:
    search = OwnerSearch(["a", "b", "c", "d"])
    while search.found is None:
        search.learn(was_accepted={"b", "d"} <= search.left_out)
    assert search.found == "b"
