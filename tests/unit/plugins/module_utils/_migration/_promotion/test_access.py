"""Which ACLs the destination gets, before and after the cut-over."""

import itertools

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import BrokerCount
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.access import (
    acl_changes,
    covering,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.survey import Survey
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import Acls
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import PromotionOptions

TOPICS = ("shop.orders", "shop.returns", "other")
SHOP = Mapping((Rule(pattern=r"shop\.(.*)", to=r"store.\1"),))
EVIL = "User:evil"
NAMES = {"shop.orders": "store.orders", "shop.returns": "store.returns"}


def acl(text, principal="User:billing", host="*"):
    """Of a text such as "ALLOW READ on TOPIC orders", where a name that ends with * is a prefix."""
    permission, operation, _on, resource, name = text.split(" ")
    is_prefix = len(name) > 1 and name.endswith("*")
    pattern = "PREFIXED" if is_prefix else "LITERAL"
    return Acl(resource, name[:-1] if is_prefix else name, pattern, principal, host, operation, permission)


def changes(
    source,
    destination=(),
    which=Acls.CUTOVER,
    mapping=SHOP,
    names=None,
    others=(),
    fence=(),
    later=(),
    is_open=False,
    **options,
):
    names = names or NAMES
    topics = (*names.values(), *others)
    acls = {"source_acls": frozenset(source), "destination_acls": frozenset(destination), "fence": frozenset(fence)}
    acls |= {"later_names": frozenset(later), "open_without_acls": is_open}
    survey = Survey("s", "d", names, TOPICS, topics, {}, {}, frozenset(), BrokerCount(1, 1), **acls)
    found, notes = acl_changes(survey, mapping, PromotionOptions(acls=which, **options))
    return {(str(each.acl), each.action) for each in found}, notes


def added(source, **options):
    found, _notes = changes([acl(each) for each in source], **options)
    return {text.removesuffix(" for User:billing") for text, action in found if action == "add"}


@pytest.mark.parametrize(
    ("right", "mirrored"),
    [
        ("ALLOW READ", {"ALLOW READ"}),
        ("ALLOW DESCRIBE", {"ALLOW DESCRIBE"}),
        ("ALLOW DESCRIBE_CONFIGS", {"ALLOW DESCRIBE_CONFIGS"}),
        ("ALLOW ALL", {"ALLOW READ", "ALLOW DESCRIBE", "ALLOW DESCRIBE_CONFIGS"}),
        *((f"ALLOW {each}", set()) for each in ("WRITE", "ALTER", "DELETE", "ALTER_CONFIGS")),
        *((f"DENY {each}", {f"DENY {each}"}) for each in ("READ", "DELETE", "DESCRIBE")),
        ("DENY WRITE", set()),
        ("DENY ALL", {"DENY READ"}),
    ],
)
def test_what_is_allowed_or_denied_while_a_replication_tool_writes(right, mirrored):
    source = [f"{right} on TOPIC shop.orders"]
    assert added(source, which=Acls.MIRROR) == {f"{each} on TOPIC store.orders" for each in mirrored}
    assert added(source) == {f"{right} on TOPIC store.orders"}


def test_who_must_not_use_a_transactional_id_waits_for_the_cut_over():
    source = ["DENY ALL on TRANSACTIONAL_ID billing-1"]
    assert added(source, which=Acls.MIRROR, acl_transactional_ids=(".*",)) == set()
    assert added(source, acl_transactional_ids=(".*",)) == set(source)


@pytest.mark.parametrize("which", [Acls.MIRROR, Acls.CUTOVER])
def test_a_fence_stays_at_the_source_and_what_others_deny_follows(which):
    fence = [acl("DENY READ on TOPIC shop.orders"), acl("DENY WRITE on TOPIC shop.orders", "User:*")]
    source = [*fence, acl("DENY READ on TOPIC shop.orders", "User:fraud")]
    found, notes = changes(source, which=which, fence=[*fence, acl("DENY WRITE on TOPIC shop.orders", "User:gone")])
    assert found == {("DENY READ on TOPIC store.orders for User:fraud", "add")}
    said = (
        "ACLs of the fence at the source are left out: DENY WRITE on TOPIC shop.orders for User:*, "
        "DENY READ on TOPIC shop.orders for User:billing."
    )
    assert notes == (Note(NoteKind.ACL_LEFT_OUT, said),)
    other = acl("DENY READ on TOPIC other")
    assert changes([other], which=which, fence=[other]) == (set(), ())


def test_hosts_are_kept_and_topics_that_are_not_selected_left_out():
    source = [acl("ALLOW READ on TOPIC shop.orders", host="10.0.0.1"), acl("ALLOW READ on TOPIC other")]
    assert changes(source)[0] == {("ALLOW READ on TOPIC store.orders for User:billing from 10.0.0.1", "add")}


def test_a_prefix_maps_to_a_prefix():
    assert added(["ALLOW WRITE on TOPIC shop.*"]) == {"ALLOW WRITE on TOPIC store.*"}
    assert added(["ALLOW WRITE on TOPIC shop.or*"]) == {"ALLOW WRITE on TOPIC store.or*"}
    policy = Mapping(prefixes=Prefixes("eu."))
    names = {topic: f"eu.{topic}" for topic in TOPICS}
    assert added(["ALLOW READ on TOPIC shop.*"], mapping=policy, names=names) == {"ALLOW READ on TOPIC eu.shop.*"}


def test_a_prefix_that_stays_is_carried_besides_the_topics_that_get_an_alias_by_their_ending():
    """It was refused, and the remedy was a rule of topic_map, which a replication policy does not go with."""
    policy = Mapping(prefixes=Prefixes("eu.", "", ".", "orders"))
    for what in ("ALLOW READ", "DENY READ"):
        carried = added([f"{what} on TOPIC shop.*"], mapping=policy, names={each: policy.topic(each) for each in NAMES})
        assert carried == {f"{what} on TOPIC shop.*", f"{what} on TOPIC eu.shop.orders"}


@pytest.mark.parametrize(
    ("prefix", "mapping"),
    [
        ("sh", SHOP),  # covers topics that the rule is not about
        ("shop.", Mapping((Rule(name="shop.orders", to="orders"),))),
        ("shop.", Mapping((Rule(name="shop.later", to="later"),))),
        ("shop.", Mapping((Rule(pattern=r"shop\.(.*)", to=r"\1.shop"),))),
    ],
)
def test_a_prefix_that_maps_to_no_prefix_is_refused(prefix, mapping):
    names = {topic: mapping.topic(topic) for topic in TOPICS}
    with pytest.raises(Refused, match=rf"the source's ALLOW READ on TOPIC {prefix}\* for User:billing covers topics"):
        changes([acl(f"ALLOW READ on TOPIC {prefix}*")], mapping=mapping, names=names)


def test_a_prefix_of_topics_that_are_selected_only_in_part_becomes_an_acl_for_each():
    found, notes = changes([acl("DENY READ on TOPIC shop.*")], names={"shop.orders": "store.orders"})
    assert found == {("DENY READ on TOPIC store.orders for User:billing", "add")}
    assert "the selection leaves out topics with this prefix: shop.returns." in notes[0].text
    assert notes[0].kind is NoteKind.ACL_SPLIT


STRIPPED = Mapping((Rule(pattern=r"shop\.(.*)", to=r"\1"),))


def test_a_prefix_that_is_removed_becomes_an_acl_for_each_topic_and_is_left_out_where_there_is_none_yet():
    names = {"shop.orders": "orders", "shop.returns": "returns"}
    found, notes = changes([acl("ALLOW READ on TOPIC shop.*")], mapping=STRIPPED, names=names)
    assert found == {(f"ALLOW READ on TOPIC {each} for User:billing", "add") for each in names.values()}
    (note,) = notes
    assert note.kind is NoteKind.ACL_SPLIT and "topic_map removes the whole prefix" in note.text
    market = Mapping((Rule(pattern=r"market\.(.*)", to=r"\1"),))
    found, notes = changes([acl("ALLOW READ on TOPIC market.*")], mapping=market, names=names, later=["market."])
    assert found == set() and [note.kind for note in notes] == [NoteKind.ACL_LEFT_OUT]


@pytest.mark.parametrize(
    ("allowed", "denied", "names", "mapping", "follows"),
    [
        ("*", "other", NAMES, SHOP, {"other"}),
        ("*", "oth*", NAMES, SHOP, {"oth*"}),
        ("shop.*", "shop.secret.*", NAMES, SHOP, {"store.secret.*"}),
        ("shop.*", "shop.later", NAMES, SHOP, {"store.later"}),
        ("*", "shop.*", {"shop.orders": "store.orders"}, SHOP, {"store.*", "store.orders"}),
        ("*", "shop.*", {"other": "other"}, STRIPPED, {"orders", "returns"}),
        ("shop.*", "shop.*", {"shop.orders": "store.orders"}, SHOP, {"store.orders"}),
        ("shop.orders", "other", NAMES, SHOP, set()),
    ],
)
def test_what_denies_a_part_of_what_is_allowed_follows_whether_its_topics_are_selected_or_not(
    allowed, denied, names, mapping, follows
):
    source = [acl(f"ALLOW READ on TOPIC {allowed}", "User:*"), acl(f"DENY READ on TOPIC {denied}", EVIL)]
    its = {"names": names, "mapping": mapping, "acl_wildcards": True, "later": ["shop.secret.", "shop.later"]}
    found, notes = changes(source, **its)
    assert {text for text, _action in found if EVIL in text} == {
        f"DENY READ on TOPIC {each} for {EVIL}" for each in follows
    }
    assert not [note for note in notes if note.kind is NoteKind.ACL_LEFT_OUT]


def test_acls_on_everything_are_kept_only_when_asked_for():
    source = [acl("ALLOW READ on TOPIC *"), acl("ALLOW READ on GROUP *")]
    found, notes = changes(source)
    assert found == set()
    said = "ACLs on * are left out, because acl_wildcards is false: ALLOW READ on TOPIC * for User:billing."
    assert notes == (Note(NoteKind.ACL_LEFT_OUT, said),)
    assert added(["ALLOW READ on TOPIC *", "ALLOW READ on GROUP *"], acl_wildcards=True) == {"ALLOW READ on TOPIC *"}
    both = {"ALLOW READ on TOPIC *", "ALLOW READ on GROUP *"}
    assert added(both, acl_wildcards=True, acl_groups=(".*",)) == both


def test_groups_and_transactional_ids_are_those_that_patterns_match():
    source = ["ALLOW READ on GROUP billing", "ALLOW READ on GROUP bill*", "ALLOW WRITE on TRANSACTIONAL_ID tx"]
    assert added(source) == set()
    assert added(source, acl_groups=("billing",)) == {source[0]}
    assert added(source, acl_groups=("bill.*",), acl_transactional_ids=("t.",)) == set(source)
    assert added(source, which=Acls.MIRROR, acl_groups=(".*",), acl_transactional_ids=(".*",)) == set(source[:2])


def test_nobody_reads_a_group_s_settings_or_a_transactional_id():
    source = ["ALLOW ALL on GROUP billing", "ALLOW ALL on TRANSACTIONAL_ID tx"]
    assert added(source, which=Acls.MIRROR, acl_groups=(".*",), acl_transactional_ids=(".*",)) == {
        "ALLOW DESCRIBE on GROUP billing",
        "ALLOW READ on GROUP billing",
        "ALLOW DESCRIBE on TRANSACTIONAL_ID tx",
    }


def test_principals_are_renamed_with_their_type():
    rules = (Rule(pattern="User:(.*)", to=r"User:\1-prod"),)
    found, _notes = changes([acl("ALLOW READ on TOPIC shop.orders")], principal_rules=rules)
    assert found == {("ALLOW READ on TOPIC store.orders for User:billing-prod", "add")}
    for to in ("billing", "User:", ":billing"):
        with pytest.raises(InvalidInput, match=f"principal_map makes '{to}' of User:billing, which is no principal"):
            changes([acl("ALLOW READ on TOPIC shop.orders")], principal_rules=(Rule(name="User:billing", to=to),))


@pytest.mark.parametrize("principal", ["User:*", "User:ANONYMOUS"])
def test_a_pattern_renames_neither_everybody_nor_who_does_not_log_in(principal):
    source = [acl("DENY READ on TOPIC shop.orders", principal)]
    pattern = Rule(pattern="User:(.*)", to=r"User:\1-prod")
    assert changes(source, principal_rules=(pattern,))[0] == {
        (f"DENY READ on TOPIC store.orders for {principal}", "add")
    }
    named = (pattern, Rule(name=principal, to="User:all"))
    assert changes(source, principal_rules=named)[0] == {("DENY READ on TOPIC store.orders for User:all", "add")}


@pytest.mark.parametrize(
    ("source", "extra"),
    [
        (["ALLOW READ on TOPIC shop.orders"], acl("ALLOW WRITE on TOPIC store.orders")),
        ([], acl("ALLOW READ on TOPIC store.*", "User:fraud")),  # the source has revoked it
    ],
)
def test_what_only_the_destination_has_is_listed_or_removed(source, extra):
    others = ("ALLOW READ on TOPIC store.orders", "ALLOW WRITE on TOPIC elsewhere", "ALLOW WRITE on TOPIC elsew*")
    world = [acl(each) for each in source], [extra, *(acl(each) for each in others if source)]
    note = Note(NoteKind.ACL_DESTINATION_ONLY, f"Only the destination has these ACLs: {extra}.")
    assert changes(*world) == ({(str(extra), "extra")}, (note,))
    assert changes(*world, remove_acls=True) == ({(str(extra), "remove")}, ())


def test_an_acl_on_a_prefix_that_other_topics_need_stays():
    wide = acl("ALLOW READ on TOPIC st*")
    found, notes = changes([], [wide], others=("stock",), remove_acls=True)
    assert found == {("ALLOW READ on TOPIC st* for User:billing", "extra")}
    assert "and they stay, because they also cover what is not selected: ALLOW READ on TOPIC st*" in notes[0].text


@pytest.mark.parametrize("resource", ["TOPIC", "GROUP"])
def test_acls_on_everything_are_never_removed(resource):
    everything = {"acl_wildcards": True, "acl_groups": (".*",), "remove_acls": True}
    source = [acl(f"ALLOW DESCRIBE on {resource} *")]
    tool = acl(f"ALLOW READ on {resource} *", "User:mirror-maker")
    found, (note,) = changes(source, [*source, tool], **everything)
    assert found == {(str(tool), "extra")}
    assert note.kind is NoteKind.ACL_DESTINATION_ONLY and "they also cover what is not selected" in note.text


def test_the_last_acl_of_an_open_cluster_stays_because_everybody_would_get_in():
    last = acl("ALLOW READ on TOPIC store.orders")
    found, (note,) = changes([], [last], remove_acls=True, is_open=True)
    assert found == {(str(last), "extra")}
    assert note.kind is NoteKind.ACL_DESTINATION_ONLY and "allow.everyone.if.no.acl.found" in note.text
    assert changes([], [last], remove_acls=True) == ({(str(last), "remove")}, ())
    both = [last, acl("ALLOW READ on TOPIC store.orders", "User:fraud")]
    assert {action for _acl, action in changes([], both, remove_acls=True, is_open=True)[0]} == {"extra"}
    replaced = changes([acl("ALLOW READ on TOPIC shop.orders", "User:new")], [last], remove_acls=True, is_open=True)
    assert (str(last), "remove") in replaced[0] and replaced[1] == ()
    beneath = [last, acl("ALLOW READ on TOPIC st*")]
    assert (str(last), "remove") in changes([], beneath, remove_acls=True, is_open=True, others=["stock"])[0]


def test_a_prefix_that_also_covers_topics_of_the_destination_alone_is_noted_once():
    source = [acl("ALLOW WRITE on TOPIC shop.*")]
    found, (note,) = changes(source, others=["store.local"])
    assert found == {("ALLOW WRITE on TOPIC store.* for User:billing", "add")}
    assert note == Note(
        NoteKind.ACL_COVERS_MORE,
        "These ACLs also cover topics that only the destination has: ALLOW WRITE on TOPIC store.* for User:billing.",
    )
    assert changes(source, [acl("ALLOW WRITE on TOPIC store.*")], others=["store.local"]) == (set(), ())
    assert changes(source, others=["elsewhere"])[1] == ()


def test_acls_on_topics_that_do_not_exist_yet_are_noted():
    source = [acl("ALLOW WRITE on TOPIC shop.dlq.*"), acl("DENY READ on TOPIC shop.later")]
    found, (note,) = changes(source, later=["shop.dlq.", "shop.later"])
    assert found == set()
    assert note == Note(
        NoteKind.ACL_LEFT_OUT,
        "ACLs are left out, because the source has no topic yet that they are about: "
        "ALLOW WRITE on TOPIC shop.dlq.* for User:billing, DENY READ on TOPIC shop.later for User:billing.",
    )
    mirrored = changes(source, which=Acls.MIRROR, later=["shop.dlq.", "shop.later"])[1]
    assert "shop.later" in mirrored[0].text and "shop.dlq" not in mirrored[0].text
    granted = [acl("ALLOW WRITE on TOPIC store.dlq.*"), acl("DENY READ on TOPIC store.later")]
    assert changes(source, granted, later=["shop.dlq.", "shop.later"]) == (set(), ())
    assert changes([acl("ALLOW WRITE on TOPIC shop.or*")], later=["shop.or"])[1] == ()
    assert changes(source) == (set(), ())


def test_what_mirror_has_made_of_an_acl_on_all_is_no_extra_after_the_cut_over():
    source = [acl("ALLOW ALL on TOPIC shop.orders"), acl("DENY ALL on TOPIC shop.returns")]
    mirrored = [acl(f"ALLOW {each} on TOPIC store.orders") for each in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")]
    mirrored.append(acl("DENY READ on TOPIC store.returns"))
    assert changes(source, mirrored, which=Acls.MIRROR, remove_acls=True) == (set(), ())
    assert changes(source, mirrored, remove_acls=True) == (
        {
            ("ALLOW ALL on TOPIC store.orders for User:billing", "add"),
            ("DENY ALL on TOPIC store.returns for User:billing", "add"),
        },
        (),
    )


def test_what_cutover_has_given_is_no_extra_for_mirror():
    source = [acl(f"{each} on TOPIC shop.orders") for each in ("ALLOW WRITE", "ALLOW ALL", "DENY WRITE")]
    given = [each._replace(name="store.orders") for each in source]
    mirrored = [acl(f"ALLOW {each} on TOPIC store.orders") for each in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")]
    for remove_acls in (False, True):
        found = changes(source, [*given, *mirrored], which=Acls.MIRROR, remove_acls=remove_acls)
        assert found == (set(), ())


@pytest.mark.parametrize(
    ("allowed", "denied", "follows"),
    [
        pytest.param("TOPIC shop.orders", "TOPIC *", {"TOPIC store.orders"}, id="all topics"),
        pytest.param("TOPIC shop.*", "TOPIC *", {"TOPIC store.*"}, id="all topics, and a prefix"),
        pytest.param("GROUP bill*", "GROUP *", {"GROUP bill*"}, id="all groups, and a prefix"),
        pytest.param("TRANSACTIONAL_ID bill", "TRANSACTIONAL_ID *", {"TRANSACTIONAL_ID bill"}, id="transactional ids"),
        pytest.param("GROUP bill", "GROUP bi*", {"GROUP bill"}, id="a prefix that no pattern matches"),
        pytest.param("GROUP bill*", "GROUP bill-2", {"GROUP bill-2"}, id="a part of what is copied"),
        pytest.param("GROUP bill", "GROUP other", set(), id="something else"),
    ],
)
def test_what_overrides_a_copied_acl_is_copied_as_far_as_it_concerns_the_copies(allowed, denied, follows):
    source = [acl(f"ALLOW READ on {allowed}", "User:*"), acl(f"DENY READ on {denied}", EVIL)]
    patterns = {"acl_groups": ("bill",), "acl_transactional_ids": ("bill",)}
    found, notes = changes(source, **patterns)
    assert {text for text, _action in found if EVIL in text} == {f"DENY READ on {each} for {EVIL}" for each in follows}
    assert [note.kind for note in notes] == [NoteKind.ACL_SPLIT] * bool(follows - {denied})


def test_an_acl_on_everything_that_denies_something_is_left_out_if_nothing_is_copied_that_it_overrides():
    (note,) = changes([acl("DENY READ on GROUP *")], acl_groups=("bill",))[1]
    assert note.kind is NoteKind.ACL_LEFT_OUT
    assert changes([acl("DENY READ on GROUP *")]) == (set(), ())
    waits = [acl("ALLOW WRITE on TOPIC shop.orders", "User:*"), acl("DENY WRITE on TOPIC *", EVIL)]
    found, notes = changes(waits, which=Acls.MIRROR)
    assert found == set() and [note.kind for note in notes] == [NoteKind.ACL_LEFT_OUT]
    assert f"DENY WRITE on TOPIC store.orders for {EVIL}" in {text for text, _action in changes(waits)[0]}


@pytest.mark.parametrize(
    "denied",
    [
        acl("DENY ALTER_CONFIGS on TOPIC *", "User:*"),  # nobody is allowed that
        acl("DENY READ on TOPIC *", EVIL),  # who is allowed nothing
    ],
)
def test_what_overrides_no_copied_acl_is_denied_on_no_topic(denied):
    found, notes = changes([acl("ALLOW READ on TOPIC shop.orders"), denied])
    assert {action for _text, action in found} == {"add"} and len(found) == 1
    assert [note.kind for note in notes] == [NoteKind.ACL_LEFT_OUT]


def test_what_is_denied_by_a_wider_acl_there_is_not_denied_once_more():
    source = [acl("ALLOW READ on TOPIC shop.orders", "User:*"), acl("DENY READ on TOPIC *", EVIL)]
    there = [acl("ALLOW READ on TOPIC store.orders", "User:*"), acl("DENY READ on TOPIC *", EVIL)]
    assert changes(source, there)[0] == set()


def test_a_group_that_is_only_denied_is_not_selected():
    """So what the destination allows on it is nobody's to remove."""
    source = [
        acl("ALLOW READ on GROUP bill*", EVIL),
        acl("DENY READ on GROUP bill-2", EVIL),
        acl("ALLOW READ on GROUP bill-2"),
    ]
    found, _notes = changes(source, [acl("ALLOW READ on GROUP bill-2")], acl_groups=("bill",), remove_acls=True)
    assert {action for _text, action in found} == {"add"}


@pytest.mark.parametrize("is_open", [False, True])
def test_what_denies_something_is_never_removed_because_that_opens_access(is_open):
    fence, last = acl("DENY WRITE on TOPIC store.orders", "User:*"), acl("ALLOW READ on TOPIC store.orders")
    found, (note,) = changes([], [fence, last], remove_acls=True, is_open=is_open)
    assert found == {(str(fence), "extra"), (str(last), "remove")}
    said = f"Only the destination has these ACLs, and they stay, because without them somebody gets access: {fence}."
    assert note == Note(NoteKind.ACL_DESTINATION_ONLY, said)


def test_an_acl_covers_a_topic_of_its_name_or_with_its_prefix():
    names = ["".join(word) for length in (1, 2, 3) for word in itertools.product("a.b", repeat=length)]
    for topics in itertools.combinations(["a", "ab", "a.b", "b.a", "bb"], 3):
        covers = covering(topics)
        for name in names:
            assert covers(acl(f"ALLOW READ on TOPIC {name}")) == (name in topics)
            assert covers(acl(f"ALLOW READ on TOPIC {name}*")) == any(topic.startswith(name) for topic in topics)
        assert not covers(acl("ALLOW READ on GROUP a")) and not covers(acl("ALLOW READ on TOPIC *"))
