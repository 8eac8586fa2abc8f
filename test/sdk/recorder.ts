/** A server that answers every operation with the example of the contract, and keeps what the samples of the API reference send. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Content, type Operation, operations, streamOf } from '../../src/site/reference/contract.ts';
import { exampleIds, type Sample, samplesOf } from '../../src/site/reference/samples.ts';

export interface Recorded {
  method: string;
  path: string;
  /** of JSON; undefined for none */
  body: unknown;
  authorization: string | undefined;
  idempotencyKey: string | undefined;
}

/** A page that goes on would be followed by the next, which is the same again. */
const lastPage = (value: unknown) =>
  typeof value === 'object' && value !== null && 'has_more' in value ? { ...value, has_more: false, next_cursor: null } : value;

function operationOf(method: string, path: string): Operation | undefined {
  return operations.find((one) => !one.isWebhook && one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path));
}

function answerOf(operation: Operation): { status: number; type: string; body: string } {
  const [status, response] = operation.responses.find(([code]) => code.startsWith('2'))!;
  const [type, content] = Object.entries(response.content ?? {})[0] as [string, Content];
  const examples = Object.values(content.examples ?? {});
  if (type === 'text/event-stream') return { status: Number(status), type, body: streamOf(examples) };
  const value = lastPage(examples[0]?.value);
  return { status: Number(status), type, body: typeof value === 'string' ? value : JSON.stringify(value) };
}

export interface Recorder {
  url: string;
  /** what was sent since `GET /mark/<name>`, by name */
  recorded: Map<string, Recorded[]>;
  close(): void;
}

export async function startRecorder(): Promise<Recorder> {
  const recorded = new Map<string, Recorded[]>();
  let current: Recorded[] = [];
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const { method = '', url: path = '', headers } = request;
      const [, mark] = /^\/mark\/(.*)$/.exec(path) ?? [];
      if (mark !== undefined) {
        recorded.set(mark, (current = []));
        return void response.end('');
      }
      const { authorization } = headers;
      // Clients may send the defaults of parameters that a sample leaves out.
      const [pathname = ''] = path.split('?');
      current.push({ method, path: pathname, body: sent === '' ? undefined : JSON.parse(sent), authorization, idempotencyKey: headers['idempotency-key']?.toString() });
      const operation = operationOf(method, pathname);
      const { status, type, body } = operation === undefined ? { status: 404, type: 'text/plain', body: '' } : answerOf(operation);
      response.writeHead(status, { 'Content-Type': type, 'X-Request-Id': 'req_1', 'Retry-After': '1' }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, recorded, close: () => server.close() };
}

/** The samples of one language, by operation. Those of signed links have no URL of the service in them. */
export function samplesIn(label: Sample['label']): { operation: Operation; text: string }[] {
  return operations.flatMap((operation) => {
    const sample = samplesOf(operation).find((one) => one.label === label);
    return sample === undefined || ['uploadPart', 'downloadFile'].includes(operation.id) ? [] : [{ operation, text: sample.text }];
  });
}

export const sampleKey = 'svc_test_00000000000000000000000000000000000000';

/** Operations of the API without a sample in a language, by their ids. */
export function withoutSample(label: Sample['label']): string[] {
  return operations.filter((operation) => operation.needsKey && !samplesOf(operation).some((one) => one.label === label)).map(({ id }) => id);
}

/** What the sample of an operation must send. */
export function expectedOf({ method, path, body, needsKey }: Operation): Omit<Recorded, 'idempotencyKey'> {
  const example = Object.values(body?.content['application/json']?.examples ?? {})[0]?.value;
  const filled = path.replace('{id}', exampleIds[path.split('/')[2] ?? ''] ?? '');
  return { method, path: filled, body: example, authorization: needsKey ? `Bearer ${sampleKey}` : undefined };
}
