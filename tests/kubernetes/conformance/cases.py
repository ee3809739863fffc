"""The calls of each case: what a client does with one verb, on resources of one kind.

Each case has a namespace of its own. Nothing is asserted here: the answers are compared with those that a
kube-apiserver gave (``answers``), except the known differences (``differences.yaml``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .kinds import Sample
from .transcript import TABLE, Transcript

Case = Callable[[Transcript], Awaitable[None]]
_ANOTHER_UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


async def create(ask: Transcript) -> None:
    """A resource is created once, and has another uid when it is created again."""
    await ask("GET a")
    await ask("POST", ask.manifest("a", labels={"app": "web"}, annotations={"note": "x"}))
    await ask("POST", ask.manifest("a"))
    await ask("GET a")
    await ask("DELETE a")
    await ask("POST", ask.manifest("a"))


async def create_what_is_wrong(ask: Transcript) -> None:
    """A resource without a name, with a wrong one, of another kind, of another namespace, with a version."""
    await ask("POST", ask.manifest(), about="no name")
    await ask("POST", ask.manifest("Not_A_Name"), about="no valid name")
    await ask("POST", {**ask.manifest("a"), "kind": "Other"}, about="another kind")
    await ask("POST", {**ask.manifest("a"), "apiVersion": "other/v1"}, about="another group")
    if ask.sample.is_namespaced:
        await ask("POST", ask.manifest("a", namespace="other"), about="another namespace")
    await ask("POST", ask.manifest("a", resourceVersion="1"), about="a version")
    await ask("POST", [], about="a list")
    await ask("POST", ask.manifest("a", labels={"app": 1}), about="a number as label")
    await ask("POST c", ask.manifest("c"))


async def wrong_metadata(ask: Transcript) -> None:
    """Labels, annotations and finalizers have a form."""
    await ask("POST", ask.manifest("a", labels={"app": "not a label!"}), about="label")
    await ask("POST", ask.manifest("b", labels={"-": "x"}), about="key of a label")
    await ask("POST", ask.manifest("c", labels={"app": "x" * 64}), about="long label")
    await ask("POST", ask.manifest("d", labels={"example.io/a/b": "x"}), about="prefix of a label")
    await ask("POST", ask.manifest("e", annotations={"not one": "any text!"}), about="annotation")
    await ask("POST", ask.manifest("f", annotations={"example.io/One": "any text!"}), about="right annotation")
    await ask("POST", ask.manifest("g", finalizers=["unqualified"]), about="finalizer without prefix")
    await ask("POST", ask.manifest("h", finalizers=["not/a/name"]), about="finalizer")
    await ask("POST", ask.manifest("i", labels={"app": ""}), about="empty label")
    await ask("merge i", {"metadata": {"labels": {"app": "?"}}})


async def generate_name(ask: Transcript) -> None:
    """The server completes a name."""
    await ask("POST", ask.manifest(generateName=f"{ask.name}-generated-"))


async def update(ask: Transcript) -> None:
    """An update replaces, needs the present version, and changes nothing if nothing differs."""
    made = await ask("POST", ask.manifest("a", labels={"app": "web"}))
    await ask("PUT a", made)
    changed = {**made, "metadata": {**made["metadata"], "labels": {"app": "db"}, "annotations": {"note": "x"}}}
    await ask("PUT a", changed)
    await ask("PUT a", changed)
    now = await ask("GET a")
    await ask("PUT a", {**now, "metadata": {**now["metadata"], "uid": _ANOTHER_UID}}, about="another uid")
    await ask("PUT a", {**now, "metadata": {**now["metadata"], "generation": 7, "creationTimestamp": None}})
    await ask("PUT b", {**now, "metadata": {**now["metadata"], "name": ask.named("c")}})
    await ask("PUT c", {**ask.manifest("c", resourceVersion=now["metadata"]["resourceVersion"])})


async def update_without_version(ask: Transcript) -> None:
    """Custom resources need a version, the kinds that kubectl knows do not."""
    made = await ask("POST", ask.manifest("a", labels={"app": "web"}))
    del made["metadata"]["resourceVersion"]
    made["metadata"]["labels"] = {"app": "db"}
    await ask("PUT a", made)


async def merge_patch(ask: Transcript) -> None:
    """A merge patch changes, adds and removes; null removes."""
    made = await ask("POST", ask.manifest("a", labels={"app": "web", "tier": "front"}))
    await ask("merge a", ask.sample.change)
    await ask("merge a", ask.sample.change)
    await ask("merge a", {"metadata": {"labels": {"app": None, "new": "x"}, "annotations": {"note": "x"}}})
    await ask("merge a", {"metadata": {"labels": None}})
    await ask("merge a", {})
    await ask("merge a", {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"], "labels": {"a": "b"}}})
    await ask("merge a", {"metadata": {"name": "other"}})
    await ask("merge b", {"metadata": {"labels": {"a": "b"}}})
    await ask("merge a", [])


async def json_patch(ask: Transcript) -> None:
    """A JSON patch is carried out as a whole, or not at all."""
    await ask("POST", ask.manifest("a", labels={"app": "web"}))
    label = "/metadata/labels/app"
    await ask("json a", [{"op": "test", "path": label, "value": "web"}, {"op": "replace", "path": label, "value": "b"}])
    await ask("json a", [{"op": "test", "path": label, "value": "web"}, {"op": "remove", "path": label}])
    await ask("json a", [{"op": "remove", "path": "/metadata/labels/none"}])
    await ask("json a", [{"op": "add", "path": "/metadata/annotations", "value": {"note": "x"}}])
    await ask("json a", [{"op": "remove", "path": label}])
    await ask("json a", {"op": "remove"})
    await ask("json b", [{"op": "remove", "path": label}])


async def strategic_patch(ask: Transcript) -> None:
    """The kinds that kubectl knows have strategic merge patches."""
    await ask("POST", ask.manifest("a", labels={"app": "web"}, finalizers=["example.io/a"]))
    await ask("strategic a", {"metadata": {"labels": {"app": None, "new": "x"}, "finalizers": ["example.io/b"]}})
    await ask("strategic a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.io/a"]}})
    await ask("strategic a", {"metadata": {"labels": {"$patch": "replace", "only": "y"}}})
    await ask("merge a", {"metadata": {"finalizers": None}})


async def apply(ask: Transcript) -> None:
    """Server-side apply creates, merges, reports conflicts, and removes what a manager leaves out."""
    one = ask.manifest("a", labels={"app": "web", "tier": "front"})
    await ask("apply a", one, fieldManager="one")
    await ask("apply a", one, fieldManager="one")
    two = {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": {"labels": {"app": "db", "own": "x"}}}
    await ask("apply a", two, fieldManager="two")
    await ask("apply a", two, fieldManager="two", force="true")
    less = ask.manifest("a", labels={"app": "db"})
    await ask("apply a", less, fieldManager="one")
    await ask("apply a", {**two, "metadata": {}}, fieldManager="two")
    await ask("merge a", ask.sample.change, fieldManager="three")
    await ask("apply a", one, about="no manager")
    await ask("apply a", {**one, "metadata": {**one["metadata"], "managedFields": [{}]}}, fieldManager="one")
    await ask("apply a", {key: one[key] for key in one if key != "apiVersion"}, fieldManager="one")
    await ask("apply d", ask.manifest("c"), fieldManager="one")


async def status(ask: Transcript) -> None:
    """``/status`` changes the status alone, and other writes leave it."""
    made = await ask("POST", {**ask.manifest("a"), "status": ask.sample.status})
    now = await ask("PUT a/status", {**made, "status": ask.sample.status})
    await ask("GET a/status")
    await ask("PUT a", {**now, "status": {}, "metadata": {**now["metadata"], "labels": {"app": "web"}}})
    await ask("merge a", {"status": None})
    await ask("merge a/status", {"status": ask.sample.status, "metadata": {"labels": {"app": "db"}}})
    await ask("merge a/status", {"status": None})
    await ask("merge b/status", {"status": ask.sample.status})
    await ask("DELETE a/status")


async def apply_status(ask: Transcript) -> None:
    """Server-side apply of a status owns fields of the status."""
    await ask("POST", ask.manifest("a"))
    body = {"apiVersion": ask.sample.api_version, "kind": ask.sample.kind, "status": ask.sample.status}
    await ask("apply a/status", body, fieldManager="one")
    await ask("apply a/status", body, fieldManager="one")
    await ask("apply b/status", body, fieldManager="one")
    await ask("apply a/status", {**body, "status": {}}, about="empty", fieldManager="one")


async def list_some(ask: Transcript) -> None:
    """Lists are selected by labels and fields."""
    for name, labels in (("a", {"app": "web"}), ("b", {"app": "db", "tier": "back"}), ("c", {})):
        await ask("POST", ask.manifest(name, labels={"case": ask.name, **labels}))
    mine = f"case={ask.name}"
    await ask("GET", labelSelector=mine)
    for selected in ("app=web", "app!=web", "app in (web,db)", "app notin (web)", "app", "!app", "app==db,tier"):
        await ask("GET", labelSelector=f"{mine},{selected}")
    await ask("GET", labelSelector=mine, fieldSelector=f"metadata.name={ask.named('a')}")
    await ask("GET", labelSelector=mine, fieldSelector=f"metadata.name!={ask.named('a')}")
    await ask("GET", labelSelector="app in")
    await ask("GET", labelSelector="not a label!=x")
    await ask("GET", fieldSelector="spec.no.such=x")
    await ask("GET", labelSelector=mine, resourceVersion="0")


async def list_pages(ask: Transcript) -> None:
    """A list comes page by page."""
    mine = f"case={ask.name}"
    for name in ("a", "b", "c"):
        await ask("POST", ask.manifest(name, labels={"case": ask.name}))
    first = await ask("GET", labelSelector=mine, limit="2")
    token = first["metadata"]["continue"]
    await ask("merge c", {"metadata": {"labels": {"new": "x"}}})
    await ask("GET", labelSelector=mine, limit="2", **{"continue": token})
    await ask("GET", labelSelector=mine, limit="2", **{"continue": "nonsense"})
    await ask("GET", labelSelector=mine, limit="many")


async def delete(ask: Transcript) -> None:
    """A deletion has preconditions, options and a dry run."""
    made = (await ask("POST", ask.manifest("a")))["metadata"]
    await ask("DELETE b")
    await ask("DELETE a", {"preconditions": {"uid": _ANOTHER_UID}}, about="another uid")
    await ask("DELETE a", {"preconditions": {"resourceVersion": "1"}}, about="another version")
    await ask("DELETE a", {"dryRun": ["All"]}, about="dry run")
    await ask("DELETE a", dryRun="Some")
    await ask("DELETE a", propagationPolicy="Sometimes")
    await ask("GET a")
    await ask(
        "DELETE a",
        {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": made["uid"], "resourceVersion": made["resourceVersion"]},
            "propagationPolicy": "Background",
            "gracePeriodSeconds": 0,
        },
    )
    await ask("GET a")


async def finalizers(ask: Transcript) -> None:
    """What is deleted waits for its finalizers, and gets no others."""
    await ask("POST", ask.manifest("a", finalizers=["example.io/a", "example.io/b"]))
    await ask("DELETE a")
    await ask("DELETE a")
    await ask("POST", ask.manifest("a"))
    await ask("merge a", {"metadata": {"finalizers": ["example.io/a", "example.io/b", "example.io/c"]}})
    await ask("merge a", {"metadata": {"finalizers": ["example.io/b"]}})
    await ask("merge a", {"metadata": {"finalizers": None}})
    await ask("GET a")


async def propagation(ask: Transcript) -> None:
    """Dependents are a matter of the garbage collector, which a finalizer asks for."""
    await ask("POST", ask.manifest("a"))
    await ask("DELETE a", propagationPolicy="Foreground")
    await ask("merge a", {"metadata": {"finalizers": None}})
    await ask("POST", ask.manifest("b"))
    await ask("DELETE b", {"propagationPolicy": "Orphan"})
    await ask("merge b", {"metadata": {"finalizers": None}})


async def delete_collection(ask: Transcript) -> None:
    """Everything that is selected is deleted."""
    mine = f"case={ask.name}"
    for name, app in (("a", "web"), ("b", "db")):
        await ask("POST", ask.manifest(name, labels={"case": ask.name, "app": app}))
    await ask("DELETE", labelSelector=f"{mine},app=web", dryRun="All")
    await ask("DELETE", labelSelector=f"{mine},app=web")
    await ask("GET", labelSelector=mine)


async def dry_run(ask: Transcript) -> None:
    """A dry run answers as if, and changes nothing."""
    await ask("POST", ask.manifest("a"), dryRun="All")
    await ask("GET a")
    await ask("POST", ask.manifest("a"))
    await ask("merge a", ask.sample.change, dryRun="All")
    await ask("apply a", ask.manifest("a", labels={"app": "web"}), dryRun="All", fieldManager="one")
    await ask("GET a")
    await ask("merge a", ask.sample.change, dryRun="Some")


async def watch(ask: Transcript) -> None:
    """A watch continues a list, and shows what enters and leaves a selection."""
    mine = f"case={ask.name}"
    await ask("POST", ask.manifest("a", labels={"case": ask.name}))
    listed = await ask("GET", labelSelector=mine)
    await ask("POST", ask.manifest("b", labels={"case": ask.name}))
    await ask("merge a", ask.sample.change)
    await ask("merge a", {"metadata": {"labels": {"case": "another"}}})
    await ask("merge a", {"metadata": {"labels": {"case": ask.name}}})
    await ask("DELETE a")
    version = listed["metadata"]["resourceVersion"]
    await ask.watch(5, labelSelector=mine, resourceVersion=version)
    await ask.watch(1, labelSelector=mine)
    await ask.watch(1, labelSelector=mine, resourceVersion="0")
    await ask.watch(1, labelSelector=mine, resourceVersion=version, fieldSelector=f"metadata.name={ask.named('b')}")
    await ask.watch(1, labelSelector=mine, resourceVersion="x")


async def table(ask: Transcript) -> None:
    """kubectl shows tables."""
    mine = f"case={ask.name}"
    await ask("POST", ask.manifest("a", labels={"case": ask.name}))
    await ask("GET", labelSelector=mine, accept=TABLE)
    await ask("GET a", accept=TABLE, includeObject="None")


async def unknown_fields(ask: Transcript) -> None:
    """Fields that nobody knows, in the metadata and elsewhere."""
    made = await ask("POST", ask.manifest("a"))
    await ask("PUT a", {**made, "metadata": {**made["metadata"], "unknown": "x"}})
    await ask("merge a", {"metadata": {"unknown": "x"}})
    await ask("merge a", {"unknown": "x"})
    await ask("merge a", {"spec": {"unknown": "x"}}) if "spec" in ask.sample.content else None


CASES: tuple[Case, ...] = (
    create,
    create_what_is_wrong,
    wrong_metadata,
    generate_name,
    update,
    update_without_version,
    merge_patch,
    json_patch,
    strategic_patch,
    apply,
    status,
    apply_status,
    list_some,
    list_pages,
    delete,
    finalizers,
    propagation,
    delete_collection,
    dry_run,
    watch,
    table,
    unknown_fields,
)
_OF_STATUS = frozenset({status, apply_status})


def cases_of(sample: Sample) -> list[Case]:
    """Those that are tried on a kind."""
    return [
        case
        for case in CASES
        if case.__name__ not in sample.left_out and (sample.status is not None or case not in _OF_STATUS)
    ]
