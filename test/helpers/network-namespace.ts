/** Simulates another machine: a Linux network namespace, connected to this machine by one virtual cable. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const path = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
const ip = (...args: string[]) => run('ip', args, { env: { PATH: path } });

export interface NetworkNamespace {
  /** this machine's IP address on the cable, the only one that the other machine can reach */
  address: string;
  /** command-line prefix that runs a process on the other machine */
  prefix: string[];
  unplug(): Promise<void>;
  plug(): Promise<void>;
  /** Processes on the other machine must have ended. */
  remove(): Promise<void>;
}

/** null if this user may not create a namespace; that needs root. */
export async function createNetworkNamespace(): Promise<NetworkNamespace | null> {
  const id = `${process.pid.toString(36)}${Math.floor(Math.random() * 36 ** 3).toString(36)}`;
  const [name, near, far] = [`reelmend-${id}`, `rmn${id}`, `rmf${id}`];
  // One of 16,384 networks of two addresses.
  const network = Math.floor(Math.random() * 2 ** 14);
  const hostAt = (host: number) => `10.213.${network >> 6}.${((network & 63) << 2) + host}`;
  const remove = async () => {
    // This also deletes both ends of the cable; the next line is for a namespace that could not be made.
    await ip('netns', 'delete', name).catch(() => {});
    await ip('link', 'delete', near).catch(() => {});
  };
  try {
    await ip('netns', 'add', name);
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name);
    await ip('address', 'add', `${hostAt(1)}/30`, 'dev', near);
    await ip('link', 'set', near, 'up');
    await ip('-n', name, 'address', 'add', `${hostAt(2)}/30`, 'dev', far);
    await ip('-n', name, 'link', 'set', far, 'up');
    await ip('-n', name, 'link', 'set', 'lo', 'up');
  } catch (error) {
    console.warn(`cannot create a network namespace: ${(error as Error).message}`);
    await remove();
    return null;
  }
  return {
    address: hostAt(1),
    prefix: ['env', `PATH=${path}`, 'ip', 'netns', 'exec', name],
    unplug: async () => void (await ip('link', 'set', near, 'down')),
    plug: async () => void (await ip('link', 'set', near, 'up')),
    remove,
  };
}
