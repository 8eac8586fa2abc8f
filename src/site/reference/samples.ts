/**
 * Samples for calling an operation: with curl, with the SDK, with the Python client. test/sdk/package.test.ts and
 * test/sdk/python.test.ts run all of them.
 */
import type { Operation } from './contract.ts';
import { nameOf } from './contract.ts';

export interface Sample {
  label: 'curl' | 'TypeScript' | 'Python';
  language: 'bash' | 'ts' | 'python';
  text: string;
}

/** By the second segment of the path. */
export const exampleIds: Readonly<Record<string, string>> = {
  jobs: 'job_01jdq4s9xkf5v8t2m6w0c3rhbz',
  previews: 'prv_01jdq4s9xkf5v8t2m6w0c3rhbz',
  uploads: 'upl_01jdq4s9xkf5v8t2m6w0c3rhbz',
  'webhook-endpoints': 'hook_01jdq4s9xkf5v8t2m6w0c3rhbz',
};

/** The id in the path, by resource. */
const idOf = ({ path }: Operation): string | undefined => (path.includes('{id}') ? exampleIds[path.split('/')[2]!] : undefined);

function bodyOf({ body }: Operation): unknown {
  return Object.values(body?.content['application/json']?.examples ?? {})[0]?.value;
}

const takesIdempotencyKey = ({ parameters }: Operation) => parameters.some(({ name }) => name === 'Idempotency-Key');

/** Signed links: they are used unchanged, and the clients do it for their users. */
const links: Readonly<Record<string, string>> = {
  uploadPart: 'curl -s -T part "$PART_URL"\n',
  downloadFile: 'curl -s -o holiday-1080p.mp4 "$DOWNLOAD_URL"\n',
};

function curlOf(operation: Operation): string {
  const link = links[operation.id];
  if (link !== undefined) return link;
  const { method, path, needsKey } = operation;
  const body = bodyOf(operation);
  const flags = operation.id === 'streamJobEvents' ? '-sN' : '-s';
  const url = `"$REELMEND_URL${path.replace('{id}', idOf(operation) ?? '')}"`;
  const isDefault = method === 'GET' || (method === 'POST' && body !== undefined);
  const lines = [
    `curl ${flags}${isDefault ? '' : ` -X ${method}`} ${url}`,
    ...(needsKey ? ['-H "Authorization: Bearer $REELMEND_API_KEY"'] : []),
    ...(takesIdempotencyKey(operation) ? ['-H "Idempotency-Key: $(openssl rand -hex 16)"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body, null, 2)}'`]),
  ];
  return `${lines.join(' \\\n  ')}\n`;
}

/** Methods of the SDK whose arguments are the id and the body of the request, if it has them. */
const sdkMethods: Readonly<Record<string, string>> = {
  createJob: 'jobs.create',
  getJob: 'jobs.get',
  deleteJob: 'jobs.delete',
  getJobResult: 'jobs.result',
  getDeletionCertificate: 'jobs.deletionCertificate',
  createQuote: 'quotes.create',
  createPreview: 'previews.create',
  getPreview: 'previews.get',
  deletePreview: 'previews.delete',
  createUpload: 'uploads.begin',
  getUpload: 'uploads.get',
  deleteUpload: 'uploads.delete',
  completeUpload: 'uploads.complete',
  listModels: 'models.list',
  getAccount: 'account.get',
  updateAccount: 'account.update',
  getUsage: 'account.usage',
  listWebhookEndpoints: 'webhookEndpoints.list',
  createWebhookEndpoint: 'webhookEndpoints.create',
  getWebhookEndpoint: 'webhookEndpoints.get',
  updateWebhookEndpoint: 'webhookEndpoints.update',
  deleteWebhookEndpoint: 'webhookEndpoints.delete',
  rotateWebhookEndpointSecret: 'webhookEndpoints.rotateSecret',
  switchWebhookEndpointSecret: 'webhookEndpoints.switchSecret',
  getJwks: 'jwks.get',
};
const sdkLists: Readonly<Record<string, string>> = {
  listJobs: 'jobs.list',
  listPreviews: 'previews.list',
  listUploads: 'uploads.list',
  listRequestLog: 'requestLog.list',
  listLedger: 'ledger.list',
  listAuditLog: 'auditLog.list',
};
/** Samples of operations without a method. */
const generated: ReadonlySet<string> = new Set(['getHealth', 'getReadiness', 'getOpenApiJson']);

/** JSON in the style of TypeScript. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, indent)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const fields = Object.entries(value).map(([name, item]) => `${inner}${name}: ${literal(item, inner)},\n`);
  return `{\n${fields.join('')}${indent}}`;
}

function sdkCall(operation: Operation): string | undefined {
  const { id } = operation;
  const resourceId = idOf(operation);
  const list = sdkLists[id];
  if (list !== undefined) return `for await (const item of reelmend.${list}()) console.log(item);`;
  if (generated.has(id)) return `const { data } = await generated.${id}({ client: reelmend.client });\nconsole.log(data);`;
  if (id === 'streamJobEvents') return `for await (const { event, job } of reelmend.jobs.events('${resourceId}')) console.log(event, job.id);`;
  const body = bodyOf(operation);
  if (id === 'testWebhookEndpoint') return `console.log(await reelmend.webhookEndpoints.test('${resourceId}', '${(body as { event: string }).event}'));`;
  const method = sdkMethods[id];
  if (method === undefined) return undefined;
  const args = [...(resourceId === undefined ? [] : [`'${resourceId}'`]), ...(body === undefined ? [] : [literal(body)])];
  return `const answer = await reelmend.${method}(${args.join(', ')});\nconsole.log(answer);`;
}

function typescriptOf(operation: Operation): string | undefined {
  const call = sdkCall(operation);
  if (call === undefined) return undefined;
  const names = call.includes('generated.') ? 'createReelmend, generated' : 'createReelmend';
  return `import { ${names} } from '@reelmend/sdk';\n\nconst reelmend = createReelmend();\n${call}\n`;
}

/** `createJob` → `create_job` */
const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** JSON in the style of Python. */
function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((item) => pythonLiteral(item, indent)).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const fields = Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonLiteral(item, inner)},\n`);
  return `{\n${fields.join('')}${indent}}`;
}

/** Operations that the Python client lacks: see scripts/python-contract.ts. */
const notInPython = ['Description', 'Downloads'];

/** The Python client returns whole responses only, so a stream is read with httpx, the library under the client. */
function pythonStreamOf(operation: Operation): string {
  return `import os

import httpx

url = os.environ["REELMEND_URL"] + "${operation.path.replace('{id}', idOf(operation)!)}"
headers = {"Authorization": "Bearer " + os.environ["REELMEND_API_KEY"]}
with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
    answer.raise_for_status()
    for line in answer.iter_lines():
        print(line)
`;
}

function pythonOf(operation: Operation): string | undefined {
  const { id, tag, body, isWebhook, needsKey } = operation;
  if (notInPython.includes(tag) || links[id] !== undefined || isWebhook) return undefined;
  if (id === 'streamJobEvents') return pythonStreamOf(operation);
  const name = snake(id);
  const model = nameOf(body?.content['application/json']?.schema);
  const value = bodyOf(operation);
  const withKey = takesIdempotencyKey(operation);
  const resourceId = idOf(operation);
  const args = [
    ...(resourceId === undefined ? [] : [`"${resourceId}"`]),
    'client=client',
    ...(model === undefined ? [] : [`body=${model}.from_dict(${pythonLiteral(value)})`]),
    ...(withKey ? ['idempotency_key=str(uuid.uuid4())'] : []),
  ];
  const client = needsKey
    ? 'client = AuthenticatedClient(base_url=os.environ["REELMEND_URL"], token=os.environ["REELMEND_API_KEY"])'
    : 'client = Client(base_url=os.environ["REELMEND_URL"])';
  const imports = [
    'import os',
    ...(withKey ? ['import uuid'] : []),
    '',
    `from reelmend import ${needsKey ? 'AuthenticatedClient' : 'Client'}`,
    `from reelmend.api.${tag.toLowerCase()} import ${name}`,
    ...(model === undefined ? [] : [`from reelmend.models import ${model}`]),
  ];
  return `${imports.join('\n')}\n\n${client}\nprint(${name}.sync(${args.join(', ')}))\n`;
}

export function samplesOf(operation: Operation): Sample[] {
  if (operation.isWebhook || operation.id === 'getDocs') return [];
  const [typescript, python] = [typescriptOf(operation), pythonOf(operation)];
  return [
    { label: 'curl', language: 'bash', text: curlOf(operation) },
    ...(typescript === undefined ? [] : [{ label: 'TypeScript', language: 'ts', text: typescript } as const]),
    ...(python === undefined ? [] : [{ label: 'Python', language: 'python', text: python } as const]),
  ];
}
