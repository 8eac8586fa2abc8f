/**
 * Finds networks that no GPU of this machine can run yet. Full TensorRT takes minutes to compile a network, so jobs do not wait for it:
 * without an engine they run the network on the CPU (engine/src/inference/gpu_model.cc). Reads file names only, and opens no library.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addonFile, projectRoot } from './addon.ts';
import type { InstalledModel } from './models.ts';
import type { DeviceInfo } from './types.ts';

export interface MissingEngines {
  /** `cuda:0` … */
  device: string;
  /** names of the networks without an engine of any size */
  networks: string[];
  sentence: string;
}

interface EngineSearch {
  devices: readonly DeviceInfo[];
  models: readonly InstalledModel[];
  enginesDir: string | undefined;
  /** of the built modules; default: beside the addon */
  modulesDir?: string;
}

/** Compute capabilities of TensorRT-RTX, whose engines a job builds itself in a second (inference/gpu_support.h). */
const rtxCapabilities = new Set(['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_120', 'sm_121']);
const builtModules = join(dirname(projectRoot + addonFile), 'tensorrt');

export async function findMissingEngines({ devices, models, enginesDir, modulesDir = builtModules }: EngineSearch): Promise<MissingEngines[]> {
  const modules = await filesIn(modulesDir);
  const hasRtx = modules.includes('reelmend_tensorrt_rtx.so') && modules.some((name) => name.startsWith('libtensorrt_rtx.so'));
  if (!modules.includes('reelmend_tensorrt.so')) return [];
  const gpus = devices.filter(({ id, usable, simd }) => usable && id.startsWith('cuda:') && !(hasRtx && rtxCapabilities.has(simd)));
  if (gpus.length === 0) return [];
  const engines = await filesIn(enginesDir);
  // GPUs convert fp32 files to fp16 themselves.
  const wanted = await Promise.all(models.filter(({ precision }) => precision === 'fp32').map(withChecksum));
  return gpus.flatMap(({ id, name, simd }) => {
    const missing = wanted.filter(({ sha256 }) => !engines.some((file) => isEngineOf(file, sha256, simd)));
    const networks = [...new Set(missing.map((model) => model.name))];
    if (networks.length === 0) return [];
    return [{ device: id, networks, sentence: sentenceFor(`${id} (${name})`, networks, enginesDir) }];
  });
}

/** As engine_cache.cc names the files. */
function isEngineOf(file: string, sha256: string, simd: string): boolean {
  return file.startsWith(`tensorrt-${sha256.slice(0, 12)}-`) && file.includes(`-${simd.replace('_', '')}-`) && file.endsWith('.engine');
}

function sentenceFor(gpu: string, networks: readonly string[], enginesDir: string | undefined): string {
  const where = enginesDir === undefined ? 'REELMEND_ENGINES_DIR is not set' : `none in ${enginesDir}`;
  const remedy = enginesDir === undefined ? 'run “reelmend models compile --out DIR” and set REELMEND_ENGINES_DIR to that folder' : `run “reelmend models compile --out ${enginesDir}”`;
  return `${gpu} has no compiled engine of full TensorRT for ${networks.join(', ')} (${where}), so these networks run on the CPU: ${remedy}.`;
}

const withChecksum = async ({ name, path, sha256 }: InstalledModel) =>
  ({ name, sha256: sha256 ?? createHash('sha256').update(await readFile(path)).digest('hex') });

/** None if the folder cannot be read. */
const filesIn = (folder: string | undefined): Promise<string[]> => (folder === undefined ? Promise.resolve([]) : readdir(folder).catch(() => []));
