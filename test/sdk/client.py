"""What the programs of the Python client's tests share."""

import hashlib
import os
import time

import httpx
from reelmend import AuthenticatedClient
from reelmend.api.uploads import complete_upload, create_upload, get_upload
from reelmend.models import JobStatus, UploadCompletion, UploadInput, UploadStatus

client = AuthenticatedClient(base_url=os.environ["REELMEND_URL"], token=os.environ["REELMEND_API_KEY"], raise_on_unexpected_status=True)


def until_ended(get, one):
    """The job or preview once it has ended; `get` is the module of the call that gets it."""
    while one.status in (JobStatus.QUEUED, JobStatus.RUNNING):
        time.sleep(0.1)
        one = get.sync(one.id, client=client)
    return one


def send(film, name):
    """Sends a file's bytes as an upload, and returns it once the service has verified it."""
    upload = create_upload.sync(client=client, body=UploadInput(file_name=name, size_bytes=len(film)))
    for part in upload.parts:
        httpx.put(part.url, content=film[part.offset : part.offset + part.size_bytes]).raise_for_status()
    complete_upload.sync(upload.id, client=client, body=UploadCompletion(sha256=hashlib.sha256(film).hexdigest()))
    while (upload := get_upload.sync(upload.id, client=client)).status == UploadStatus.VERIFYING:
        time.sleep(0.1)
    return upload
