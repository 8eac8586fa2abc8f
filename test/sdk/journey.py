"""The whole way of one video in live mode with the Python client: sent, previewed, enhanced, downloaded, deleted, proved. Prints JSON."""

import json
import sys
import time

import httpx
from client import client, send, until_ended
from reelmend.api.evidence import get_deletion_certificate
from reelmend.api.jobs import create_job, delete_job, get_job, get_job_result
from reelmend.api.previews import create_preview, get_preview
from reelmend.models import JobInput, PreviewInput

source, result = sys.argv[1:]

with open(source, "rb") as opened:
    upload = send(opened.read(), "walk.mp4")

video = {"upload_id": upload.id, "secure": True}
settings = [{"resolution": "1080p"}, {"resolution": "1080p", "model": "none"}]
preview = until_ended(get_preview, create_preview.sync(client=client, body=PreviewInput.from_dict({**video, "settings": settings})))
chosen = preview.settings[1].to_dict()
job = until_ended(get_job, create_job.sync(client=client, body=JobInput.from_dict({**video, **chosen})))
with open(result, "wb") as opened:
    opened.write(httpx.get(get_job_result.sync(job.id, client=client).download_url).content)

# The test says when `reelmend listen`, which polls once a second, has seen the job.
input()
delete_job.sync(job.id, client=client)
answer = get_deletion_certificate.sync_detailed(job.id, client=client)
while answer.status_code == 409:
    time.sleep(int(answer.headers["Retry-After"]))
    answer = get_deletion_certificate.sync_detailed(job.id, client=client)

clips = [len(stretch.results) for stretch in preview.stretches]
print(json.dumps({"job": job.id, "status": job.status.value, "clips": clips, "certificate": answer.parsed.certificate}))
