"""What the test of the Python client runs: the package as pip installs it, against the service. Prints JSON."""

import hashlib
import json

import httpx
from client import client, send, until_ended
from reelmend.api.account import get_account
from reelmend.api.jobs import create_job, delete_job, get_job, get_job_result, list_jobs
from reelmend.api.models import list_models
from reelmend.models import Error, JobInput, Resolution

seen = {}

seen["sandbox"] = get_account.sync(client=client).sandbox
seen["models"] = [model.name for model in list_models.sync(client=client).data]

body = JobInput(video_url="https://media.example.com/holiday.mp4", resolution=Resolution("1080p"), model="fast")
job = create_job.sync(client=client, body=body, idempotency_key="from-python")
seen["replayed"] = create_job.sync(client=client, body=body, idempotency_key="from-python").id == job.id
done = until_ended(get_job, job)
seen["status"] = done.status.value
video = httpx.get(get_job_result.sync(job.id, client=client).download_url).content
seen["whole"] = hashlib.sha256(video).hexdigest() == done.output.sha256 and len(video) == done.output.size_bytes

upload = send(b"test mode reads no video", "film.mov")
sent = create_job.sync(client=client, body=JobInput(upload_id=upload.id, resolution=Resolution("4k")))
seen["upload"] = [upload.status.value, sent.file_name, until_ended(get_job, sent).status.value]

failed = create_job.sync(client=client, body=JobInput(video_url="https://media.example.com/processing_failed.mp4", resolution=Resolution("1080p")))
seen["failure"] = until_ended(get_job, failed).error.code.value

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
newer = Error.from_dict({"error": {"code": "newer_code", "message": "Added by a newer service.", "type": "newer_error"}}).error
seen["newer"] = [newer.code.value, newer.code == "newer_code", str(newer.type_)]
print(json.dumps(seen))
