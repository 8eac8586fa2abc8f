import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { healthCommand } from '../../src/cli/health-command.ts';

const hasIpv6 = Object.values(networkInterfaces()).flat().some((address) => address?.family === 'IPv6');

it.each(['127.0.0.1', '0.0.0.0', ...(hasIpv6 ? ['::1', '::'] : [])])('asks the process that listens on %s', async (host) => {
  const server = createServer((_, response) => void response.end('ok'));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const config = loadConfig({ HOST: host, PORT: String(port) });
  await healthCommand(config);
  await new Promise((resolve) => server.close(resolve));
  await expect(healthCommand(config)).rejects.toThrow('No healthy process answers');
});
