/**
 * A child that tries what a media child must not be able to do, and tells what came of it. Tests run it in
 * the media child's place; it speaks just enough of src/media/wire.ts.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { Socket, connect } from 'node:net';

export interface Attempts {
  /** files to read */
  read: string[];
  /** files to create */
  write: string[];
  /** local port to connect to */
  port: number;
  mode: 'report' | 'eat-memory' | 'sleep' | 'babble' | 'flood' | 'lie';
}

export interface Findings {
  env: string[];
  read: Record<string, string>;
  write: Record<string, string>;
  connect: string;
  spawn: string;
  processes: number;
  /** by name: net, pid, … as /proc tells them */
  namespaces: Record<string, string>;
  status: Record<string, string>;
  limits: string;
  pid: number;
}

const channel = new Socket({ fd: 3, readable: true, writable: true });

function frame(message: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(5);
  header.writeUInt32LE(payload.length + 1, 0);
  header.writeUInt8(1, 4);
  return Buffer.concat([header, payload]);
}

function outcome(attempt: () => unknown): string {
  try {
    attempt();
    return 'done';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function connection(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve('done'));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'failed'));
  });
}

function status(): Record<string, string> {
  return Object.fromEntries(
    [...readFileSync('/proc/self/status', 'utf8').matchAll(/^(\w+):\s*(.*)$/gm)].map(([, key, value]) => [key, value]),
  );
}

function namespaces(): Record<string, string> {
  const names = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
  return Object.fromEntries(names.map((name) => [name, readlinkSync(`/proc/self/ns/${name}`)]));
}

async function report(attempts: Attempts): Promise<Findings> {
  const spawned = spawnSync(process.execPath, ['--version']);
  return {
    env: Object.keys(process.env),
    read: Object.fromEntries(attempts.read.map((path) => [path, outcome(() => readFileSync(path))])),
    write: Object.fromEntries(attempts.write.map((path) => [path, outcome(() => writeFileSync(path, 'x'))])),
    connect: await connection(attempts.port),
    spawn: (spawned.error as NodeJS.ErrnoException | undefined)?.code ?? 'done',
    processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length,
    namespaces: namespaces(),
    status: status(),
    limits: readFileSync('/proc/self/limits', 'utf8'),
    pid: process.pid,
  };
}

async function act(attempts: Attempts): Promise<void> {
  switch (attempts.mode) {
    case 'report':
      channel.end(frame({ type: 'result', value: await report(attempts) }), () => process.exit(0));
      break;
    case 'eat-memory': {
      const eaten: Buffer[] = [];
      setInterval(() => eaten.push(Buffer.alloc(32 * 1024 * 1024, 1)), 50);
      break;
    }
    case 'sleep':
      channel.destroy();
      setInterval(() => {}, 1000);
      break;
    case 'babble':
      channel.write('this is no frame at all');
      break;
    case 'flood':
      channel.write(frame({ type: 'progress', text: 'x'.repeat(300_000) }));
      break;
    case 'lie':
      channel.end(frame({ type: 'result', value: { env: 'not what was agreed' } }), () => process.exit(0));
      break;
  }
}

channel.once('data', (chunk: Buffer) => {
  void act(JSON.parse(chunk.subarray(5).toString('utf8')) as Attempts);
});
