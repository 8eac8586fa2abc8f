/**
 * The installed networks: reads and validates manifests. Only the JSON and the presence of the files are checked here.
 * The engine checks the files themselves, in the media child.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { ModelFile } from '../../native/index.d.ts';
import type { ModelDescription } from '../domain/models.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { projectRoot } from './addon.ts';

export interface InstalledModel extends ModelFile {
  title: string;
  /** what it is for, where the manifest says so */
  description?: string;
  /** time for a frame on a CPU, as a multiple of that of `fast` */
  relativeCost?: number;
  /** SPDX identifier, where the manifest states one */
  license?: string;
  task: 'super-resolution' | 'restoration' | 'face-restoration';
  scale: number;
}

/** Folder of the networks that come with the engine. */
export const shippedModelsDir = join(projectRoot, 'engine', 'models');
export const manifestName = 'manifest.json';

/** Largest loss, in dB, of a bfloat16 or int8 network that counts as equal to the float network. */
export const tolerableLossDb = 0.1;

/** A name that jobs may use for a network. */
export const networkName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must consist of at most 64 lower-case letters, digits, dots, dashes and underscores')
  .refine((name) => name !== 'auto' && name !== 'none', 'must be neither auto nor none');

const entry = z.object({
  name: networkName,
  title: z.string().max(200).default(''),
  description: z.string().max(1000).optional(),
  relative_cost: z.number().positive().optional(),
  task: z.enum(['super-resolution', 'restoration', 'face-restoration']),
  scale: z.number().int().min(1).max(8).default(1),
  file: z.string().regex(/^[\w][\w.-]{0,199}$/, 'must be the name of a file beside the manifest'),
  precision: z.enum(['fp32', 'int8']).default('fp32'),
  layout: z.enum(['luma+strength', 'ycbcr+strength', 'rgb', 'face']),
  input: z.string().min(1).max(200).optional(),
  output: z.string().min(1).max(200).optional(),
  multiple: z.number().int().min(1).max(64).default(1),
  halo: z.number().int().min(0).max(1024).default(32),
  max_strength: z.number().min(0).max(1).optional(),
  blind: z.boolean().optional(),
  strength_gain: z.number().min(0.1).max(10).optional(),
  max_change: z.number().min(0).max(255).optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 small hexadecimal digits')
    .optional(),
  license: z.string().max(100).optional(),
  scores: z.object({ loss_db: z.number().optional(), bf16_loss_db: z.number().optional() }).default({}),
});
const manifest = z.object({ version: z.literal(1), models: z.array(entry).max(1000) });

/** Its message is one sentence that names the manifest and the error. */
export class ModelsError extends Error {
  override readonly name = 'ModelsError';
}

/**
 * The models of one folder. Throws ModelsError if the manifest is missing or invalid, or if it names a file that does not
 * exist.
 */
export function readManifest(folder: string): InstalledModel[] {
  const path = join(resolve(folder), manifestName);
  const parsed = manifest.safeParse(readJson(path));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new ModelsError(`${path}: ${issue.path.join('.') || 'the manifest'}: ${issue.message}`);
  }
  return parsed.data.models.map(({ file, scores, max_strength: maxStrength, strength_gain: strengthGain, max_change: maxChange, relative_cost: relativeCost, ...model }) => {
    if ((model.task === 'face-restoration') !== (model.layout === 'face')) {
      throw new ModelsError(`${path}: ${model.name}: the task face-restoration and the layout face belong together.`);
    }
    const location = join(dirname(path), file);
    if (statSync(location, { throwIfNoEntry: false })?.isFile() !== true) {
      throw new ModelsError(`${path}: there is no file ${file} for the model ${model.name}.`);
    }
    return {
      ...omitUndefined({ ...model, maxStrength, strengthGain, maxChange, relativeCost }),
      path: location,
      ...(scores.loss_db === undefined ? {} : { lossDb: scores.loss_db }),
      allowBf16: scores.bf16_loss_db !== undefined && scores.bf16_loss_db <= tolerableLossDb,
    };
  });
}

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ModelsError(`${path}: the manifest cannot be read.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ModelsError(`${path}: the manifest is not JSON.`, { cause });
  }
}

/**
 * Shipped networks and those of the operator's folder. The operator's network replaces a shipped one of the same name,
 * with all its files. The operator's network for faces replaces the shipped one, whatever its name. Shipped networks may
 * be absent; the operator's folder must have a manifest.
 */
export function installedModels(operatorsDir?: string): InstalledModel[] {
  const shipped = statSync(join(shippedModelsDir, manifestName), { throwIfNoEntry: false });
  const own = operatorsDir === undefined ? [] : readManifest(operatorsDir);
  const replaced = new Set(own.map((model) => model.name));
  const kept = shipped === undefined ? [] : readManifest(shippedModelsDir).filter(
    (model) => !replaced.has(model.name) && !(model.layout === 'face' && own.some(({ layout }) => layout === 'face')),
  );
  return [...kept, ...own];
}

/** The networks that a job may name: those for whole frames, each with what its files' entries say of it. */
export function describeModels(models: readonly InstalledModel[]): ModelDescription[] {
  const frames = Object.groupBy(models.filter((model) => model.layout !== 'face'), (model) => model.name);
  return Object.entries(frames).map(([name, files = []]) => {
    const firstOf = <Key extends keyof InstalledModel>(key: Key) => files.find((file) => file[key] !== undefined)?.[key] ?? null;
    return {
      name,
      title: files[0]!.title,
      description: firstOf('description'),
      scales: [...new Set(files.map(({ scale }) => scale))].toSorted((a, b) => b - a),
      relativeCost: firstOf('relativeCost'),
      license: firstOf('license'),
    };
  }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The fields that the addon gets. */
export function toModelFile({ title: _title, description: _description, relativeCost: _relativeCost, task: _task, license: _license, ...file }: InstalledModel): ModelFile {
  return file;
}
