"""What an operator's file and environment become, and what is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.loading.configuration import Configuration, Loaded, load
from intentc.model import InvalidInput

SAMPLE = Path(__file__).resolve().parents[4] / "sample" / "contrail.yml"


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "contrail.yml"


def read(path: Path, text: str, **environ: str) -> Loaded:
    path.write_text(text)
    return load(path, environ)


def rejection(path: Path, text: str, **environ: str) -> str:
    with pytest.raises(InvalidInput) as error:
        read(path, text, **environ)
    return str(error.value)


def test_without_a_file_the_defaults_hold() -> None:
    loaded = load(None, {})
    assert loaded.configuration == Configuration()
    assert loaded.notes == ()


def test_an_empty_file_is_a_configuration(write: Path) -> None:
    assert read(write, "").configuration == Configuration()


def test_the_sample_is_read_without_a_warning() -> None:
    loaded = load(SAMPLE, {})
    assert loaded.configuration.etcd.endpoints == ("localhost:2379",)
    assert loaded.configuration.client.id == "alice"
    assert loaded.configuration.no_auth
    assert not [note for note in loaded.notes if note.warning]


def test_contrails_sections_are_read_as_they_are(write: Path) -> None:
    configuration = read(
        write,
        """
etcd: {endpoints: [a:1, b:2], path: json, username: u, dial_timeout: 1m30s,
       tls: {enabled: true, trusted_ca_path: /ca.pem}}
client: {id: alice, project_name: admin, domain_name: Default, endpoint: "https://localhost:9091/"}
keystone: {authurl: "https://localhost:9091/keystone/v3", insecure: true}
insecure: true
log_level: warn
compilation: {enabled: yes, number_of_workers: 7, msg_queue_lock_time: 12, master_election: off}
server: {address: ":9091"}
""",
    ).configuration
    assert (configuration.etcd.endpoints, configuration.etcd.path) == (("a:1", "b:2"), "json")
    assert (configuration.etcd.dial_timeout, configuration.etcd.tls.trusted_ca_path) == (90.0, "/ca.pem")
    assert configuration.client.endpoint == ("https://localhost:9091",)
    assert configuration.keystone.insecure and configuration.insecure
    assert configuration.compilation.number_of_workers == 7
    assert configuration.compilation.enabled and not configuration.compilation.master_election
    assert (configuration.server.address.host, configuration.server.address.port) == ("0.0.0.0", 9091)


def test_static_users_are_read_through_their_aliases(write: Path) -> None:
    users = read(
        write,
        """
keystone:
  assignment:
    data:
      domains: {default: &default {id: default, name: default}}
      projects: {admin: &admin {id: admin, name: admin, domain: *default}}
      users: {alice: {id: alice, password: secret, domain: *default, roles: [{id: admin, project: *admin}]}}
""",
    ).configuration.keystone.assignment.data.users
    assert users["alice"].roles[0].project.domain.id == "default"
    assert users["alice"].password.reveal() == "secret"


def test_a_key_without_a_value_counts_as_not_set(write: Path) -> None:
    configuration = read(write, "etcd:\n  username:\n  password:\n").configuration
    assert configuration.etcd == Configuration().etcd


def test_sections_of_other_services_are_passed_over_with_one_line(write: Path) -> None:
    loaded = read(write, "database: {host: x}\nagent: {}\nserver: {proxy: {}}\n")
    (note,) = loaded.notes
    assert not note.warning
    assert note.text.endswith("agent, database, server.proxy")


def test_a_section_that_nobody_is_known_to_read_is_a_warning(write: Path) -> None:
    (note,) = read(write, "future_thing: {a: 1}\nlog: {format: text}\netcd: {size: 3}\n").notes
    assert note.warning
    assert "future_thing (line 1), log (line 2), etcd.size (line 3)" in note.text
    assert note.text.endswith("below intentc there are keys of these names: log")


def test_an_unknown_key_of_ours_is_an_error_with_line_and_suggestion(write: Path) -> None:
    message = rejection(write, "intentc:\n  installation: a\n  diagnostik: {}\n")
    assert message == f"{write}:3: unknown key intentc.diagnostik; did you mean diagnostics?"


def test_a_misspelt_key_of_a_shared_section_is_an_error(write: Path) -> None:
    assert rejection(write, "etcd:\n  endponts: [a:1]\n") == (
        f"{write}:2: unknown key etcd.endponts; did you mean endpoints?"
    )


def test_a_wrong_type_is_rejected_with_its_line(write: Path) -> None:
    message = rejection(write, "\ncompilation:\n  number_of_workers: many\n")
    assert message.startswith(f"{write}:3: compilation.number_of_workers: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("intentc: {diagnostics: {address: 8877}}", "write host:port"),
        ("client: {endpoint: api}", "write http://host:port"),
        ("client: {endpoint: 'http://u:p@api'}", "holds a password"),
        ("etcd: {dial_timeout: soon}", "is no duration"),
        ("compilation: {number_of_workers: 0}", "must be an integer at least 1"),
        ("intentc: {journal: {entries: many}}", "intentc.journal.entries: must be an integer, is a string"),
        ("intentc: {installation: a/b}", "matching regex"),
        ("etcd: []", "must be a mapping"),
        ("- a", "must be a mapping"),
    ],
)
def test_a_bad_value_is_rejected_with_what_to_write(write: Path, text: str, hint: str) -> None:
    assert hint in rejection(write, text)


def test_the_environment_wins_over_the_file(write: Path) -> None:
    loaded = read(
        write,
        "etcd: {password: file, endpoints: [a:1]}\n",
        INTENTC_ETCD__PASSWORD="environment",
        INTENTC_ETCD__ENDPOINTS="b:1,c:2",
        INTENTC_COMPILATION__NUMBER_OF_WORKERS="9",
        INTENTC_LOG_LEVEL="debug",
    )
    configuration = loaded.configuration
    assert configuration.etcd.password.reveal() == "environment"
    assert configuration.etcd.endpoints == ("b:1", "c:2")
    assert (configuration.compilation.number_of_workers, configuration.log_level) == (9, "debug")
    assert loaded.notes == ()


def test_variables_that_an_orchestrator_sets_are_left_alone() -> None:
    environ = {"INTENTC_PORT": "tcp://10.0.0.1:9091", "INTENTC_SERVICE_HOST": "10.0.0.1", "INTENTC_CONFIG_FILE": "x"}
    assert load(None, environ).configuration == Configuration()


def test_an_error_in_a_variable_names_the_variable() -> None:
    with pytest.raises(InvalidInput, match=r"^INTENTC_COMPILATION__NUMBER_OF_WORKERS: "):
        load(None, {"INTENTC_COMPILATION__NUMBER_OF_WORKERS": "many"})


def test_an_unknown_variable_of_ours_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"^INTENTC_INTENTC__INSTALATION: unknown key"):
        load(None, {"INTENTC_INTENTC__INSTALATION": "x"})


def test_a_value_can_come_from_a_file_of_its_own(write: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden\n")
    secret.chmod(0o600)
    loaded = read(write, f"etcd: {{password_file: {secret}}}")
    assert loaded.configuration.etcd.password.reveal() == "hidden"
    assert loaded.notes == ()
    assert load(None, {"INTENTC_CLIENT__PASSWORD_FILE": str(secret)}).secrets() == {"hidden"}


def test_a_missing_file_of_a_value_is_an_error(write: Path) -> None:
    message = rejection(write, "etcd: {password_file: /nowhere}")
    assert message == f"{write}:1: etcd.password_file: /nowhere can't be read: No such file or directory"


def test_a_value_and_its_file_at_once_is_an_error(write: Path) -> None:
    assert "keep one" in rejection(write, "etcd: {password: a, password_file: /b}")


def test_a_file_given_by_the_environment_replaces_a_literal_value(write: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    loaded = read(write, "etcd: {password: old}", INTENTC_ETCD__PASSWORD_FILE=str(tmp_path / "secret"))
    assert loaded.configuration.etcd.password.reveal() == "hidden"


def test_secrets_in_the_file_are_accepted_with_one_warning(write: Path) -> None:
    loaded = read(write, "etcd:\n  password: canary-1\nclient:\n  password: canary-2\n")
    (note,) = loaded.notes
    assert note.warning
    assert "etcd.password (line 2), client.password (line 4)" in note.text
    assert "canary" not in note.text
    assert loaded.secrets() == {"canary-1", "canary-2"}


def test_no_secret_shows_when_a_configuration_is_printed(write: Path) -> None:
    configuration = read(write, "etcd: {password: canary-1}\nclient: {password: canary-2}\n").configuration
    assert "canary" not in f"{configuration} {configuration!r}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("etdc: {endpoints: [a:1]}", "unknown key etdc; did you mean etcd?"),
        ("Etcd: {endpoints: [a:1]}", "unknown key Etcd; did you mean etcd?"),
        ("intentd: {installation: a}", "unknown key intentd; did you mean intentc?"),
        ("no_auht: true", "unknown key no_auht; did you mean no_auth?"),
        ("intentc: {watch: {heartbeat: 0s}}", "intentc.watch.heartbeat: must be 0.1 s or more, is 0 s"),
        ("intentc: {watch: {relist_slice: 0}}", "intentc.watch.relist_slice: must be 0.01 s or more"),
        ("intentc: {watch: {heartbeat: .inf}}", "is no duration"),
        ("intentc: {audit: {period: 1ms}}", "intentc.audit.period: must be 0 (never) or 1 s or more"),
        ("intentc: {audit: {time_limit: 0}}", "intentc.audit.time_limit: must be 1 s or more"),
        ("etcd: {dial_timeout: 0}", "etcd.dial_timeout: must be 0.1 s or more"),
        ("keystone: {store: {expire: 0}}", "keystone.store.expire: must be 1 s or more"),
        ('etcd: {path: ""}', "etcd.path: '' is no path"),
        ("etcd: {path: /contrail/}", "etcd.path: '/contrail/' is no path"),
        ("etcd: {path: intentc}", "etcd.path: below 'intentc' the compiler keeps its own keys"),
        ("etcd: {path: intentc/x}", "etcd.path: below 'intentc' the compiler keeps its own keys"),
        ("intentc: {settings: [a]}", "expected a mapping of names to values"),
    ],
)
def test_formerly_ignored_mistakes_are_rejected_with_their_line(write: Path, text: str, said: str) -> None:
    message = rejection(write, f"\n{text}\n")
    assert message.startswith(f"{write}:2: ")
    assert said in message


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("INTENTC_DIAGNOSTICS__ADDRESS", "INTENTC_INTENTC__DIAGNOSTICS__ADDRESS"),
        ("INTENTC_LOG__FORMAT", "INTENTC_INTENTC__LOG__FORMAT"),
        ("INTENTC_ETDC__PASSWORD", "INTENTC_ETCD__PASSWORD"),
        ("INTENTC_ETCD_PASSWORD", "INTENTC_ETCD__PASSWORD"),
        ("INTENTC_ETCD_PASSWORD_FILE", "INTENTC_ETCD__PASSWORD_FILE"),
        ("INTENTC_LOG_FORMAT", "INTENTC_INTENTC__LOG__FORMAT"),
        ("INTENTC_LOGLEVEL", "INTENTC_LOG_LEVEL"),
        ("INTENTC_DATABASE__HOST", "sample/contrail.yml"),
    ],
)
def test_a_variable_that_sets_nothing_is_rejected_and_the_right_one_is_named(variable: str, meant: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{variable}: {variable} sets nothing; .*{meant}"):
        load(None, {variable: "x"})


def test_an_unknown_key_of_a_shared_section_in_a_variable_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"^INTENTC_ETCD__SIZE: unknown key etcd\.size"):
        load(None, {"INTENTC_ETCD__SIZE": "3"})


def test_a_file_that_only_looks_regular_is_rejected(write: Path, tmp_path: Path) -> None:
    """As /proc/kmsg, whether the kernel has anything to say now or not; and a file that is no secret by its size."""
    for place in ("/proc/kmsg", "/proc/version"):
        with pytest.raises(InvalidInput, match=rf"etcd\.password_file: {place} can't be read"):
            read(write, f"etcd: {{password_file: {place}}}\n")
    large = tmp_path / "large"
    large.write_bytes(b"x" * 100_000)
    with pytest.raises(InvalidInput, match=r"etcd\.password_file: .*large can't be read"):
        read(write, f"etcd: {{password_file: {large}}}\n")


def test_files_of_tls_know_where_they_were_set(write: Path) -> None:
    file = read(write, "etcd:\n  tls:\n    trusted_ca_path: /nope\n").configuration.etcd.tls.trusted_ca_path
    assert (file.key, file.source) == ("etcd.tls.trusted_ca_path", f"{write}:3")
    assert file.lack() == "etcd.tls.trusted_ca_path: /nope can't be read: No such file or directory"


def test_a_lease_that_etcd_would_lengthen_is_a_warning(write: Path) -> None:
    (note,) = read(write, "compilation: {msg_queue_lock_time: 1}\n").notes
    assert note.warning
    assert "compilation.msg_queue_lock_time" in note.text
