/** `models add` and `models convert`: convert networks of other tools to ONNX files in the operator's folder. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../media/addon.ts';
import { type InstalledModel, manifestName, readManifest } from '../media/models.ts';
import { terminal } from './terminal.ts';

const converter = join(projectRoot, 'engine', 'convert');
/** Installing PyTorch downloads gigabytes. */
const converterTimeoutMs = 60 * 60_000;

const known = z.object({
  networks: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      license: z.string(),
      credit: z.string(),
      noncommercial: z.boolean().default(false),
      files: z.array(z.object({ scale: z.number() })),
    }),
  ),
});
export type KnownNetwork = z.infer<typeof known>['networks'][number];

/** The networks that `models add` can install. */
export function knownNetworks(): KnownNetwork[] {
  return known.parse(JSON.parse(readFileSync(join(converter, 'catalog.json'), 'utf8'))).networks;
}

export interface AddOptions {
  name: string;
  /** folder of the operator's networks; created when missing */
  folder: string;
  /** the SPDX identifier that the operator accepts; needed for licences that forbid commercial use */
  acceptLicense?: string | undefined;
}

/** Downloads a known network, checks and converts it, and adds it to the folder's manifest. */
export async function addNetwork({ name, folder, acceptLicense }: AddOptions): Promise<InstalledModel[]> {
  const network = knownNetworks().find((candidate) => candidate.name === name);
  if (network === undefined) {
    throw new Error(`Unknown network ${name}; available: ${knownNetworks().map((one) => one.name).join(', ')}.`);
  }
  if (network.noncommercial && acceptLicense !== network.license) {
    throw new Error(
      `${name} is licensed under ${network.license}, which forbids commercial use. To accept it, add --accept-license ${network.license}.`,
    );
  }
  return enter(folder, await runConverter(['add', name, '--into', resolve(folder)]));
}

export interface ConvertOptions {
  /** a .pth or .safetensors file */
  file: string;
  /** name in jobs; default: from the file name */
  name?: string | undefined;
  folder: string;
}

/** Converts a PyTorch network to ONNX and adds it to the folder's manifest. */
export async function convertNetwork({ file, name = nameOf(file), folder }: ConvertOptions): Promise<InstalledModel[]> {
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`);
  return enter(folder, await runConverter(['torch', resolve(file), '--name', name, '--into', resolve(folder)]));
}

const nameOf = (file: string) => basename(file, extname(file)).toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^[^a-z0-9]+/, '');

type Entry = Record<string, unknown> & { name: string };
const entries = z.array(z.looseObject({ name: z.string() }));

async function runConverter(args: string[]): Promise<Entry[]> {
  const started = promisify(execFile)('bash', [join(converter, 'run'), ...args], { timeout: converterTimeoutMs, maxBuffer: 1e8 });
  const { stderr } = terminal();
  // The first run installs Python packages, which takes a while, so its messages are shown at once.
  started.child.stderr?.on('data', (text: Buffer) => {
    if (text.toString().startsWith('convert: installing')) stderr(text.toString());
  });
  const { stdout } = await started.catch((cause: Error & { stderr?: string }) => {
    const stderrTail = cause.stderr?.trim().split('\n').findLast((line) => line.startsWith('convert: '));
    throw new Error(stderrTail?.slice('convert: '.length) ?? 'The converter failed; run engine/convert/run to see why.', { cause });
  });
  return entries.parse(JSON.parse(stdout));
}

/** Adds entries to the folder's manifest, replacing those of the same names. */
function enter(folder: string, added: Entry[]): InstalledModel[] {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, manifestName);
  const names = new Set(added.map(({ name }) => name));
  const before = existsSync(path) ? z.object({ models: entries }).parse(JSON.parse(readFileSync(path, 'utf8'))).models : [];
  const models = [...before.filter(({ name }) => !names.has(name)), ...added];
  writeFileSync(path, `${JSON.stringify({ version: 1, models }, null, 2)}\n`);
  return readManifest(folder).filter(({ name }) => names.has(name));
}
