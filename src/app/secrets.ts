/**
 * Secrets that the service generates at first start and keeps in the data directory. Machines that share a database
 * must get the same secrets from their environment.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const secrets = z.object({ keyPepper: z.string().min(16), linkSecret: z.string().min(16) });
export type Secrets = z.infer<typeof secrets>;

interface SecretsConfig {
  dataDir: string;
  keyPepper: string | undefined;
  linkSecret: string | undefined;
}

/** Returns the configured secrets. Missing ones come from `<dataDir>/secrets.json`, which is created when absent. */
export async function loadSecrets({ dataDir, keyPepper, linkSecret }: SecretsConfig): Promise<Secrets> {
  if (keyPepper !== undefined && linkSecret !== undefined) return { keyPepper, linkSecret };
  const path = fileIn(dataDir);
  const kept = (await read(path)) ?? (await create(dataDir, path));
  return { keyPepper: keyPepper ?? kept.keyPepper, linkSecret: linkSecret ?? kept.linkSecret };
}

/** Whether loadSecrets finds the pepper, on which the data depend. Links may be signed by S3. Throws what it throws if the file cannot be read. */
export async function hasKeyPepper({ dataDir, keyPepper }: Pick<SecretsConfig, 'dataDir' | 'keyPepper'>): Promise<boolean> {
  return keyPepper !== undefined || (await read(fileIn(dataDir))) !== null;
}

const fileIn = (dataDir: string) => join(dataDir, 'secrets.json');

async function read(path: string): Promise<Secrets | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : parse(path, text);
}

function parse(path: string, text: string): Secrets {
  try {
    return secrets.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is damaged; restore it from a backup.`, { cause });
  }
}

/** Creates the file. link(2) fails when it exists: of two processes that start together, both use the first one's secrets. */
async function create(dataDir: string, path: string): Promise<Secrets> {
  await mkdir(dataDir, { recursive: true });
  const made: Secrets = { keyPepper: randomBytes(32).toString('hex'), linkSecret: randomBytes(32).toString('hex') };
  // A random name and exclusive creation: process ids repeat in containers that share the folder. `flush`: after a power failure the name
  // must not stand for an empty file.
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(made, null, 2), { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(draft, path);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await read(path))!;
  } finally {
    await rm(draft, { force: true });
  }
}
