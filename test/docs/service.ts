/** The service that the documents talk to: a first start in a checkout of its own, with everything at its default. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { makeDemoClip } from '../helpers/samples.ts';
import { writeSpeeds } from '../helpers/speeds.ts';
import { hangMs } from '../helpers/wait.ts';
import { freePorts } from '../helpers/ports.ts';
import { type Checkout, createCheckout, end, quickEncoder } from './reader.ts';

export interface DemoService {
  checkout: Checkout;
  /** base URL of the API */
  url: string;
  /** what the service has printed, a file */
  log: string;
  /** literal text of the documents → what stands for it in this run */
  words: Record<string, string>;
  /** environment that the documents start it with */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * What `npm start` does after scripts/bootstrap, which every run of the tests begins with. The ports that the documents name
 * are taken as others here: several services may run on one machine.
 */
export async function startDemo(): Promise<DemoService> {
  const checkout = await createCheckout();
  const port = await freePorts(3);
  await makeDemoClip(join(checkout.dir, '.data'));
  await writeSpeeds(join(checkout.dir, '.data'), quickEncoder);
  const env = { REELMEND_ALLOW_HOSTS: `127.0.0.1:${port + 2}` };
  const log = join(checkout.dir, 'service.log');
  const child = spawn(join(checkout.dir, 'scripts/reelmend'), ['start'], {
    cwd: checkout.dir,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], PORT: String(port), REELMEND_LOG_LEVEL: 'warn', ...quickEncoder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  try {
    const printed = await ready(child, log);
    const [live, test] = ['live', 'test'].map((mode) => new RegExp(String.raw`svc_${mode}_\w{38}`).exec(printed)![0]);
    const words = {
      // first of all: what the others put in might hold these digits
      '9000': `${port + 2}`,
      '127.0.0.1:8080': `127.0.0.1:${port}`,
      '127.0.0.1:8081': `127.0.0.1:${port + 1}`,
      'svc_live_…': live!,
      'svc_test_…': test!,
    };
    const stop = async () => {
      await end(child);
      await checkout.remove();
    };
    return { checkout, url: `http://127.0.0.1:${port}`, log, words, env, stop };
  } catch (error) {
    await end(child);
    await checkout.remove();
    throw error;
  }
}

/** Resolves with what was printed up to the end of the first start. */
function ready(child: ChildProcess, log: string): Promise<string> {
  const file = createWriteStream(log);
  let printed = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The service did not come up:\n${printed}`)), hangMs);
    const hear = (chunk: Buffer) => {
      file.write(chunk);
      printed += chunk.toString();
      if (!printed.includes('Ctrl-C stops the service')) return;
      clearTimeout(timer);
      resolve(printed);
    };
    child.stdout!.on('data', hear);
    child.stderr!.on('data', hear);
    child.once('exit', (status) => reject(new Error(`The service ended with status ${status}:\n${printed}`)));
  });
}
