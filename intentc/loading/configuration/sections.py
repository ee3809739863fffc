"""Declares all settings with their defaults: the sections of Contrail's file that we read, and our own.

All sections have defaults, so that an empty file, or none, is a configuration. ``passed_over`` names Contrail's keys of
a section that serve other programs. ``closed`` sections are ours alone: every unknown key there is an error. Elsewhere
only a likely misspelling of our keys is one, and any unknown key that the environment sets, since the file is shared
with programs that we don't know.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from .setting_types import Address, AtLeast, FilePath, HostName, PrefixInEtcd, Seconds, Secret, Settings, Url

SHORTEST_LEASE = 2.0
"""Seconds: the shortest life of a lease in etcd, at its default election timeout."""
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]


class Section(msgspec.Struct, frozen=True):
    """The base of all sections."""

    passed_over: ClassVar[frozenset[str]] = frozenset()
    closed: ClassVar[bool] = False


class ClientTls(Section, frozen=True):
    """``etcd.tls`` and ``client.tls``: paths of PEM files, used only if ``enabled``.

    ``certificate_path`` and ``key_path`` are our certificate, if the server asks for one; without ``trusted_ca_path``
    the system's roots are trusted. Replaced files are read again for the next connection.
    """

    enabled: bool = False
    certificate_path: FilePath = FilePath()
    key_path: FilePath = FilePath()
    trusted_ca_path: FilePath = FilePath()


class Etcd(Section, frozen=True):
    """``etcd``: where resources are kept. ``path`` without slashes around it: keys are ``/<path>/<kind>/<uuid>``."""

    passed_over: ClassVar[frozenset[str]] = frozenset({"grpc_insecure", "enabled"})

    endpoints: tuple[str, ...] = ("127.0.0.1:2379",)
    path: Annotated[str, PrefixInEtcd()] = "contrail"
    username: str = ""
    password: Secret = Secret()
    dial_timeout: Annotated[Seconds, AtLeast(0.1)] = Seconds(5)
    tls: ClientTls = ClientTls()


class Client(Section, frozen=True):
    """``client``: the API servers to which we write, tried in order, and our credentials; ``tls`` also applies to
    Keystone."""

    passed_over: ClassVar[frozenset[str]] = frozenset({"schema_root"})

    endpoint: tuple[Url, ...] = (Url("http://127.0.0.1:9091"),)
    id: str = ""
    password: Secret = Secret()
    project_id: str = ""
    project_name: str = ""
    domain_id: str = "default"
    domain_name: str = ""
    tls: ClientTls = ClientTls()


class KeystoneDomain(Section, frozen=True):
    """A domain of the static users."""

    id: str = ""
    name: str = ""


class KeystoneProject(Section, frozen=True):
    """A project of the static users."""

    id: str = ""
    name: str = ""
    domain: KeystoneDomain = KeystoneDomain()


class KeystoneRole(Section, frozen=True):
    """A role that a static user has in a project."""

    id: str = ""
    name: str = ""
    project: KeystoneProject = KeystoneProject()


class KeystoneUser(Section, frozen=True):
    """A static user of ``intentc apiserver``."""

    passed_over: ClassVar[frozenset[str]] = frozenset({"email"})

    id: str = ""
    name: str = ""
    password: Secret = Secret()
    domain: KeystoneDomain = KeystoneDomain()
    roles: tuple[KeystoneRole, ...] = ()


class KeystoneData(Section, frozen=True):
    """``keystone.assignment.data``: entries by names that are local to the file."""

    domains: dict[str, KeystoneDomain] = {}
    projects: dict[str, KeystoneProject] = {}
    users: dict[str, KeystoneUser] = {}


class KeystoneAssignment(Section, frozen=True):
    """``keystone.assignment``: the static users."""

    type: str = "static"
    data: KeystoneData = KeystoneData()


class KeystoneStore(Section, frozen=True):
    """``keystone.store``: how long a token that ``intentc apiserver`` issues is valid."""

    passed_over: ClassVar[frozenset[str]] = frozenset({"type"})

    expire: Annotated[Seconds, AtLeast(1)] = Seconds(3600)


class Keystone(Section, frozen=True):
    """``keystone``: the service that issues tokens (``authurl``); ``local``: ``intentc apiserver`` issues them."""

    passed_over: ClassVar[frozenset[str]] = frozenset({"service_user"})

    authurl: tuple[Url, ...] = ()
    local: bool = False
    insecure: bool = False
    assignment: KeystoneAssignment = KeystoneAssignment()
    store: KeystoneStore = KeystoneStore()


class ServerTls(Section, frozen=True):
    """``server.tls``: PEM files, used only if ``enabled``. ``client_ca_file``: clients need a certificate that one of
    its authorities signed."""

    enabled: bool = False
    key_file: FilePath = FilePath()
    cert_file: FilePath = FilePath()
    client_ca_file: FilePath = FilePath()


class Server(Section, frozen=True):
    """``server``: the address of ``intentc apiserver``.

    ``hosts``: further names that requests to a loopback address may have as ``Host``, in addition to those of this
    machine: what a proxy in front of it passes on.
    """

    passed_over: ClassVar[frozenset[str]] = frozenset(
        [
            "enabled",
            "read_timeout",
            "write_timeout",
            "log_api",
            "log_body",
            "enable_grpc",
            "enable_gzip",
            "enable_vnc_neutron",
            "enable_vnc_replication",
            "static_files",
            "dynamic_proxy_path",
            "proxy",
            "notify_etcd",
            "vnc_api_notifier",
            "service_token_endpoint_prefixes",
        ]
    )

    address: Address = Address("127.0.0.1:9091")
    hosts: tuple[HostName, ...] = ()
    tls: ServerTls = ServerTls()


class Compilation(Section, frozen=True):
    """``compilation``: the running compiler.

    ``enabled: false`` in Contrail's all-in-one file means that no compiler runs. ``number_of_workers``,
    ``max_job_queue_len``, ``msg_index_string`` and ``read_lock_string`` are accepted for compatibility with the
    ancestor: intents are evaluated one after the other, our queue holds each once and is never full, and progress is
    known from etcd. ``master_election``: one process of an installation
    leads and writes, the others stand by; ``msg_queue_lock_time`` is the time after which a dead leader is replaced,
    the lifetime of the leader's lease (whole seconds, at least 2).
    """

    passed_over: ClassVar[frozenset[str]] = frozenset({"plugin_directory", "plugin", "plugin_names", "service_name"})

    enabled: bool = True
    number_of_workers: Annotated[int, Meta(ge=1, le=1_000)] = 4
    max_job_queue_len: Natural = 5
    msg_queue_lock_time: Seconds = Seconds(10)
    msg_index_string: str = "MsgIndex"
    read_lock_string: str = "MsgReadLock"
    master_election: bool = True

    @property
    def lease_seconds(self) -> int:
        """The lifetime of a leader's lease: what is configured, but not less than etcd grants."""
        return max(int(SHORTEST_LEASE), round(self.msg_queue_lock_time))


class DiagnosticsTls(Section, frozen=True):
    """``intentc.diagnostics.tls``: PEM files.

    ``cert`` and ``key``: the service's, which serves only https then; ``client_ca``: clients need a certificate that
    one of its authorities signed. For commands that ask the service: ``ca``, the authorities that they trust (without
    it the system's roots), and ``client_cert`` and ``client_key``, their certificate.
    """

    closed: ClassVar[bool] = True

    cert: FilePath = FilePath()
    key: FilePath = FilePath()
    client_ca: FilePath = FilePath()
    ca: FilePath = FilePath()
    client_cert: FilePath = FilePath()
    client_key: FilePath = FilePath()

    @property
    def enabled(self) -> bool:
        """Whether the diagnostics use https."""
        return bool(self.cert or self.ca or self.client_cert)


class Diagnostics(Section, frozen=True):
    """``intentc.diagnostics``: the address of health, status, metrics and the page.

    ``hosts``: further names that requests to a loopback address may have as ``Host``. ``token``: clients must send it,
    as a bearer token or as a browser's password; it is required beyond loopback unless ``tls.client_ca`` is set.
    """

    closed: ClassVar[bool] = True

    address: Address = Address("127.0.0.1:8877")
    hosts: tuple[HostName, ...] = ()
    token: Secret = Secret()
    tls: DiagnosticsTls = DiagnosticsTls()


class Journal(Section, frozen=True):
    """``intentc.journal``: the record of evaluations and writes.

    ``entries`` and ``bytes``: approximate limits in memory; the oldest entries are dropped first. ``directory``: also
    keep it in a ring of ``files`` files of ``file_bytes`` each, for the time after a restart; empty: no files. Files
    hold names and revisions, and only their owner may read them. Processes on one machine may share a directory.
    """

    closed: ClassVar[bool] = True

    entries: Positive = 10_000
    bytes: Positive = 32_000_000
    directory: str = ""
    files: Annotated[int, Meta(ge=2)] = 8
    file_bytes: Annotated[int, Meta(ge=10_000)] = 8_000_000


class Limits(Section, frozen=True):
    """``intentc.limits``.

    ``max_txn_ops``: etcd's own ``--max-txn-ops``. ``concurrent_writes``: requests under way at once.
    ``writes_in_batch``: writes gathered into one ``/sync``. ``writes_per_second``: 0 for no limit.
    ``status_interval``: between two writes of one object's status, 0 for no limit.
    ``max_writes_on_upgrade``: after a leader with other versions, at most so many planned writes are made without
    approval. ``max_deletes`` and ``max_deletes_percent`` (of a kind's owned objects): a pass that would delete more
    objects of a kind than both withholds them (docs/engine.md §5.7).
    """

    closed: ClassVar[bool] = True

    max_txn_ops: Positive = 128
    concurrent_writes: Positive = 16
    writes_in_batch: Positive = 100
    writes_per_second: Annotated[float, Meta(ge=0)] = 0.0
    status_interval: Annotated[Seconds, AtLeast(0)] = Seconds(1)
    max_writes_on_upgrade: Natural = 1_000
    max_deletes: Natural = 50
    max_deletes_percent: Annotated[float, Meta(ge=0, le=100)] = 5.0


class Audit(Section, frozen=True):
    """``intentc.audit``: the comparison of the service's state with a compile from scratch, in a separate process.

    ``period``: its interval, 0 for never; ``time_limit``: its longest duration.
    """

    closed: ClassVar[bool] = True

    period: Annotated[Seconds, AtLeast(1, or_zero=True)] = Seconds(3600)
    time_limit: Annotated[Seconds, AtLeast(1)] = Seconds(600)


class Watch(Section, frozen=True):
    """``intentc.watch``.

    ``heartbeat``: the interval at which each process writes a key that it watches itself; after three missing ones the
    watch counts as dead. ``relist_slice``: the time between two slices of the background relist; 3,600 slices are the
    whole world.
    """

    closed: ClassVar[bool] = True

    heartbeat: Annotated[Seconds, AtLeast(0.1)] = Seconds(5)
    relist_slice: Annotated[Seconds, AtLeast(0.01)] = Seconds(1)


class Envoy(Section, frozen=True):
    """``intentc.envoy``: properties of the Envoys that ``intentc xds`` serves.

    ``drain_time``: their ``--drain-time-s``, for which they serve open connections of a changed listener; the clusters
    that its services need are kept as long. ``intentc dev`` starts its Envoy with it.
    """

    closed: ClassVar[bool] = True

    drain_time: Seconds = Seconds(600)


class Kubernetes(Section, frozen=True):
    """``intentc.kubernetes``: the cluster that ``intentc kubernetes`` mirrors.

    ``kubeconfig``: the file that says how to reach it, and ``context`` (empty: its current one); without a file, the
    service account of the pod. ``exec``: whether programs that the kubeconfig names may run for credentials.
    ``kinds``: mirror only these; empty: all that the compilers in use read. ``wait``: whether compilers wait until a
    bridge has mirrored every kind that they need as a whole; without it, they wait if ``kubeconfig`` is given, or a
    bridge has mirrored any kind below ``etcd.path``. ``writes``: how many of the objects that compilers make are
    written at the same time.
    """

    closed: ClassVar[bool] = True

    kubeconfig: FilePath = FilePath()
    context: str = ""
    exec: bool = False
    kinds: tuple[str, ...] = ()
    wait: bool | None = None
    writes: Annotated[int, Meta(ge=1, le=100)] = 8


class Api(Section, frozen=True):
    """``intentc.api``: what Contrail's file does not say about ``intentc apiserver``.

    ``pool_share``: percent of the numbers of a pool that one project may hold, 100 for no limit. ``metrics_token``: the
    bearer token for ``GET /metrics``; without it only tokens of users that may read everything, and anybody with
    ``no_auth``. ``secret_keys``: keys, one a line, that encrypt secrets in resources: the first one encrypts, all of
    them decrypt; give them as ``secret_keys_file``. ``secret_reader_roles``: roles whose users see secrets in answers,
    in addition to the compilers' users.
    """

    closed: ClassVar[bool] = True

    secret_keys: Secret = Secret()
    secret_reader_roles: tuple[str, ...] = ()
    pool_share: Annotated[float, Meta(gt=0, le=100)] = 20.0
    metrics_token: Secret = Secret()


class Log(Section, frozen=True):
    """``intentc.log``: ``json`` for programs, ``text`` for people, ``auto``: text on a terminal."""

    closed: ClassVar[bool] = True

    format: Literal["auto", "json", "text"] = "auto"


class Intentc(Section, frozen=True):
    """``intentc``: settings that Contrail's file does not have.

    ``installation`` distinguishes running compilers that share an etcd, and is part of every mark and fence: after a
    change all existing objects belong to another installation. Two installations with the same compiler have different
    values of ``etcd.path``, which each claims in etcd. ``compilers``: those that run. ``compiler_users``: ids of the
    users that ``intentc apiserver`` lets write the fields that schemas give to compilers; without it ``client.id``.
    ``reactions``: compiler → file that replaces the shipped map. ``schemas``: further directories with
    ``<compiler>/*.yml``, searched first. ``settings``: values that evaluations read by ``ctx.setting(name)``.
    """

    closed: ClassVar[bool] = True

    installation: Annotated[str, Meta(pattern=r"^(?!(apiserver|claims|synced)\Z)[A-Za-z0-9._-]+\Z")] = "default"
    compilers: tuple[str, ...] = ("contrail",)
    compiler_users: tuple[str, ...] = ()
    reactions: dict[str, str] = {}
    schemas: tuple[str, ...] = ()
    settings: Settings = Settings()
    diagnostics: Diagnostics = Diagnostics()
    journal: Journal = Journal()
    limits: Limits = Limits()
    audit: Audit = Audit()
    watch: Watch = Watch()
    envoy: Envoy = Envoy()
    kubernetes: Kubernetes = Kubernetes()
    api: Api = Api()
    log: Log = Log()


class Configuration(Section, frozen=True):
    """The whole file.

    ``insecure``: certificates of API server and Keystone are not checked, which is rejected unless both are on this
    machine. ``no_auth``: the API server asks for no token. ``aaa_mode``: who may do what at ``intentc apiserver``, as
    in Contrail: ``no-auth`` (as ``no_auth``), ``cloud-admin`` (the default: only the role ``cloud_admin_role`` may do
    anything), ``rbac`` (api-access-lists and ``perms2`` decide). ``global_read_only_role``: the role that may read
    everything; empty: none.
    """

    passed_over: ClassVar[frozenset[str]] = frozenset(
        ["agent", "amqp", "auth_type", "cache", "cassandra", "database", "homepage", "replication", "sync"]
    )

    etcd: Etcd = Etcd()
    client: Client = Client()
    keystone: Keystone = Keystone()
    server: Server = Server()
    compilation: Compilation = Compilation()
    insecure: bool = False
    no_auth: bool = False
    aaa_mode: Literal["", "no-auth", "cloud-admin", "rbac"] = ""
    cloud_admin_role: Annotated[str, Meta(min_length=1)] = "admin"
    global_read_only_role: str = ""
    log_level: Literal["debug", "info", "warning", "warn", "error", "fatal", "panic"] = "info"
    intentc: Intentc = Intentc()

    @property
    def is_open(self) -> bool:
        """Whether the API server does not authenticate."""
        return self.no_auth or self.aaa_mode == "no-auth"
