/** Ports for programs that cannot report which port they got from the system. */
import { createServer } from 'node:net';

/**
 * The first of `count` consecutive loopback ports that are free now. They are below the range that the kernel uses for outgoing
 * connections (net.ipv4.ip_local_port_range), so that none is taken between this call and the start of the program.
 */
export async function freePorts(count = 1): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
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
