"""Imports three users with the client that openapi-python-client made of `/openapi.json`, and signs one of them in.

Arguments: address, token and a hash of the password `password`. Prints what the service answered.
"""

import json
import sys
import time

from muster_client import AuthenticatedClient
from muster_client.api.imports import get_import, import_users, list_import_items
from muster_client.api.organizations import create_org
from muster_client.api.sessions import create_session
from muster_client.models import CreateOrgBody, CreateSessionBody, ImportBody, ImportState

url, token, hashed = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)


def must(response):
    """The parsed body of an answer."""
    if response.status_code >= 300:
        raise SystemExit(f"{response.status_code}: {response.content.decode()}")
    return response.parsed


def person(name, email):
    return {
        "userName": name,
        "profile": {"firstName": name, "lastName": "Python", "gender": "GENDER_UNSPECIFIED"},
        "email": {"email": email, "isEmailVerified": True},
        "hashedPassword": {"value": hashed},
        "requestPasswordlessRegistration": False,
    }


def ended(import_id):
    while True:
        result = must(get_import.sync_detailed(import_id, client=client))
        if result.state != ImportState.IMPORT_STATE_RUNNING:
            return result
        time.sleep(0.1)


org_id = must(create_org.sync_detailed(client=client, body=CreateOrgBody(name="Python"))).id
users = [
    {"userId": "py1", "user": person("py-ann", "ann@py.example")},
    {"userId": "py2", "state": "USER_STATE_INACTIVE", "user": person("py-bob", "bob@py.example")},
    {"userId": "py3", "user": person("py-cleo", "no address")},
]
body = {"timeout": "10m0s", "dataOrgs": {"orgs": [{"orgId": org_id, "humanUsers": users}]}}
accepted = must(import_users.sync_detailed(client=client, body=ImportBody.from_dict(body)))
result = ended(accepted.import_id)
items = must(list_import_items.sync_detailed(accepted.import_id, client=client)).items
login = {"checks": {"user": {"loginName": "py-ann"}, "password": {"password": "password"}}}
session = must(create_session.sync_detailed(client=client, body=CreateSessionBody.from_dict(login)))
print(
    json.dumps(
        {
            "state": result.state,
            "counts": result.counts.to_dict(),
            "eta": result.eta,
            "errors": [error.id for error in result.errors],
            "items": [[item.user_id, item.state, item.error.code if item.error else None] for item in items],
            "signedIn": bool(session.session_token),
        }
    )
)
