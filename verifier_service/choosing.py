"""Which profile judges an item, under which rules: item over request over data source over default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from typing import Any

from verifier_service.engine import engine_fingerprint
from verifier_service.rewards.profile import (
    BUILT_IN,
    Profile,
    patched_rules,
    profile_from_spec,
    profile_named,
)
from verifier_service.schema import Item, ProfileSpec, RulesPatch

Named = str | ProfileSpec
# Inline profiles and patches come from outside: what is remembered of them is bounded.
MOST_REMEMBERED = 1024
KEY_BYTES = 16
HASH_BYTES = 8
INLINE = "inline"  # name of a profile that a request brings along


@dataclass(frozen=True, slots=True)
class Chosen:
    """A profile with the rules that hold, and the beginning of the key of every item under it."""

    profile: Profile
    hash: str  # of the profile with these rules: the profile's own where nothing was changed
    has_own_rewards: bool
    digest: Any  # blake2b object, to be copied


class Chooser:
    """Knows the profiles by name and remembers what it has put together."""

    def __init__(
        self, profiles: Mapping[str, Profile], default: str, data_sources: Mapping[str, str]
    ) -> None:
        self._profiles = profiles
        self._default = default
        self._data_sources = data_sources
        self._remembered: dict[tuple[str | None, ...], Chosen] = {}
        for name in (default, *data_sources.values()):
            profile_named(profiles, name)

    def for_request(self, profile: Named | None, rules: RulesPatch | None) -> Chosen:
        """What holds for items that say nothing themselves. Raises UnknownProfile or ProfileError."""
        return self._chosen(self._default if profile is None else profile, rules, None)

    def for_item(
        self, item: Item, request: Chosen, profile: Named | None, rules: RulesPatch | None
    ) -> Chosen:
        """What holds for this item of the request, which was made with this profile and these rules."""
        named = item.profile if item.profile is not None else profile
        if named is None and item.data_source is not None:
            named = self._data_sources.get(item.data_source)
        if named is profile and item.rules is None:
            return request
        return self._chosen(self._default if named is None else named, rules, item.rules)

    def _chosen(self, named: Named, *patches: RulesPatch | None) -> Chosen:
        key = (
            named if isinstance(named, str) else named.model_dump_json(),
            *(None if patch is None else patch.model_dump_json(exclude_none=True) for patch in patches),
        )
        chosen = self._remembered.get(key)
        if chosen is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            chosen = self._remembered[key] = self._made(named, patches)
        return chosen

    def _made(self, named: Named, patches: Iterable[RulesPatch | None]) -> Chosen:
        if isinstance(named, str):
            profile = profile_named(self._profiles, named)
        else:
            profile = profile_from_spec(INLINE, named)
        rules = reduce(patched_rules, patches, profile.rules)
        digest = blake2b(f"{engine_fingerprint()} {profile.hash} {rules!r}".encode(), digest_size=KEY_BYTES)
        own = any(reward.name not in BUILT_IN for reward in profile.rewards)
        if rules == profile.rules:
            return Chosen(profile, profile.hash, own, digest)
        changed = blake2b(f"{profile.hash} {rules!r}".encode(), digest_size=HASH_BYTES).hexdigest()
        return Chosen(replace(profile, rules=rules), changed, own, digest)
