"""What the test of the Python client runs: the package as pip installs it, against the service. Prints JSON."""

import hashlib
import json
import os
import time

import httpx
from reelmend import AuthenticatedClient
from reelmend.api.account import get_account
from reelmend.api.jobs import create_job, delete_job, get_job, get_job_result, list_jobs
from reelmend.api.models import list_models
from reelmend.api.uploads import complete_upload, create_upload, get_upload
from reelmend.models import Error, JobInput, JobStatus, Resolution, UploadCompletion, UploadInput, UploadStatus

client = AuthenticatedClient(base_url=os.environ["REELMEND_URL"], token=os.environ["REELMEND_API_KEY"], raise_on_unexpected_status=True)
seen = {}


def wait(job_id):
    while True:
        job = get_job.sync(job_id, client=client)
        if job.status in (JobStatus.DONE, JobStatus.ERROR):
            return job
        time.sleep(0.1)


seen["sandbox"] = get_account.sync(client=client).sandbox
seen["models"] = [model.name for model in list_models.sync(client=client).data]

body = JobInput(video_url="https://media.example.com/holiday.mp4", resolution=Resolution("1080p"), model="fast")
job = create_job.sync(client=client, body=body, idempotency_key="from-python")
seen["replayed"] = create_job.sync(client=client, body=body, idempotency_key="from-python").id == job.id
done = wait(job.id)
seen["status"] = done.status.value
video = httpx.get(get_job_result.sync(job.id, client=client).download_url).content
seen["whole"] = hashlib.sha256(video).hexdigest() == done.output.sha256 and len(video) == done.output.size_bytes

film = b"test mode reads no video"
upload = create_upload.sync(client=client, body=UploadInput(file_name="film.mov", size_bytes=len(film)))
for part in upload.parts:
    httpx.put(part.url, content=film[part.offset : part.offset + part.size_bytes]).raise_for_status()
complete_upload.sync(upload.id, client=client, body=UploadCompletion(sha256=hashlib.sha256(film).hexdigest()))
while (upload := get_upload.sync(upload.id, client=client)).status == UploadStatus.VERIFYING:
    time.sleep(0.1)
sent = create_job.sync(client=client, body=JobInput(upload_id=upload.id, resolution=Resolution("4k")))
seen["upload"] = [upload.status.value, sent.file_name, wait(sent.id).status.value]

failed = create_job.sync(client=client, body=JobInput(video_url="https://media.example.com/processing_failed.mp4", resolution=Resolution("1080p")))
seen["failure"] = wait(failed.id).error.code.value

ids, cursor = [], None
while True:
    page = list_jobs.sync(client=client, limit=2, **({} if cursor is None else {"starting_after": cursor}))
    ids += [one.id for one in page.data]
    if not page.has_more:
        break
    cursor = page.next_cursor
seen["listed"] = ids == [failed.id, sent.id, job.id]

seen["deleted"] = delete_job.sync(job.id, client=client).deleted
answer = get_job.sync_detailed(job.id, client=client)
seen["unknown"] = [int(answer.status_code), isinstance(answer.parsed, Error) and answer.parsed.error.code.value]
refused = create_job.sync(client=client, body=JobInput(resolution=Resolution("1080p")))
seen["refused"] = refused.error.code.value
print(json.dumps(seen))
