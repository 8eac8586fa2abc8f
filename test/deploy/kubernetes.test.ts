/**
 * The Helm chart on a Kubernetes of one node with KEDA, as docs/fleet.md says. Long, because Kubernetes and the image are built first. The
 * images of others are stand-ins where their registry cannot be reached (images/build).
 */
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startDocker } from '../helpers/docker.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type Kubernetes, startKubernetes } from '../helpers/kubernetes.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { findS3Server } from '../helpers/s3.ts';
import { eventually } from '../helpers/wait.ts';

const canRun = isLongRun && process.getuid?.() === 0;
if (isLongRun && !canRun) console.warn('a Kubernetes node needs root: the chart is NOT tested on one');

const images = ['reelmend:test', 'pause:test', 'postgres:18.4', 'versity/versitygw:v1.8.0'];
const archive = join(tmpdir(), `reelmend-images-${process.pid}.tar`);
const clip = join(tmpdir(), `reelmend-chart-${process.pid}.mp4`);

/** Builds the images with a Docker that ends before the node starts. */
async function makeImages(): Promise<void> {
  const docker = await startDocker();
  try {
    await docker.shell(`test/deploy/images/build ${(await findS3Server())!}`);
    await docker.shell('printf "FROM debian:13-slim\\nCMD [\\"sleep\\", \\"infinity\\"]\\n" | docker build --tag pause:test -');
    const context = 'git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read --files-from -';
    await docker.shell(`${context} | docker build --network host --tag reelmend:test -`);
    await docker.shell(`docker save --output ${archive} ${images.join(' ')}`);
  } finally {
    await docker.stop();
  }
}

interface Job {
  status: string;
  progress: number;
  error: object | null;
  segments?: { status: string }[];
}

describe.skipIf(!canRun)('the chart on a node', () => {
  let kubernetes: Kubernetes;
  let environment: string;
  const shell = (command: string, input?: Buffer) => kubernetes.shell(command, input);
  const addressOf = (pod: string) => shell(`kubectl get pod ${pod} -o jsonpath={.status.podIP}`);
  /** `reelmend` in a pod of the API; with a key, as a client of the service. */
  const cli = async <T>(command: string, namespace = 'video') =>
    JSON.parse(await shell(`kubectl --namespace ${namespace} exec deployment/video-reelmend-api -- env ${environment} scripts/reelmend ${command}`)) as T;
  const job = (id: string, namespace?: string) => cli<Job>(`jobs get ${id}`, namespace);
  /** Sends the clip; resolves to the job's id. */
  const create = async (namespace = 'video') => {
    const pod = `kubectl --namespace ${namespace} exec --stdin deployment/video-reelmend-api -- env ${environment}`;
    const created = await shell(`${pod} bash -c 'cat >/tmp/clip.mp4 && scripts/reelmend jobs create --json /tmp/clip.mp4'`, await readFile(clip));
    return (JSON.parse(created) as { id: string }).id;
  };
  const workers = async (namespace = 'video') => {
    const list = await shell(`kubectl --namespace ${namespace} get pods --selector app.kubernetes.io/component=worker-cpu --field-selector status.phase=Running -o name`);
    return list.split('\n').filter(Boolean);
  };
  const install = async (namespace: string, level: string, ...values: string[]) => {
    const s3 = `http://${await addressOf('s3')}:7070`;
    const small = { requests: { cpu: '50m', memory: '256Mi' }, limits: { memory: '4Gi' } };
    const settings = {
      image: { repository: 'docker.io/library/reelmend', tag: 'test', pullPolicy: 'Never' },
      publicUrl: 'https://video.example.com',
      s3: { bucket: 'videos', endpoint: s3 },
      env: { REELMEND_SEGMENTS_FROM_SECONDS: 20 },
      api: { resources: small },
      baseWorker: { scratch: '4Gi', resources: small },
      workers: { cpu: { maxReplicas: 3, idleExitSeconds: 15, drainSeconds: 60, scratch: '4Gi', resources: small } },
      keda: { pollingInterval: 5 },
    };
    const secret = (name: string, content: object) =>
      shell(`kubectl --namespace ${namespace} create secret generic ${name} --from-env-file=/dev/stdin`, Buffer.from(Object.entries(content).map(([key, value]) => `${key}=${value}\n`).join('')));
    const host = await addressOf('postgres');
    await shell(`kubectl create namespace ${namespace} && kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=${level}`);
    await secret('reelmend', { DATABASE_URL: `postgres://reelmend:secret@${host}:5432/reelmend`, REELMEND_KEY_PEPPER: 'p'.repeat(32), REELMEND_LINK_SECRET: 'l'.repeat(32) });
    await secret('reelmend-s3', { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secretsecret' });
    await secret('reelmend-scaler', { DATABASE_URL: `postgres://autoscaler:secret@${host}:5432/reelmend` });
    await shell(`helm --namespace ${namespace} install video deploy/helm/reelmend --wait --timeout 5m --values /dev/stdin ${values.join(' ')}`, Buffer.from(JSON.stringify(settings)));
  };

  beforeAll(async () => {
    await makeClip(clip, { video: 'testsrc2=size=320x180:rate=10', seconds: 60, args: ['-c:v', 'libx264', '-g', '20'] });
    await makeImages();
    kubernetes = await startKubernetes();
    await kubernetes.importImages(archive);
    await shell('kubectl apply --filename test/deploy/kubernetes/servers.yaml && kubectl wait --for=condition=Ready pod/postgres pod/s3 --timeout=2m');
    const sql = "CREATE ROLE reelmend LOGIN PASSWORD 'secret'; CREATE ROLE autoscaler LOGIN PASSWORD 'secret'";
    await shell(`kubectl exec postgres -- psql -U admin -c "${sql}" -c "CREATE DATABASE reelmend OWNER reelmend"`);
    environment = '';
  }, 3_600_000);
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(await shell('kubectl get pods,jobs,scaledjobs --all-namespaces; kubectl get events --all-namespaces | tail -40').catch(String));
  });
  afterAll(async () => {
    await kubernetes?.stop();
    await rm(archive, { force: true });
    await rm(clip, { force: true });
  }, 120_000);

  it('starts the API and the base worker, whose media children bubblewrap isolates', async () => {
    await install('video', 'privileged');
    for (const name of ['api', 'base-worker']) expect(await shell(`kubectl --namespace video logs deployment/video-reelmend-${name}`)).toContain('media children run in bubblewrap');
    await shell('kubectl exec postgres -- psql -U admin reelmend -c "GRANT EXECUTE ON FUNCTION worker_demand TO autoscaler"');
    const { id } = await cli<{ id: string }>('accounts create Somerville');
    await cli(`accounts approve ${id}`);
    await cli(`accounts grant ${id} 1000`);
    const { key } = await cli<{ key: string }>(`keys create ${id}`);
    environment = `REELMEND_URL=http://127.0.0.1:8080 REELMEND_API_KEY=${key}`;
  }, 600_000);

  it('gets workers from KEDA while segments wait, and goes on without one that is deleted', async () => {
    const id = await create();
    await eventually(async () => ((await job(id)).segments ?? []).some(({ status }) => status === 'running') || undefined, 'a segment runs');
    const [first] = await eventually(async () => ((await workers()).length > 1 ? workers() : undefined), 'several workers');
    await shell(`kubectl --namespace video delete ${first} --wait=false`);
    await eventually(async () => !['queued', 'running'].includes((await job(id)).status) || undefined, 'the end of the job');
    expect(await job(id)).toMatchObject({ status: 'done', error: null });
    await eventually(async () => (await workers()).length === 0 || undefined, 'idle workers exit');
    expect(await cli('ledger check')).toMatchObject({ ok: true });
  }, 900_000);

  it('runs with isolation by the pod in a namespace of the level “restricted”', async () => {
    await shell('helm --namespace video uninstall video --wait');
    await install('strict', 'restricted', '--set isolation=pod');
    const id = await create('strict');
    await eventually(async () => !['queued', 'running'].includes((await job(id, 'strict')).status) || undefined, 'the end of the job');
    expect(await job(id, 'strict')).toMatchObject({ status: 'done', error: null });
  }, 900_000);
});
