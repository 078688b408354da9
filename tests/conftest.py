"""Settings that every test runs under."""

import freezegun
from hypothesis import settings

# The client's models are built on first use, which fails while `datetime` is replaced by a fake.
freezegun.configure(extend_ignore_list=["kubernetes"])

# A busy machine is not a failing test. Where CI is set, Hypothesis also draws the same examples
# in every run.
settings.register_profile("muster", parent=settings.default, deadline=None)
settings.load_profile("muster")
