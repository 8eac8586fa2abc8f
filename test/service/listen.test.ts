/** `reelmend listen` with an account that creates many jobs, and a service that goes away: a stand-in that lists what the test says. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommand } from '../helpers/command.ts';
import { startRawServer } from '../helpers/rawserver.ts';

interface Listed {
  id: string;
  status: 'running' | 'done';
  finished_at: string | null;
}

let server: Server;
let url: string;
/** oldest first */
let jobs: Listed[];
/** whether pages after the first are answered */
let away: boolean;
let refused: number;
/** ids of the jobs that were read one by one */
let read: string[];

beforeEach(async () => {
  [jobs, away, refused, read] = [[], false, 0, []];
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://service');
    const send = (body: unknown) => void response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
    const after = searchParams.get('starting_after');
    if (away && after !== null) {
      refused += 1;
      return void request.destroy();
    }
    if (pathname !== '/v1/jobs') {
      read.push(pathname.slice('/v1/jobs/'.length));
      return send(jobs.find(({ id }) => pathname.endsWith(id)));
    }
    const status = searchParams.get('status');
    const found = jobs.toReversed().filter((job) => (status === null || job.status === status) && (after === null || job.id < after));
    const data = found.slice(0, Number(searchParams.get('limit')));
    const more = found.length > data.length;
    return send({ data, has_more: more, next_cursor: more ? data.at(-1)!.id : null });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const idOf = (number: number) => `job_${String(number).padStart(26, '0')}`;
const done = (number: number): Listed => ({ id: idOf(number), status: 'done', finished_at: new Date(number * 1000).toISOString() });
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Starts to listen; resolves after its first poll. */
async function listen(events: number, ...more: string[]) {
  let printed = '';
  const env = { PATH: process.env['PATH']!, HOME: '/nonexistent', REELMEND_URL: url, REELMEND_API_KEY: 'svc_test_x' };
  const ended = runCommand(['listen', '--events', String(events), ...more], { env, onStdout: (text) => (printed += text) });
  await expect.poll(() => printed).toMatch(/^(Waiting for|Forwarding) the events of new jobs/m);
  return { ended, shown: () => [...printed.matchAll(/job_\d+/g)].map(([id]) => id) };
}

it('shows every job that ended since the last poll, however many, oldest first', async () => {
  jobs = numbers(1, 300).map(done);
  jobs[0]!.status = 'running';
  const { ended, shown } = await listen(251);
  jobs = [...jobs, ...numbers(301, 550).map(done)];
  jobs[0] = done(1);
  expect((await ended).status).toBe(0);
  // A poll that had begun may show the old job before the others.
  expect(shown()).toContain(idOf(1));
  expect(shown().filter((id) => id !== idOf(1))).toEqual(numbers(301, 550).map(idOf));
});

it('reads one by one only the old jobs that have ended, since each such read counts for the key and for the audit log', async () => {
  jobs = numbers(1, 400).map((number) => (number <= 250 ? { ...done(number), status: 'running', finished_at: null } : done(number)));
  const { ended, shown } = await listen(2);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(read).toEqual([]);
  jobs[0] = done(1);
  jobs[219] = done(220);
  await ended;
  expect(shown().toSorted()).toEqual([1, 220].map(idOf));
  expect(new Set(read)).toEqual(new Set([1, 220].map(idOf)));
});

it('shows nothing old when newer jobs are deleted', async () => {
  jobs = numbers(1, 300).map(done);
  const { ended, shown } = await listen(1);
  jobs = jobs.slice(0, 150);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  jobs = [...jobs, done(301)];
  await ended;
  expect(shown()).toEqual([idOf(301)]);
});

it('shows the status of a receiver that answers with a long page and closes the connection', async () => {
  const page = 'x'.repeat(100_000);
  const receiver = await startRawServer((socket) =>
    socket.once('data', () => socket.end(`HTTP/1.1 500 Internal Server Error\r\nContent-Length: ${page.length}\r\nConnection: close\r\n\r\n${page}`)),
  );
  try {
    const { ended } = await listen(2, '--forward', String(receiver.port));
    jobs = [done(1), done(2)];
    expect((await ended).stdout.match(/job\.completed {2}job_\d+ {2}500\n/g)).toHaveLength(2);
  } finally {
    await receiver.close();
  }
});

it('shows no more events than it should, also of those that end at once', async () => {
  const { ended, shown } = await listen(2);
  jobs = numbers(1, 5).map(done);
  expect((await ended).status).toBe(0);
  expect(shown()).toEqual([idOf(1), idOf(2)]);
});

it('ends at Ctrl-C, also while a receiver does not answer', async () => {
  const receiver = await startRawServer((socket) => socket.once('data', () => process.emit('SIGINT', 'SIGINT')));
  try {
    const { ended, shown } = await listen(5, '--forward', String(receiver.port));
    jobs = numbers(1, 5).map(done);
    expect(await ended).toMatchObject({ status: 0, stderr: '' });
    expect(shown()).toEqual([]);
  } finally {
    await receiver.close();
  }
});

it('loses no event to a service that goes away in the middle of a poll', async () => {
  jobs = [done(1)];
  const { ended, shown } = await listen(150);
  away = true;
  jobs = [...jobs, ...numbers(2, 151).map(done)];
  await expect.poll(() => refused).toBeGreaterThan(0);
  away = false;
  await ended;
  expect(shown()).toEqual(numbers(2, 151).map(idOf));
});
