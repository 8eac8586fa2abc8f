/** Ports for programs that cannot say which one they were given. */
import { createServer } from 'node:net';

/**
 * The first of `count` neighbouring loopback ports that are free now. They lie below those that the kernel gives to outgoing
 * connections (net.ipv4.ip_local_port_range), so that none is taken between this call and the start of the program.
 */
export async function freePorts(count = 1): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const first = 10_000 + Math.floor(Math.random() * 22_000);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
  throw new Error('no free ports');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
