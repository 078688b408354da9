"""What is said of paths where the sandbox has nothing and a real server has something."""

import pytest

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.http.documents import Documents
from muster.queue.sandbox.kinds.builtin import builtin_resources


@pytest.mark.parametrize(
    "method, path, code",
    [
        ("POST", "api/v1/namespaces/default/resourcequotas", 501),
        ("POST", "api/v1/namespaces/default/services", 501),
        ("POST", "apis/batch/v1/namespaces/default/cronjobs", 501),
        ("DELETE", "api/v1/persistentvolumes/x", 501),
        ("GET", "apis/apps/v1/deployments", 501),
        ("POST", "apis/apps/v1/namespaces/default/deployments", 501),
        # `kubectl describe namespace` asks for quotas, and goes on when there are none.
        ("GET", "api/v1/namespaces/default/resourcequotas", 404),
        ("GET", "api/v1/nothings", 404),
        ("POST", "apis/batch/v1/namespaces/default/nothings", 404),
        ("GET", "apis/nobody.example.com/v1/things", None),
    ],
)
def test_what_is_left_out_is_refused_in_words(method: str, path: str, code: int | None) -> None:
    refusal = Documents(Catalogue(builtin_resources())).refusal_of(method, path.split("/"))

    assert (refusal.code if refusal else None) == code
    if refusal and code == 501:
        assert refusal.message.startswith("the sandbox doesn't serve ")
