/** A child that tries what a media child must not be able to do, and reports the results. Tests run it in the media child's place. */
import { spawnSync } from 'node:child_process';
import { closeSync, lstatSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { Socket, connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { channelFd, encodeMessage, FrameReader, type FromChild, maxMessageBytes } from '../../src/media/wire.ts';

export interface Attempts {
  /** files to read */
  read: string[];
  /** files to create */
  write: string[];
  /** local port to connect to */
  port: number;
  /** a file as long as possible is made in each of these folders, up to 300 MB */
  fill?: string[];
  /** try to write to every file and folder that is seen */
  walk?: boolean;
  /** processes and threads to start */
  starts?: number;
  /** program and arguments that take the place of this one */
  run?: string[];
  mode: 'run' | 'report' | 'eat-memory' | 'sleep' | 'babble' | 'flood' | 'lie' | 'fill-and-stay';
}

export interface Findings {
  env: string[];
  read: Record<string, string>;
  write: Record<string, string>;
  connect: string;
  spawn: string;
  processes: number;
  /** by name: net, pid, … from /proc */
  namespaces: Record<string, string>;
  status: Record<string, string>;
  limits: string;
  pid: number;
  /** bytes that fitted, by folder */
  filled: Record<string, number>;
  /** files that opened for writing and folders that took a file; devices aside */
  writable: string[];
  /** files and folders that were tried */
  walked: number;
  started: { processes: number; threads: number };
}

const channel = new Socket({ fd: channelFd, readable: true, writable: true });

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

function fill(folder: string): number {
  const block = Buffer.alloc(1024 * 1024, 1);
  let bytes = 0;
  try {
    const file = openSync(`${folder}/filler`, 'w');
    while (bytes < 300 * block.length) bytes += writeSync(file, block);
  } catch {
    // full, or not to be written
  }
  return bytes;
}

function opens(path: string, flags: string): boolean {
  try {
    closeSync(openSync(path, flags));
    return true;
  } catch {
    return false;
  }
}

/** Devices are no files, links lead to what is walked anyway. Of processes, this one stands for all. */
function walk(folder: string, tried: (path: string, writable: boolean) => void): void {
  const probe = `${folder}/.probe`;
  const made = opens(probe, 'wx');
  if (made) rmSync(probe);
  tried(folder, made);
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  for (const name of names) {
    const path = folder === '/' ? `/${name}` : `${folder}/${name}`;
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info?.isDirectory() === true && !/^\/proc\/(\d+|self|thread-self)\/(task|root|cwd|fd|map_files)$/.test(path)) walk(path, tried);
    else if (info?.isFile() === true) tried(path, opens(path, 'r+'));
  }
}

function walkAll(): Pick<Findings, 'writable' | 'walked'> {
  const writable: string[] = [];
  let walked = 0;
  walk('/', (path, can) => {
    walked += 1;
    if (can) writable.push(path);
  });
  return { writable, walked };
}

function startThread(): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
      worker.once('online', () => resolve(true));
      worker.once('error', () => resolve(false));
    } catch {
      resolve(false); // EAGAIN
    }
  });
}

/** Threads until one cannot be started. */
async function start(count: number): Promise<Findings['started']> {
  const processes = Array.from({ length: count }, () => spawnSync(process.execPath, ['--version']).error === undefined);
  let threads = 0;
  while (threads < count && (await startThread())) threads += 1;
  return { processes: processes.filter(Boolean).length, threads };
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
    filled: Object.fromEntries((attempts.fill ?? []).map((folder) => [folder, fill(folder)])),
    ...(attempts.walk === true ? walkAll() : { writable: [], walked: 0 }),
    started: attempts.starts === undefined ? { processes: 0, threads: 0 } : await start(attempts.starts),
  };
}

async function act(attempts: Attempts): Promise<void> {
  switch (attempts.mode) {
    case 'report':
      channel.end(encodeMessage({ type: 'result', value: await report(attempts) }), () => process.exit(0));
      break;
    case 'run':
      process.execve!(attempts.run![0]!, attempts.run, {});
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
    case 'fill-and-stay':
      for (const folder of attempts.fill ?? []) fill(folder);
      setInterval(() => {}, 1000);
      break;
    case 'babble':
      channel.write('this is no frame at all');
      break;
    case 'flood':
      channel.write(encodeMessage({ type: 'progress', text: 'x'.repeat(300_000) } as unknown as FromChild));
      break;
    case 'lie':
      channel.end(encodeMessage({ type: 'result', value: { env: 'not what was agreed' } }), () => process.exit(0));
      break;
  }
}

const frames = new FrameReader(maxMessageBytes);
channel.on('data', (chunk: Buffer) => {
  for (const frame of frames.push(chunk)) if (frame.kind === 'json') void act(frame.value as Attempts);
});
