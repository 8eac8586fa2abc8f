/** Gives one process its own /etc/resolv.conf and /etc/hosts, in a Linux mount namespace. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Whether this user may make mount namespaces, which needs root. */
export async function canReplaceNameFiles(): Promise<boolean> {
  return promisify(execFile)('unshare', ['--mount', 'true']).then(() => true, () => false);
}

/** Prefix of the process's command line. */
export function withNameFiles({ resolvConf, hosts }: { resolvConf: string; hosts: string }): string[] {
  const mount = 'mount --bind "$0" /etc/resolv.conf && mount --bind "$1" /etc/hosts && shift && exec "$@"';
  return ['unshare', '--mount', 'sh', '-c', mount, resolvConf, hosts];
}
