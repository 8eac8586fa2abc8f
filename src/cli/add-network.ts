/** `models add` and `models convert`: convert networks of other tools to ONNX files in the operator's folder. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../media/addon.ts';
import { type InstalledModel, manifestName, networkName, readManifest } from '../media/models.ts';
import { terminal, warn } from './terminal.ts';

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
  /** name in jobs; default: its own */
  as?: string | undefined;
  /** folder of the operator's networks; created when missing */
  folder: string;
  /** the SPDX identifier that the operator accepts; needed for licences that forbid commercial use */
  acceptLicense?: string | undefined;
  signal: AbortSignal;
}

/** Downloads a known network, converts it, tests it and installs it in the folder. */
export async function addNetwork({ name, as = name, folder, acceptLicense, signal }: AddOptions, tryOut: TryOut): Promise<void> {
  const network = knownNetworks().find((candidate) => candidate.name === name);
  if (network === undefined) {
    throw new Error(`Unknown network ${name}; available: ${knownNetworks().map((one) => one.name).join(', ')}.`);
  }
  if (network.noncommercial && acceptLicense !== network.license) {
    throw new Error(
      `${name} is licensed under ${network.license}, which forbids commercial use. To accept it, add --accept-license ${network.license}.`,
    );
  }
  checkName(as);
  await install({ folder, convert: ['add', name], tryOut, signal, stated: { name: as } });
}

export interface ConvertOptions {
  /** a .pth or .safetensors file */
  file: string;
  /** name in jobs; default: from the file name */
  name?: string | undefined;
  folder: string;
  /** SPDX identifier; default: what the file states */
  license?: string | undefined;
  /** whether it is made for damaged sources */
  blind?: boolean | undefined;
  signal: AbortSignal;
}

/** Converts a PyTorch network to ONNX, tests it and installs it in the folder. */
export async function convertNetwork({ file, name = nameOf(file), folder, license, blind, signal }: ConvertOptions, tryOut: TryOut): Promise<void> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new Error(`There is no file ${file}.`);
  checkName(name);
  const stated = { ...(license === undefined ? {} : { license }), ...(blind ? { blind } : {}) };
  await install({ folder, convert: ['torch', resolve(file), '--name', name], tryOut, signal, stated });
}

function checkName(name: string): void {
  const named = networkName.safeParse(name);
  if (!named.success) throw new Error(`The name ${name} ${named.error.issues[0]!.message}. Choose one with --name.`);
}

const nameOf = (file: string) => basename(file, extname(file)).toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^[^a-z0-9]+/, '').slice(0, 64);

/** Runs a converted network once. Throws an error with the reason if it cannot run. */
export type TryOut = (model: InstalledModel) => Promise<void>;

type Entry = Record<string, unknown> & { name: string };
const entries = z.array(z.looseObject({ name: z.string() }));

interface Installation {
  folder: string;
  /** arguments of the converter, without the folder */
  convert: string[];
  tryOut: TryOut;
  signal: AbortSignal;
  /** what the operator states about the network */
  stated?: Partial<Entry>;
}

/**
 * Converts into a temporary folder inside the target, tests every file there, and then moves all of them. A network that
 * cannot be converted or run leaves nothing behind, so the folder's manifest is always valid.
 */
async function install({ folder, convert, tryOut, signal, stated = {} }: Installation): Promise<void> {
  const path = join(folder, manifestName);
  if (existsSync(path)) readManifest(folder); // an invalid one is refused before the download
  mkdirSync(folder, { recursive: true });
  const staging = mkdtempSync(join(resolve(folder), '.converting-'));
  try {
    const made = (await runConverter([...convert, '--into', staging], signal)).map((entry) => ({ ...entry, ...stated }));
    writeManifest(staging, made);
    for (const model of readManifest(staging)) await tryOut(model);
    for (const { note } of made) if (typeof note === 'string') warn(note);
    const files = readdirSync(staging).filter((file) => file !== manifestName);
    for (const file of files) renameSync(join(staging, file), join(folder, file));
    const names = new Set(made.map(({ name }) => name));
    const others = existsSync(path) ? z.object({ models: entries }).parse(JSON.parse(readFileSync(path, 'utf8'))).models : [];
    writeManifest(folder, [...others.filter(({ name }) => !names.has(name)), ...made]);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function runConverter(args: string[], signal: AbortSignal): Promise<Entry[]> {
  const { env, stderr } = terminal();
  const started = promisify(execFile)('bash', [join(converter, 'run'), ...args], { env, timeout: converterTimeoutMs, maxBuffer: 1e8, signal });
  // The first run installs Python packages, which takes a while, so its messages are shown at once.
  started.child.stderr?.on('data', (text: Buffer) => {
    if (text.toString().startsWith('convert: installing')) stderr(text.toString());
  });
  const { stdout } = await started.catch((cause: Error & { stderr?: string }) => {
    signal.throwIfAborted();
    const stderrTail = cause.stderr?.trim().split('\n').findLast((line) => line.startsWith('convert: '));
    throw new Error(stderrTail?.slice('convert: '.length) ?? 'The converter failed; run engine/convert/run to see why.', { cause });
  });
  return entries.parse(JSON.parse(stdout));
}

/** Replaces a folder's manifest; readers see the old one or the new one. */
function writeManifest(folder: string, models: Entry[]): void {
  const path = join(folder, manifestName);
  writeFileSync(`${path}.new`, `${JSON.stringify({ version: 1, models }, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}
