"""Replaces generated values by existing ones: URLs, model names, ids, signatures.

A generated URL names no existing host. A well-formed one is replaced by a URL of a small file server that the runner starts,
so that a valid body is really accepted (and charged, in live mode) and no request goes to foreign hosts. Invalid bodies stay
invalid: only the URL is replaced.

In the console the fuzzer's calls could end its own sessions. So calls that end a session get a session of their own,
passwords are changed to the same password, and calls that change how a person signs in, or close an account, get a new
person. Some ids of keys, jobs and deliveries are replaced by real ones.

Signatures and the ids of deleted jobs and of uploads cannot be generated: some well-formed links and ids are replaced by real
ones, and most idempotency keys by new ones.
"""

import base64
import collections
import hmac
import itertools
import json
import os
import re
import struct
import threading
import time
import urllib.parse
import uuid
import zlib

import requests
import schemathesis

VIDEO = os.environ["REELMEND_CONTRACT_VIDEO"]
WEBHOOK = os.environ["REELMEND_CONTRACT_WEBHOOK"]
LINK = json.loads(os.environ["REELMEND_CONTRACT_LINK"])
DELETED = os.environ["REELMEND_CONTRACT_DELETED"]
UPLOAD = os.environ["REELMEND_CONTRACT_UPLOAD"]
SERVICE = json.loads(os.environ["REELMEND_CONTRACT_SERVICE"])
UPLOADER = json.loads(os.environ["REELMEND_CONTRACT_UPLOADER"])
LIVE = os.environ["REELMEND_CONTRACT_MODE"] == "live"

CONSOLE = json.loads(os.environ["REELMEND_CONTRACT_CONSOLE"])
OURS = CONSOLE.get("headers", {})
NEWCOMERS = iter(CONSOLE.get("newcomers", []))

KEYS = itertools.count()
TURNS = itertools.count()

URL_PATTERN = re.compile(os.environ["REELMEND_CONTRACT_URL_PATTERN"])
UPLOAD_ID = re.compile(r"^upl_[0-9a-hjkmnp-tv-z]{26}$")
MODEL = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")


def is_url(value):
    return isinstance(value, str) and 8 <= len(value) <= 2048 and URL_PATTERN.fullmatch(value) is not None


def is_number(value):
    """6e15 is an integer for JSON Schema, too, and a float for Python."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def use_signed_link(case):
    """Replaces every other well-formed link by a signed one: a signature cannot be guessed."""
    query = case.query or {}
    if not is_positive(case) or zlib.crc32(str(query.get("signature")).encode()) % 2:
        return
    case.path_parameters = {"key": LINK["key"]}
    case.query = dict(LINK["query"])


def use_days_in_order(case):
    """Any two days are well-formed, and those in the wrong order or too far apart are rightly refused (400): tests of the API see to that."""
    query = case.query or {}
    if is_positive(case) and "from" in query:
        query["to"] = query["from"]


def use_deleted_job(case):
    """Replaces every other well-formed id by that of a job with a certificate."""
    job = (case.path_parameters or {}).get("id")
    if DELETED and is_positive(case) and zlib.crc32(str(job).encode()) % 2:
        case.path_parameters = {"id": DELETED}


def use_own_idempotency_key(case):
    """Replaces three of four well-formed keys by new ones: few repeated keys would mostly come with another body (409)."""
    key = (case.headers or {}).get("Idempotency-Key")
    if is_positive(case) and isinstance(key, str) and len(key) < 200 and next(KEYS) % 4:
        case.headers["Idempotency-Key"] = f"{key}.{uuid.uuid4().hex}"


def new_upload(size):
    """An upload that waits for one part, of an account without others: generated sizes soon use up our account's quota."""
    body = {"file_name": "fuzz.mp4", "size_bytes": size}
    response = requests.post(SERVICE["url"] + "/v1/uploads", json=body, headers=UPLOADER, timeout=30)
    response.raise_for_status()
    return response.json()


def use_part_url(case):
    """Sends every other well-formed part to a URL that the service has signed for its size."""
    # A body that is replaced would no longer count as well-formed.
    size = len(getattr(case.body, "data", b""))
    if not is_positive(case) or size == 0 or next(TURNS) % 2:
        return
    url = urllib.parse.urlsplit(new_upload(size)["parts"][0]["url"])
    case.path_parameters = {"key": url.path.removeprefix("/v1/upload-parts/")}
    case.query = dict(urllib.parse.parse_qsl(url.query))


def use_sent_upload(case):
    """Gives every other well-formed completion an upload whose parts have arrived."""
    headers = case.headers or {}
    if not is_positive(case) or headers.get("Authorization") != SERVICE["headers"].get("Authorization") or next(TURNS) % 2:
        return
    upload = new_upload(5)
    requests.put(upload["parts"][0]["url"], data=b"video", timeout=30).raise_for_status()
    case.headers.update(UPLOADER)
    case.path_parameters = {"id": upload["id"]}


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode == schemathesis.GenerationMode.POSITIVE


def console(method, path, body=None, headers=OURS):
    """Sends a request. Fails unless it succeeds."""
    response = requests.request(method, CONSOLE["url"] + "/console/api" + path, json=body, headers=headers, timeout=30)
    response.raise_for_status()
    return response


def new_session():
    """Headers and id of a new session of our person."""
    credentials = {"email": CONSOLE["email"], "password": CONSOLE["password"]}
    response = console("POST", "/sign-in", credentials, {})
    cookie = response.headers["Set-Cookie"].split(";")[0]
    return {"Cookie": cookie, "X-CSRF-Token": response.json()["csrf_token"]}, response.json()["id"]


def newcomer():
    """A new person, admin of a new account whose name is the email."""
    email = next(NEWCOMERS, None)
    if email is None:
        email = uuid.uuid4().hex + "@example.com"
        console("POST", "/sign-up", {"email": email, "password": CONSOLE["password"]}, {})
    credentials = {"email": email, "password": CONSOLE["password"]}
    response = console("POST", "/sign-in", credentials, {})
    session = response.json()
    headers = {"Cookie": response.headers["Set-Cookie"].split(";")[0], "X-CSRF-Token": session["csrf_token"]}
    return {"email": email, "headers": headers, "user": session["user"]["id"], "account": session["account"]["id"]}


def totp(secret):
    """RFC 6238 with 6 digits."""
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30), "sha1").digest()
    start = digest[19] & 15
    return "%06d" % ((struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF) % 1_000_000)


def new_enrolment():
    """A new person whose second factor waits for its first code."""
    person = newcomer()
    secret = console("POST", "/two-factor", {"password": CONSOLE["password"]}, person["headers"]).json()["secret"]
    return {**person, "code": totp(secret)}


def new_two_factor():
    """A new person with a second factor, and a recovery code."""
    person = new_enrolment()
    codes = console("POST", "/two-factor/confirmation", {"code": person["code"]}, person["headers"]).json()
    return {**person, "code": codes["recovery_codes"][0]}


def password_link():
    """The token of a link for a new person."""
    link = console("POST", "/operator/people/" + newcomer()["user"] + "/password-link").json()
    return link["url"].split("#")[1]


def new_invitation():
    """An invitation to our account, and its token."""
    # The fuzzer's own would soon reach the limit.
    for path in ("/invitations", "/people"):
        for each in console("GET", path + "?limit=100").json()["data"][10:]:
            requests.delete(CONSOLE["url"] + "/console/api" + path + "/" + each["id"], headers=OURS, timeout=30)
    made = console("POST", "/invitations", {"email": uuid.uuid4().hex + "@example.com", "role": "member"}).json()
    return {**made["invitation"], "token": made["url"].split("#")[1]}


def new_member():
    """The id of a person who has joined our account."""
    token = new_invitation()["token"]
    console("POST", "/invitation-acceptance", {"token": token, "password": CONSOLE["password"]}, {})
    return console("GET", "/people").json()["data"][0]["id"]


def new_key():
    # The fuzzer's own would soon reach the limit.
    live = [key["id"] for key in console("GET", "/keys?limit=100").json()["data"] if key["state"] in ("active", "expiring")]
    for key in live[10:]:
        requests.delete(CONSOLE["url"] + "/console/api/keys/" + key, headers=OURS, timeout=30)
    return console("POST", "/keys", {"mode": "test", "tier": "standard"}).json()["key"]["id"]


def new_job():
    body = {"mode": "test", "request": {"video_url": VIDEO, "resolution": "1080p"}}
    return console("POST", "/jobs", body).json()["id"]


def new_preview():
    body = {"mode": "test", "request": {"video_url": VIDEO, "settings": [{"resolution": "1080p"}]}}
    return console("POST", "/previews", body).json()["id"]


def use_own_preview(case):
    """Replaces every other well-formed id of a preview by that of a new one."""
    headers = case.headers or {}
    if not is_positive(case) or headers.get("Authorization") != SERVICE["headers"].get("Authorization") or next(TURNS) % 2:
        return
    body = {"video_url": VIDEO, "settings": [{"resolution": "1080p"}]}
    response = requests.post(SERVICE["url"] + "/v1/previews", json=body, headers=SERVICE["headers"], timeout=30)
    response.raise_for_status()
    case.path_parameters = {"id": response.json()["id"]}


def new_endpoint():
    body = {"mode": "test", "request": {"url": WEBHOOK}}
    # The fuzzer's own would soon reach the limit of ten.
    for endpoint in console("GET", "/webhook-endpoints").json()["data"][4:]:
        requests.delete(CONSOLE["url"] + "/console/api/webhook-endpoints/" + endpoint["id"], headers=OURS, timeout=30)
    return console("POST", "/webhook-endpoints", body).json()["endpoint"]["id"]


def use_own_endpoint(case):
    """Replaces every other well-formed id of a webhook endpoint by that of a new one."""
    headers = case.headers or {}
    if not is_positive(case) or headers.get("Authorization") != SERVICE["headers"].get("Authorization") or next(TURNS) % 2:
        return
    url = SERVICE["url"] + "/v1/webhook-endpoints"
    for endpoint in requests.get(url, headers=SERVICE["headers"], timeout=30).json()["data"][4:]:
        requests.delete(url + "/" + endpoint["id"], headers=SERVICE["headers"], timeout=30)
    response = requests.post(url, json={"url": WEBHOOK}, headers=SERVICE["headers"], timeout=30)
    response.raise_for_status()
    case.path_parameters = {"id": response.json()["endpoint"]["id"]}


def use_console_upload(case):
    """An upload of a new person whose part has arrived: generated sizes soon use up the quota of our account."""
    person = newcomer()
    body = {"mode": "test", "request": {"file_name": "fuzz.mp4", "size_bytes": 5}}
    upload = console("POST", "/uploads", body, person["headers"]).json()
    requests.put(upload["parts"][0]["url"], data=b"video", timeout=30).raise_for_status()
    case.headers.update(person["headers"])
    case.path_parameters = {"id": upload["id"]}


# The first well-formed call of each operation gets a real id or token, then every other one: few calls of an operation are well-formed.
OPERATION_TURNS = collections.defaultdict(itertools.count)
REAL_IDS = {
    "consoleUpdateWebhookEndpoint": new_endpoint,
    "consoleDeleteWebhookEndpoint": new_endpoint,
    "consoleRotateWebhookEndpointSecret": new_endpoint,
    "consoleSwitchWebhookEndpointSecret": new_endpoint,
    "consoleTestWebhookEndpoint": new_endpoint,
    "consoleEndSession": lambda: new_session()[1],
    "consoleRenameKey": new_key,
    "consoleRevokeKey": new_key,
    "consoleRotateKey": new_key,
    "consoleGetJob": new_job,
    "consoleDeleteJob": new_job,
    "consoleGetJobLinks": new_job,
    "consoleGetPreview": new_preview,
    "consoleDeletePreview": new_preview,
    "consoleGetDelivery": lambda: CONSOLE["delivery"],
    "consoleResendDelivery": lambda: CONSOLE["delivery"],
    "operatorDecide": lambda: CONSOLE["account"],
    "operatorGrant": lambda: CONSOLE["account"],
    "operatorSetPlan": lambda: CONSOLE["account"],
    "operatorSetQuotas": lambda: newcomer()["account"],
    "operatorCreatePasswordLink": lambda: newcomer()["user"],
    "operatorChangeRole": new_member,
    "operatorRemovePerson": new_member,
    "operatorResetTwoFactor": lambda: new_two_factor()["user"],
    "consoleChangeRole": new_member,
    "consoleRemovePerson": new_member,
    "consoleRevokeInvitation": lambda: new_invitation()["id"],
}


UPLOAD_CALLS = {"consoleGetUpload", "consoleCompleteUpload", "consoleDeleteUpload"}
NEW_UPLOADS = {"createUpload", "consoleCreateUpload"}
LARGEST_UPLOAD = 1_000_000_000
CREATIONS = {"createJob", "consoleCreateJob", "createPreview", "consoleCreatePreview"}
ENDPOINT_CALLS = {
    "getWebhookEndpoint",
    "updateWebhookEndpoint",
    "deleteWebhookEndpoint",
    "rotateWebhookEndpointSecret",
    "switchWebhookEndpointSecret",
    "testWebhookEndpoint",
}
URL_OF_ITS_OWN = {"consoleTestWebhook", "createWebhookEndpoint", "updateWebhookEndpoint", "consoleUpdateWebhookEndpoint"}


# Who calls them well-formed is always somebody new, with what is right.
TWO_FACTOR = {
    "consoleBeginTwoFactor": newcomer,
    "consoleConfirmTwoFactor": new_enrolment,
    "consoleReplaceRecoveryCodes": new_two_factor,
    "consoleDisableTwoFactor": new_two_factor,
}
LINKS = {
    "consoleUsePasswordLink": password_link,
    "consoleGetInvitation": lambda: new_invitation()["token"],
    "consoleAcceptInvitation": lambda: new_invitation()["token"],
}


def prepare_people(operation, case):
    """Calls that would change how the people under test sign in, or that succeed with one token or amount only."""
    body = case.body if isinstance(case.body, dict) else {}
    if operation in LINKS and next(OPERATION_TURNS[operation]) % 2 == 0:
        body["token"] = LINKS[operation]()
    if not as_ours(case):
        return
    if operation in TWO_FACTOR:
        person = TWO_FACTOR[operation]()
        case.headers.update(person["headers"])
        proof = {"password": CONSOLE["password"], "code": person.get("code")}
        body.update({name: value for name, value in proof.items() if name in body})
    # Whoever is no admin any more would be refused from then on.
    ours = console("GET", "/session").json()["user"]["id"] if operation == "consoleChangeRole" else None
    if ours is not None and (case.path_parameters or {}).get("id") == ours:
        case.path_parameters = {"id": new_member()}
    if operation == "consoleInvite":
        new_invitation()
    if operation == "operatorWithdraw":
        console("POST", "/operator/accounts/" + CONSOLE["account"] + "/grants", {"credits": 1})
        case.path_parameters = {"id": CONSOLE["account"]}
        body["credits"] = 1
    if operation == "operatorCloseAccount":
        person = newcomer()
        case.path_parameters = {"id": person["account"]}
        body["name"] = person["email"]


def as_ours(case):
    return bool(OURS) and (case.headers or {}).get("Cookie") == OURS["Cookie"]


def prepare_console(operation, case):
    turn = next(TURNS) % 2
    if operation == "consoleStreamJobs":
        # The stream tells of what happens from now on.
        threading.Timer(0.3, new_job).start()
    # The fuzzer learns ids from what it reads, that of the session under test as well.
    if operation == "consoleEndSession" and (case.path_parameters or {}).get("id") == CONSOLE["session"]:
        case.path_parameters = {"id": new_session()[1]}
    if not is_positive(case):
        # What would end the session under test is tried by well-formed calls only.
        if operation == "consoleSignOut" and as_ours(case):
            case.headers.update(new_session()[0])
        return
    if operation in REAL_IDS and as_ours(case) and next(OPERATION_TURNS[operation]) % 2 == 0:
        case.path_parameters = {"id": REAL_IDS[operation]()}
    if operation in UPLOAD_CALLS and as_ours(case) and turn:
        use_console_upload(case)
    prepare_people(operation, case)
    if operation == "consoleSignOut" and as_ours(case):
        case.headers.update(new_session()[0])
    if operation == "consoleSignIn" and turn:
        case.body = {"email": CONSOLE["email"], "password": CONSOLE["password"]}
    if operation == "consoleChangePassword" and isinstance(case.body, dict):
        case.body["new_password"] = CONSOLE["password"]
        if turn:
            case.body["current_password"] = CONSOLE["password"]


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw.get("operationId")
    if OURS:
        prepare_console(operation, case)
    if operation == "downloadFile":
        use_signed_link(case)
    elif operation == "getDeletionCertificate":
        use_deleted_job(case)
    elif operation == "uploadPart":
        use_part_url(case)
    elif operation in ENDPOINT_CALLS:
        use_own_endpoint(case)
    elif operation == "completeUpload":
        use_sent_upload(case)
    elif operation in ("getPreview", "deletePreview"):
        use_own_preview(case)
    elif operation in CREATIONS | NEW_UPLOADS:
        use_own_idempotency_key(case)
    elif operation == "getUsage":
        use_days_in_order(case)
    body = case.body
    if not isinstance(body, dict):
        return
    if operation in URL_OF_ITS_OWN and is_url(body.get("url")):
        body["url"] = WEBHOOK
    # The console wraps the body of a job or a preview.
    if isinstance(body.get("request"), dict):
        body = body["request"]
    if operation == "consoleCreateWebhookEndpoint" and is_url(body.get("url")):
        body["url"] = WEBHOOK
    if is_url(body.get("webhook_url")):
        body["webhook_url"] = WEBHOOK
    settings = body.get("settings")
    for each in [body, *(settings if isinstance(settings, list) else [])]:
        if isinstance(each, dict) and isinstance(each.get("model"), str) and MODEL.fullmatch(each["model"]):
            each["model"] = "auto"
    if is_url(body.get("video_url")):
        body["video_url"] = VIDEO
    # Any price is well-formed, and a low one is rightly refused (402): tests of the API see to that.
    if is_positive(case) and is_number(body.get("max_credits")):
        body["max_credits"] = max(body["max_credits"], 1_000_000)
    # Any size is well-formed, and one above the operator's limit is rightly refused (400): tests of the API see to that.
    if operation in NEW_UPLOADS and is_positive(case) and is_number(body.get("size_bytes")):
        body["size_bytes"] = min(body["size_bytes"], LARGEST_UPLOAD)
    if UPLOAD and isinstance(body.get("upload_id"), str) and UPLOAD_ID.fullmatch(body["upload_id"]) and next(TURNS) % 2:
        body["upload_id"] = UPLOAD
