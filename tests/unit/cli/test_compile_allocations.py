"""``compile --allocations``: also the numbers that the API server chooses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.running import Intentc

GROUPS = """resources:
- kind: project
  data: {fq_name: [default-domain, p], parent_type: domain}
- kind: security_group
  data: {fq_name: [default-domain, p, a], parent_type: project}
- kind: security_group
  data:
    fq_name: [default-domain, p, b]
    parent_type: project
    security_group_entries:
      policy_rule:
      - {direction: ">", protocol: tcp, ethertype: IPv4, src_addresses: [{security_group: "default-domain:p:a"}],
         dst_addresses: [{security_group: local}], src_ports: [{start_port: 0, end_port: 65535}],
         dst_ports: [{start_port: 1, end_port: 2}]}
"""


@pytest.mark.parametrize("number", [777, 8_000_777])
def test_the_number_of_a_security_group_is_the_known_one(intentc: Intentc, tmp_path: Path, number: int) -> None:
    groups, given = tmp_path / "groups.yml", tmp_path / "given.yml"
    groups.write_text(GROUPS)
    given.write_text(f"security_group_id: {{'default-domain:p:a': {number}}}")
    ended = intentc("compile", str(groups), "--allocations", str(given), "-o", "json")
    assert ended.code == 0, ended.err
    (ingress,) = [
        r for r in json.loads(ended.out)["resources"] if r["fq_name"][-2:] == ["b", "ingress-access-control-list"]
    ]
    (rule,) = ingress["access_control_list_entries"]["acl_rule"]
    assert rule["match_condition"]["src_address"] == {"security_group": "8000777"}
