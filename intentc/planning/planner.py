"""Plans one object: the fewest writes from its present state to what all claims on it want (docs/engine.md §5, §6.4,
§7).

One object at a time, so that the order between objects follows from the object graph: a write that needs another object
first waits for its name (``Plan.waits_for``) and is planned again when that changes. It reads the claims, the cache and
our own unseen writes. ``plan`` changes nothing but what the claim book remembers of merged claims, so anybody may look
at a plan. ``note`` keeps what a plan that is acted on leaves for later; ``orphans`` says what to plan at the end of a
pass. Both change the claim book and the state below, ``orphans`` also the guard. The engine carries plans out and
reports problems.

State: the objects whose parent was seen to be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from intentc.model import (
    AddReference,
    Create,
    Delete,
    HeldInput,
    InvalidInput,
    Key,
    Kind,
    Mark,
    Name,
    Operation,
    Problem,
    ReferenceValue,
    RemoveReference,
    ResourceClaim,
    Schema,
    Update,
    Writer,
    object_uuid,
)
from intentc.model.kind import Relation
from intentc.model.ownership import fits

from .actual import Actual
from .assumed import Assumed
from .claims import EXISTENCE, LATER, ClaimBook, Item
from .deletion import DeleteGuard, Deletion, Removals, abandoned, is_replaced
from .desired import DesiredObjects, Draft, Plan
from .diff import (
    NO_ENTRIES,
    Entries,
    MayRemove,
    Wanted,
    claimed_properties,
    differing,
    entry_changes,
    in_order,
    list_change,
    property_changes,
    without_items,
)
from .finalizers import Ending, MadeFor
from .merge import MERGES, merge
from .orphans import find_orphans, shows_unclaimed
from .ownership import Ownership, may_adopt, of_others, ownership_of_object, writes_entry


class Planner:
    """Plans objects of all kinds of ``schema``.

    ``compiler_of_kind``: kind → the compiler whose schema declares it, for the loaded compilers; objects of other kinds
    are never touched. ``held(origin)``: whether what this intent contributed must stay (docs/engine.md §7). ``guard``:
    withholds passes with many deletes. ``finalizers``: the names that compilers declare. ``made_for``: the objects of
    an owner.
    Raises ``InvalidInput`` for a schema that names an unknown merge function.
    """

    def __init__(
        self,
        schema: Schema,
        installation: str,
        compiler_of_kind: Mapping[str, str],
        book: ClaimBook,
        assumed: Assumed,
        held: Callable[[Key], bool],
        guard: DeleteGuard | None = None,
        finalizers: Collection[str] = (),
        made_for: MadeFor = lambda origin: (),
    ) -> None:
        self.book = book
        self.assumed = assumed
        self.guard = guard or DeleteGuard()
        self._schema = schema
        self._installation = installation
        self._compiler_of_kind = compiler_of_kind
        self._removals = Removals(book, held, compiler_of_kind)
        self.ending = Ending(
            schema, installation, book, assumed, self._removals, finalizers=finalizers, made_for=made_for
        )
        self._desired = DesiredObjects(book, assumed)
        self._deletion = Deletion(
            schema,
            installation,
            book=book,
            assumed=assumed,
            desired=self._desired,
            removals=self._removals,
            guard=self.guard,
        )
        self._left_behind: set[Name] = set()
        for kind in schema:
            for relation in kind.relations.values():
                if relation.merge and relation.merge not in MERGES:
                    raise InvalidInput(
                        f"merge function {relation.merge!r} is unknown; there are {', '.join(MERGES)}",
                        source=f"{kind.name}: {relation.name}",
                    )

    def key_of(self, name: Name) -> Key:
        """The key of the object of this name: the present one, else the one that is about to be created; without a uuid
        if there is neither."""
        there = self.assumed.reader.named(name.kind, name.fq_name)
        if there is not None:
            return there
        made = [operation.key for operation in self.plan(name).operations if isinstance(operation, Create)]
        return made[0] if made else Key(name.kind, "")

    def plan(self, name: Name) -> Plan:
        """The plan of the object ``name``. It has no operations if the object is right, or not ours to write. Changes
        nothing: who acts on the plan calls ``note``."""
        kind = self._schema.kinds.get(name.kind)
        if kind is None or name.kind not in self._compiler_of_kind:
            return Plan(name)
        draft = self._desired.draft(kind, name)
        try:
            actual = self.assumed.actual(name)
        except HeldInput:
            return Plan(name, waits_for=frozenset({name}), problems=draft.desired.problems)
        if actual is None:
            draft.is_in_place = True
            draft.revision = 0
            self._absent(draft)
        else:
            draft.revision = actual.revision
            ownership = ownership_of_object(actual, self._installation)
            match ownership:
                case Ownership.OURS:
                    self._ours(draft, actual)
                case Ownership.SYSTEM:
                    self._system(draft, actual)
                case Ownership.USERS:
                    self._users(draft, actual)
                case Ownership.OTHERS:
                    self._others(draft, actual)
                case Ownership.COPY:
                    self._copy(draft, actual)
            self.ending.plan(draft, actual, ownership)
        return draft.plan()

    def shows_unclaimed(self, name: Name) -> bool:
        """Whether the stored object, if we may write it, shows something of ours that nobody claims, apart from its
        existence (docs/engine.md §8). True if it can't be read."""
        try:
            actual = self.assumed.actual(name)
        except HeldInput:
            return True
        if actual is None:
            return False
        ownership = ownership_of_object(actual, self._installation)
        if ownership in {Ownership.COPY, Ownership.OTHERS}:
            return False
        draft = self._desired.draft(actual.kind, name)
        made = ownership is Ownership.OURS
        if ownership is Ownership.USERS and not may_adopt(draft.desired, actual):
            self._parts(draft, actual, may_remove=lambda _: True)
        else:
            self._fields(draft, actual, made=made, may_remove=lambda _: True)
        self.ending.plan_all(draft, actual)
        return shows_unclaimed(draft, actual, self.assumed, self._installation, made=made)

    def note(self, plan: Plan) -> None:
        """Note for later what ``plan`` found, since the engine acts on it: what it defers is planned again when the
        reason has ended, and an object in its place is no longer left behind."""
        for name, until in plan.deferred:
            self.book.defer(name, until)
        if plan.is_in_place:
            self._left_behind.discard(plan.name)

    def left_behind(self, names: Iterable[Name]) -> None:
        """Note that the deletion of these objects' parent was seen. Otherwise, outside a complete pass, an object
        without its parent may have arrived before it, and stays."""
        self._left_behind.update(names)

    def orphans(self) -> frozenset[Name]:
        """What to plan at the end of the first complete pass, and of later full passes: objects and fields of ours
        without a claim. From the first call on, removals are allowed. Objects that the guard withholds are planned as
        well, so that they are reported."""
        self.book.complete = True
        found = find_orphans(
            self._schema, self._installation, self._compiler_of_kind, self.book, self.assumed, self.ending.concerns
        )
        doomed = {name: origin for name, origin in found.objects.items() if not self._removals.is_origin_held(origin)}
        for origin in filter(self.ending.is_ending, set(doomed.values())):
            self.guard.owner_deleted(origin)
        self.guard.sift(doomed, found.owned)
        self._left_behind = {name for name, origin in doomed.items() if not origin}
        return found.fields | frozenset(found.objects) | self.book.resume(LATER)

    def writes_entry(self, relation: Relation, holder: Key, entry: ReferenceValue, *, made: bool) -> bool:
        """Whether an entry of a shared list of ``holder`` is ours; ``made``: we made the holder."""
        return writes_entry(self._installation, self.assumed, relation, holder, entry, made=made)

    def _absent(self, draft: Draft) -> None:
        desired, name = draft.desired, draft.name
        if not desired.exists:
            if draft.claims:
                draft.waits_for.add(name)
            return
        if desired.owner is None:
            return
        if missing := self.ending.without_finalizer(draft.claims):
            draft.waits_for |= missing
            return
        if desired.parent is not None and not self._usable(desired.parent.key):
            draft.waits_for.add(Name(desired.parent.key.kind, desired.parent.fq_name))
            return
        key = Key(name.kind, object_uuid(self._installation, name, desired.owner))
        references = {
            relation: in_order(entries)
            for relation in desired.references
            if (entries := self._wanted(draft, relation, key, made=True).entries.values())
        }
        # Several compilers may make objects of a shared kind: the mark names the one whose intent wants this object.
        compiler = self._compiler_of_kind.get(min(draft.claims).kind, self._compiler_of_kind[name.kind])
        mark = Mark(self._installation, compiler, desired.owner)
        properties = claimed_properties(draft.kind, desired, None, made=True)
        created = Create(key, name, desired.parent, mark, properties, references)
        if references:
            relaxed = {
                entry.key
                for relation, entries in references.items()
                for entry in entries
                if self._relaxes(draft.kind, relation, entry.key, made=True)
            }
            created = created._replace(relaxed=tuple(sorted(relaxed)))
        draft.operations.append(created)

    def _usable(self, parent: Key) -> bool:
        """Whether objects can be created below it: the server rejects a parent that it can't read."""
        try:
            return self.assumed.is_there(parent)
        except HeldInput:
            return False

    def _ours(self, draft: Draft, actual: Actual) -> None:
        desired = draft.desired
        if actual.is_being_deleted:
            # It can't be undone: what is claimed is created once it is gone.
            draft.waits_for.add(draft.name)
        elif not desired.exists:
            self._end(draft, actual)
        elif is_replaced(self._schema, draft, actual):
            if self._removals.may_remove(draft, actual)(EXISTENCE):
                self._delete(draft, actual)
            draft.waits_for.add(draft.name)
        else:
            self._fields(draft, actual, made=True)

    def _end(self, draft: Draft, actual: Actual) -> None:
        """Delete what nobody needs, unless that must wait."""
        if self.guard.holds(draft.name):
            draft.problem("DeletesHeld", "the pass would delete too many objects of this kind at once; if "
                          f"that is meant: `intentc allow-deletes {draft.name.kind}`")  # fmt: skip
        elif self._removals.may_remove(draft, actual)(EXISTENCE):
            if before := self.ending.before(actual):
                draft.waits_for |= before
            else:
                self._delete(draft, actual)

    def _system(self, draft: Draft, actual: Actual) -> None:
        if self._deletion.is_needless(draft, actual):
            draft.is_in_place = True
            self._end(draft, actual)
            return
        desired = draft.desired
        used = bool(draft.claims) and not desired.exists
        alone = abandoned(self.assumed, actual)
        draft.is_in_place = not alone
        # A claim on the name below a parent with another uuid also shows that the old parent was really deleted.
        elsewhere = desired.parent is not None and desired.parent.key != actual.parent
        known_deleted = alone and (draft.name in self._left_behind or elsewhere)
        if used or not known_deleted or not fits(draft.kind.ours, draft.name.fq_name):
            self._fields(draft, actual, made=False)
            return
        # Its parent was deleted, so it has no meaning any more.
        if not self.guard.holds(draft.name) and self._removals.may_remove(draft, actual)(EXISTENCE):
            self._delete(draft, actual)
        if draft.claims:
            draft.waits_for.add(draft.name)

    def _users(self, draft: Draft, actual: Actual) -> None:
        if may_adopt(draft.desired, actual):
            self._fields(draft, actual, made=False)
        else:
            self._taken(draft, actual)
            self._parts(draft, actual)

    def _parts(self, draft: Draft, actual: Actual, may_remove: MayRemove | None = None) -> None:
        """The changes of a user's object whose name somebody wants for an object of its own."""
        claims, left_alone = of_others(draft.claims)
        draft.desired = merge(draft.kind, draft.name, claims, self.assumed.title)
        self._fields(draft, actual, made=False, may_remove=may_remove)

        def is_left(item: Item) -> bool:
            return (item if isinstance(item, str) else item[0]) in left_alone

        reduced = [without_items(write, is_left, partial(self.assumed.entries, actual)) for write in draft.operations]
        draft.operations = [write for write in reduced if write is not None]

    def _others(self, draft: Draft, actual: Actual) -> None:
        if not draft.claims:
            return
        if not may_adopt(draft.desired, actual):
            self._taken(draft, actual)
            return
        fields = Draft(draft.name, draft.kind, draft.claims, draft.desired)
        self._fields(fields, actual, made=False)
        draft.deferred |= fields.deferred
        if fields.operations:
            self._taken(draft, actual)

    def _copy(self, draft: Draft, actual: Actual) -> None:
        draft.problem("Copy", f"it carries our mark, but uuid {actual.key.uuid} is not the one that we give; it is "
                      "left alone: delete it, or remove the annotation")  # fmt: skip
        self._taken(draft, actual)

    def _taken(self, draft: Draft, actual: Actual) -> None:
        owner, uuid = draft.desired.owner, actual.key.uuid
        if actual.mark is None and owner is not None and uuid == object_uuid(self._installation, draft.name, owner):
            # We made it, and it has lost its mark.
            message = (
                f"{draft.name} was released, so it is left alone: `intentc adopt {draft.name.kind}` shows what can be "
                "taken back; or delete it, and it is made again"
            )
        else:
            message = (
                f"the name of {draft.name} is taken by an object that we did not make ({uuid}); it is left alone: "
                "rename or delete it"
            )
        for origin, claims in draft.claims.items():
            if any(isinstance(claim, ResourceClaim) for claim in claims):
                draft.problems.append(Problem(origin.kind, self.assumed.title(origin), "NameTaken", message))

    def _delete(self, draft: Draft, actual: Actual) -> None:
        if actual.is_being_deleted:
            draft.waits_for.add(draft.name)
            return
        held_by = self._deletion.blockers(actual)
        draft.waits_for |= held_by.holders
        if not held_by.users:
            # While users' references keep it, the others stay as well.
            draft.wakes |= held_by.holders
        if held_by.users:
            draft.problem("StillReferred", "it is not needed any more, but can't be deleted while "
                          f"{', '.join(held_by.users[:5])} refer to it ({len(held_by.users)} in all); "
                          "remove these references")  # fmt: skip
        if not held_by.holders and not held_by.users:
            draft.operations.append(Delete(actual.key, draft.name, actual.revision))
        elif lists := self._deletion.without_cycle(draft, actual):
            draft.operations.append(Update(actual.key, draft.name, {}, lists, actual.revision))

    def _fields(self, draft: Draft, actual: Actual, *, made: bool, may_remove: MayRemove | None = None) -> None:
        """The changes of an object that stays, except finalizers and status: whole fields in one update, then single
        references."""
        kind, desired = draft.kind, draft.desired
        may_remove = may_remove or self._removals.may_remove(draft, actual)
        if actual.is_being_deleted:
            # The server takes only finalizers and status any more.
            return
        properties = property_changes(actual, desired, may_remove, made=made)
        lists: dict[str, tuple[ReferenceValue, ...]] = {}
        relaxed: list[Key] = []
        add: list[Operation] = []
        remove: list[Operation] = []
        written = kind.written(made=made)
        for relation in written.relations:
            stored = self.assumed.entries(actual, relation)
            wanted = self._wanted(draft, relation, actual.key, stored, made=made)
            change = list_change(relation, stored, wanted, may_remove)
            if change is not None:
                lists[relation] = change
                relaxed += [entry.key for entry in change if self._relaxes(kind, relation, entry.key, made)]
        for relation in written.shared:
            stored = self.assumed.entries(actual, relation)
            if relation in desired.kept or (not stored and relation not in desired.references):
                continue
            wanted = self._wanted(draft, relation, actual.key, stored, made=made)
            unwanted = self.assumed.leading_to(relation, stored, desired.unwanted)
            declared = kind.relations[relation]
            ours = {
                entry.key
                for entry in differing(stored, wanted)
                if entry.key in unwanted or self.writes_entry(declared, actual.key, entry, made=made)
            }
            added, removed = entry_changes(relation, stored, wanted, ours, may_remove)
            for entry in added:
                relax = self._relaxes(kind, relation, entry.key, made)
                add.append(AddReference(actual.key, draft.name, relation, entry, relax))
            for target in removed:
                remove.append(RemoveReference(actual.key, draft.name, relation, target))
        if properties or lists:
            update = Update(actual.key, draft.name, properties, lists, actual.revision, tuple(sorted(set(relaxed))))
            draft.operations.append(update)
        draft.operations += add
        draft.operations += remove

    def _wanted(self, draft: Draft, relation: str, holder: Key, stored: Entries = NO_ENTRIES, *, made: bool) -> Wanted:
        """The desired entries of one relation whose targets exist; for the others the draft waits."""
        declared = draft.kind.relations[relation]
        entries: dict[Key, ReferenceValue] = {}
        for target, attribute in draft.desired.references.get(relation, {}).items():
            key = self._target(draft, target)
            if key is None:
                draft.waits_for.add(target)
                continue
            entry = ReferenceValue(key, target.fq_name, attribute)
            if (
                declared.writer_on(made=made) is Writer.SHARED
                and key not in stored
                and not self.writes_entry(declared, holder, entry, made=made)
            ):
                draft.problem("Unrecognisable", f"its reference to {target} could not be distinguished from a user's "
                              "later and is not written; make the target an object of the holder's own")  # fmt: skip
                # It may still be deleted, and created again as the holder's own.
                draft.waits_for.add(target)
            else:
                entries[key] = entry
        disputed = self.assumed.leading_to(relation, stored, draft.desired.disputed)
        return Wanted(entries, disputed, MERGES.get(declared.merge))

    def _target(self, draft: Draft, name: Name) -> Key | None:
        """The object that a reference to ``name`` leads to now: None if it is absent, or about to be deleted."""
        try:
            actual = self.assumed.actual(name)
        except HeldInput as held:
            return held.key
        if actual is None:
            return None
        if not self.book.complete:
            return actual.key
        return None if self._deletion.is_doomed(draft, actual) else actual.key

    def _relaxes(self, kind: Kind, relation: str, target: Key, made: bool) -> bool:
        """Whether a reference must not block a user's delete of its target: we did not make the target, and not the
        holder either, or users write such references, too (docs/engine.md §6.6)."""
        declared = kind.relations[relation]
        if declared.derived or (made and declared.writer is not Writer.USER):
            return False
        try:
            actual = self.assumed.at(target)
        except HeldInput:
            return True
        return actual is None or ownership_of_object(actual, self._installation) is not Ownership.OURS
