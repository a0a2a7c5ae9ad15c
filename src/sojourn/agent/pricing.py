"""What each answer cost in US dollars, where the prices are known (M-5)."""

import asyncio

from sojourn.base import Usage
from sojourn.config import Settings
from sojourn.meter import Prices, price, relative_prices
from sojourn.wire import Traits


async def prices_for(traits: Traits, settings: Settings) -> Prices | None:
    """What a session begins with: only economic windows are computed from prices before an answer has come (C-18)."""
    return await Pricing(traits).known() if settings.compaction.policy != "full" else None


class Pricing:
    """Of one model. The price table is large: it is loaded beside the first answer, and only for a provider that sells."""

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self._loading: asyncio.Task[float | None] | None = None
        self.relative: Prices | None = None
        """What a token costs in units of one fresh input token, once the table is loaded (C-18); None = unknown."""

    def begin(self) -> None:
        """Loads the table in a thread; called when the first request leaves."""
        if self._traits.provider and self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))

    async def known(self) -> Prices | None:
        """``relative``, waited for."""
        self.begin()
        if self._loading is not None:
            await asyncio.shield(self._loading)
        return self.relative

    async def loaded(self, usage: Usage) -> float | None:
        """The same, for a call that nobody began for: the table is loaded now."""
        self.begin()
        return await self.of(usage)

    async def of(self, usage: Usage) -> float | None:
        """None = unknown."""
        if self._loading is None or await asyncio.shield(self._loading) is None:
            return None
        return self._price(usage)

    def _load(self) -> float | None:
        self.relative = relative_prices(self._traits.name, self._traits.provider)
        return self._price(Usage())

    def _price(self, usage: Usage) -> float | None:
        return price(self._traits.name, usage, self._traits.provider)
