"""ACLs and principals, as users and files give them."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import check_principal
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput


@pytest.mark.parametrize("text", ["User:billing", "User:*", "User:CN=a,O=b c", "RegistryUser:x", "User:a:b"])
def test_a_principal_has_a_type_and_a_name(text):
    check_principal(text, text)


@pytest.mark.parametrize(
    "text", ["billing", "User:", ":billing", "user:billing", "USER:*", "User: billing", " User:a", "User:a ", "User :a"]
)
def test_what_kafka_would_take_for_somebody_else_is_no_principal(text):
    with pytest.raises(InvalidInput, match=r"is no principal\. Give it with its type, such as User:billing\.$"):
        check_principal(text, text)


def test_a_part_of_a_principal_that_ansible_has_split_is_told():
    with pytest.raises(
        InvalidInput, match="Ansible splits a text at commas, so give a principal with a comma in a list"
    ):
        check_principal("O=b", "O=b")
