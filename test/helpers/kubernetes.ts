/**
 * A Kubernetes of one node with the operator of KEDA, which scripts/setup-kubernetes builds. It runs in namespaces of its own, so it leaves
 * the machine's network and processes alone, and ends as a whole. Needs root.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const maxBuffer = 1 << 28;

export interface Kubernetes {
  /** Runs a shell command beside the node, which has kubectl, helm and ctr. Resolves to its standard output. */
  shell(command: string, input?: Buffer): Promise<string>;
  /** Gives the node the images of a file that `docker save` wrote. */
  importImages(file: string): Promise<void>;
  stop(): Promise<void>;
}

/** `start` and `stop` of the servers are in test/deploy/kubernetes/node. */
export async function startKubernetes(): Promise<Kubernetes> {
  const tools = (await run('bash', ['scripts/setup-kubernetes'], { cwd: root, maxBuffer })).stdout.trim();
  const deploy = (await run('bash', ['scripts/setup-deploy-tools'], { cwd: root, maxBuffer })).stdout.trim();
  // The path of a socket has at most 107 characters.
  const dir = await mkdtemp('/var/tmp/reelmend-node-');
  await chmod(dir, 0o711); // the root of a pod's user namespace is an ordinary user here
  const log = openSync(join(dir, '..', `${dir.split('/').pop()!}.log`), 'a');
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const node = spawn('unshare', [...namespaces, join(root, 'test/deploy/kubernetes/node'), tools, dir], { stdio: ['ignore', log, log] });
  closeSync(log);
  const exited = new Promise<void>((done) => node.once('exit', () => done()).once('error', () => done()));
  const env = { ...process.env, PATH: `${tools}/bin:${deploy}/bin:/usr/sbin:/sbin:${process.env['PATH']}`, KUBECONFIG: join(dir, 'kubeconfig') };
  const shell = async (command: string, input?: Buffer) => {
    const init = readFileSync(`/proc/${node.pid}/task/${node.pid}/children`, 'utf8').trim();
    const within = ['--target', init, '--mount', '--net', '--pid', `--wd=${root}`];
    // Through a pipe, because Node's own are sockets, which no program can open as /dev/stdin.
    const piped = input === undefined ? command : `cat | { ${command}; }`;
    const running = run('nsenter', [...within, 'bash', '--norc', '-euo', 'pipefail', '-c', piped], { env, maxBuffer, timeout: 600_000 });
    running.child.stdin!.on('error', () => {}).end(input); // a command that fails reads nothing; its status tells
    return (await running).stdout;
  };
  const stop = async () => {
    node.kill('SIGKILL'); // unshare ignores SIGTERM while it waits
    await exited;
    await removeGroups();
    await rm(dir, { recursive: true, force: true });
    await rm(`${dir}.log`, { force: true });
  };
  const importImages = async (file: string) => {
    await shell(`ctr --address ${dir}/containerd.sock --namespace k8s.io images import ${file}`);
  };
  try {
    await eventually(async () => {
      if (node.exitCode !== null || node.signalCode !== null) throw new Error(readFileSync(`${dir}.log`, 'utf8'));
      return existsSync(join(dir, 'ready')) || undefined;
    }, 'the node is ready');
    return { shell, importImages, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The kubelet leaves its control groups when it is killed. They can be removed once their processes are gone. */
async function removeGroups(): Promise<void> {
  const all = '/sys/fs/cgroup';
  const folders = [all, ...(await readdir(all)).map((name) => join(all, name))].map((folder) => join(folder, 'kubepods'));
  await eventually(async () => {
    const left = folders.filter((folder) => existsSync(folder));
    if (left.length > 0) await run('find', [...left, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']).catch(() => undefined);
    return left.length === 0;
  }, 'the control groups of the node are removed');
}
