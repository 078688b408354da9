"""Settings that every test runs under."""

import signal

import freezegun
from hypothesis import settings

# The client's models are built on first use, which fails while `datetime` is replaced by a fake.
freezegun.configure(extend_ignore_list=["kubernetes"])

# Who is started in the background ignores these, and so would all programs that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A busy machine is not a failing test. Where CI is set, Hypothesis also draws the same examples
# in every run.
settings.register_profile("muster", parent=settings.default, deadline=None)
settings.load_profile("muster")
