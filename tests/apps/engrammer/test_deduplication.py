from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apps.engrammer.pairs import PAIRS
from tests.tiers import examples

from ringi.testing.clock import NOON
from ringi_apps.engrammer.deduplication import MAX_GRAM_COUNT, RARE_GRAM_TEXTS, THRESHOLD, Pair, find_close_pairs
from ringi_apps.engrammer.entries import Bullet, Content, format_bullet_id
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.similarity import find_similar

WORDS = st.sampled_from(
    ["clamp", "glue", "sand", "not", "12", "木工", "膠を", "塗る", "打磨", "aaaaa" * MAX_GRAM_COUNT]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


def book(texts: list[str], apart: tuple[tuple[int, int], ...] = ()) -> Playbook:
    ids = [format_bullet_id(at) for at in range(1, len(texts) + 1)]
    bullets = {
        id: Bullet(id=id, content=Content(section="others", text=text), created=2, changed=2, created_at=NOON)
        for id, text in zip(ids, texts, strict=True)
    }
    hashes = [each.hash for each in bullets.values()]
    pairs = [sorted((hashes[one % len(hashes)], hashes[other % len(hashes)])) for one, other in apart]
    return Playbook(bullets=bullets, apart=tuple((one, other) for one, other in pairs))


def plainly(playbook: Playbook) -> Iterator[Pair]:
    """Compare each bullet with all that come later, one after the other."""
    taken, bullets = set[str](), playbook.active
    for position, older in enumerate(bullets):
        rest = [each for each in bullets[position + 1 :] if not playbook.is_kept_apart(older, each)]
        for found in find_similar(older.content.text, rest, at_least=THRESHOLD):
            if not taken & {older.id, found.bullet}:
                taken |= {older.id, found.bullet}
                yield older, playbook.bullets[found.bullet], tuple(found.flags)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(TEXTS, min_size=1, max_size=2 * RARE_GRAM_TEXTS),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5).map(tuple),
)
def test_the_pairs_are_those_that_comparing_each_bullet_with_all_finds(
    texts: list[str], apart: tuple[tuple[int, int], ...]
) -> None:
    playbook = book(texts, apart)

    assert list(find_close_pairs(playbook)) == list(plainly(playbook))


def test_the_pairs_of_three_languages_are_found_as_well_in_one_large_book() -> None:
    playbook = book([text for pair in PAIRS for text in (pair.one, pair.other)])

    found = list(find_close_pairs(playbook))

    assert len(found) > RARE_GRAM_TEXTS
    assert found == list(plainly(playbook))
