"""What the document cannot say: which of all well-formed addresses and model names exist.

A generated address names no host. Where one is well-formed, it becomes one of a small file server that the runner
starts, so that a valid body is really accepted (and charged, in the live lane) and nothing is asked of strangers'
hosts. Bodies that are wrong in any way stay wrong: nothing but the address is replaced.

Likewise nobody can generate a signature or the id of a deleted job: some well-formed download links and ids become
real ones, and most idempotency keys one that was never used.
"""

import itertools
import json
import os
import re
import uuid
import zlib

import schemathesis

VIDEO = os.environ["FRAMELIFT_CONTRACT_VIDEO"]
WEBHOOK = os.environ["FRAMELIFT_CONTRACT_WEBHOOK"]
LINK = json.loads(os.environ["FRAMELIFT_CONTRACT_LINK"])
DELETED = os.environ["FRAMELIFT_CONTRACT_DELETED"]
LIVE = os.environ["FRAMELIFT_CONTRACT_LANE"] == "live"

KEYS = itertools.count()

ADDRESS = re.compile(os.environ["FRAMELIFT_CONTRACT_ADDRESS"])
MODEL = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")


def is_address(value):
    return isinstance(value, str) and 8 <= len(value) <= 2048 and ADDRESS.search(value) is not None


def use_signed_link(case):
    """Every other well-formed link becomes one that the service has signed; nobody guesses a signature."""
    query = case.query or {}
    if not is_positive(case) or zlib.crc32(str(query.get("signature")).encode()) % 2:
        return
    case.path_parameters = {"key": LINK["key"]}
    case.query = dict(LINK["query"])


def use_deleted_job(case):
    """Every other well-formed id becomes that of a job whose certificate is issued."""
    job = (case.path_parameters or {}).get("id")
    if DELETED and is_positive(case) and zlib.crc32(str(job).encode()) % 2:
        case.path_parameters = {"id": DELETED}


def use_own_idempotency_key(case):
    """Three of four well-formed keys become new ones: the same few would mostly be met with another body (409)."""
    key = (case.headers or {}).get("Idempotency-Key")
    if is_positive(case) and isinstance(key, str) and len(key) < 200 and next(KEYS) % 4:
        case.headers["Idempotency-Key"] = f"{key}.{uuid.uuid4().hex}"


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode == schemathesis.GenerationMode.POSITIVE


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw.get("operationId")
    if operation == "downloadFile":
        use_signed_link(case)
    elif operation == "getDeletionCertificate":
        use_deleted_job(case)
    elif operation == "createJob":
        use_own_idempotency_key(case)
    body = case.body
    if not isinstance(body, dict):
        return
    if is_address(body.get("webhook_url")):
        body["webhook_url"] = WEBHOOK
    # The sandbox fetches nothing, and knows no models.
    if not LIVE:
        return
    if is_address(body.get("video_url")):
        body["video_url"] = VIDEO
    if isinstance(body.get("model"), str) and MODEL.search(body["model"]):
        body["model"] = "auto"
