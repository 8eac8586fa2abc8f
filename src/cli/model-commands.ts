/** `reelmend models …`: lists, installs, checks and times networks. */
import { basename, dirname, join, resolve } from 'node:path';
import { statSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../app/config.ts';
import type { InstalledModel } from '../media/models.ts';
import type { CompiledEngine, Media, ModelFile, ModelReport } from '../media/types.ts';
import { interruptible } from './interruptible.ts';
import { configOfTerminal, print, say, warn } from './terminal.ts';

// Loaded when a command runs, so that the command line starts fast.
const manifests = () => import('../media/models.ts');
const open = async (config: Config) =>
  (await import('../media/index.ts')).createMedia({ requireIsolation: config.requireIsolation });

/** An hour: the builder times every tactic of a network for one size. */
const compileTimeoutMs = 60 * 60_000;
/** Half an hour: a frame of a large network may take minutes on a slow machine. */
const trialTimeoutMs = 30 * 60_000;

export interface CheckOptions {
  layout: ModelFile['layout'];
  scale: number;
  size: Size;
}

interface Size {
  width: number;
  height: number;
}

export function size(text: string): Size {
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(text);
  const [width, height] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || width < 1 || height < 1 || width > 16384 || height > 16384) {
    throw new InvalidArgumentError('Expected a size such as 960x540.');
  }
  return { width, height };
}

const sizeOption = (what: string, usual: Size) =>
  new Option('--size <WxH>', what).argParser(size).default(usual, `${usual.width}x${usual.height}`);

function scale(text: string): number {
  if (!/^[1-8]$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 1 to 8.');
  return Number(text);
}

function license(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9.+() -]{0,99}$/.test(text)) throw new InvalidArgumentError('Expected an SPDX identifier such as CC-BY-4.0.');
  return text;
}

interface FolderOptions {
  to?: string;
}
const folderOption = () => new Option('--to <dir>', 'folder of your networks; default: REELMEND_MODELS_DIR');

function folderOf({ to }: FolderOptions): string {
  const folder = to ?? configOfTerminal().modelsDir;
  if (folder === undefined) throw new Error('No folder for networks: set REELMEND_MODELS_DIR, or name one with --to my-models.');
  return folder;
}

export function modelsCommands(): Command {
  const models = new Command('models').description('list, install, check and measure networks');
  models
    .command('list')
    .description('list the installed networks')
    .option('--speed', 'also time each on this machine, on frames of 480x270')
    .option('--json', 'print a JSON array')
    .action((options: ListOptions) => listModels(configOfTerminal(), options));
  models
    .command('add')
    .description('download a known open network, convert it and install it in your folder')
    .argument('[name]', 'name of the network; omit it to list the known networks')
    .addOption(folderOption())
    .option('--name <name>', 'name in jobs; default: the name of the network. With detail-best, it replaces the shipped network that auto uses for damaged sources')
    .option('--accept-license <spdx>', 'needed for licences that forbid commercial use')
    .action((name: string | undefined, options: AddOptions) => addModel(name, options));
  models
    .command('convert')
    .description('convert a PyTorch network (.pth, .safetensors) and install it in your folder; needs 5 GB of Python packages')
    .argument('<file>', 'file of the network; only its weights are read, nothing in it is run')
    .option('--name <name>', 'name in jobs; default: from the file name')
    .addOption(folderOption())
    .addOption(new Option('--license <spdx>', 'licence of the network, for the manifest; default: what the file states').argParser(license))
    .option('--blind', 'the network is made for damaged sources and finds the damage itself')
    .action(convertModel);
  models
    .command('check')
    .description('load an ONNX file and run it once; prints one sentence when it fails')
    .argument('<file>', 'an ONNX file; the manifest.json beside it or the options describe it')
    .addOption(new Option('--layout <layout>', 'input and output planes').choices(['rgb', 'luma+strength', 'ycbcr+strength', 'face']).default('rgb'))
    .option('--scale <n>', 'scale factor of each side', scale, 2)
    .addOption(sizeOption('size of the test frame', { width: 256, height: 144 }))
    .action(async (file: string, options: CheckOptions) => checkModel(await open(configOfTerminal()), file, options));
  models
    .command('bench')
    .description('measure the speed of the installed networks on frames of one size')
    .argument('[name]', 'only this network')
    .addOption(sizeOption('size of the input frame', { width: 960, height: 540 }))
    .option('--json', 'print one JSON object per line')
    .action(async (name: string | undefined, options: { size: Size; json?: boolean }) => {
      const config = configOfTerminal();
      await benchModels(await open(config), config, { name, ...options });
    });
  models
    .command('compile')
    .description('build GPU engines ahead of time, for every generation that TensorRT-RTX supports and for the GPUs of this machine')
    .argument('[name]', 'only this network')
    .requiredOption('--out <dir>', 'folder for the engines (REELMEND_ENGINES_DIR of the workers)')
    .option('--size <WxH>', 'size of the input frames; repeat for more; default: 1920x1080, 1280x720 and 960x540', sizes)
    .option('--json', 'print one JSON object per line')
    .action(async (name: string | undefined, options: CompileOptions) => {
      const config = configOfTerminal();
      const media = await open(config);
      await interruptible((signal) => compileModels(media, config, { name, ...options, signal }));
    });
  return models;
}

interface CompileOptions {
  out: string;
  size?: Size[];
  json?: boolean;
}

const sizes = (text: string, before: Size[] | undefined) => [...(before ?? []), size(text)];
/** the most common sizes of sources */
const usualSizes = [{ width: 1920, height: 1080 }, { width: 1280, height: 720 }, { width: 960, height: 540 }];

interface Compilation extends CompileOptions {
  /** undefined: all networks */
  name: string | undefined;
  signal: AbortSignal;
}

async function compileModels(media: Media, config: Config, { name, signal, ...options }: Compilation): Promise<void> {
  const [{ toModelFile }, { doesNotFitDevice }] = await Promise.all([manifests(), import('../media/failures.ts')]);
  // GPUs convert fp32 files to fp16 themselves.
  const runsOnGpus = ({ precision }: InstalledModel) => precision === 'fp32';
  for (const model of await wantedModels(config, name, runsOnGpus, ' that runs on GPUs')) {
    const wanted = options.size ?? usualSizes;
    // A network for faces has one size of its own, whatever is asked for.
    const sizesOfModel = model.layout === 'face' ? wanted.slice(0, 1) : wanted;
    try {
      for (const { width, height } of sizesOfModel) {
        const engines = await media.compileModel({ model: toModelFile(model), folder: options.out, width, height, timeoutMs: compileTimeoutMs, signal });
        for (const engine of engines) printEngine(model, engine, options.json === true);
      }
    } catch (error) {
      // Jobs run it on the CPU, for the faces alone (engine/src/cuda/face_network.h). The other networks get their engines.
      if (name !== undefined || model.layout !== 'face' || !doesNotFitDevice(error)) throw error;
      warn(`${label(model)}: runs on the CPU only: ${error.message}`);
    }
  }
}

function printEngine(model: InstalledModel, engine: CompiledEngine, json: boolean): void {
  const target = engine.device === '' ? `compute capability ${engine.target}` : engine.device;
  const size = engine.width === 0 ? 'any size' : `${engine.width}×${engine.height}`;
  if (json) {
    say(JSON.stringify({ ...identity(model), ...engine }));
  } else if (engine.notBuilt !== '') {
    return warn(`${label(model)}: ${size} for ${target} was not built: ${engine.notBuilt}`);
  } else {
    const time = engine.buildMs === 0 ? 'already built' : `${(engine.buildMs / 1000).toFixed(1)} s`;
    const atOnce = engine.contexts === 0 ? '' : `, ${engine.contexts} × ${engine.batch} frames at once`;
    say(`${label(model)}: ${size} in ${engine.precision} for ${target}, ${engine.backend}: ${engine.file} (${time}${atOnce})`);
  }
  if (engine.notMeasured !== '') warn(`${label(model)}: not measured on this machine’s GPU: ${engine.notMeasured}`);
}

interface AddOptions extends FolderOptions {
  name?: string;
  acceptLicense?: string;
}

async function addModel(name: string | undefined, options: AddOptions): Promise<void> {
  const { addNetwork, knownNetworks } = await import('./add-network.ts');
  if (name !== undefined) {
    const network = { name, as: options.name, folder: folderOf(options), acceptLicense: options.acceptLicense };
    return interruptible((signal) => addNetwork({ ...network, signal }, (model) => tryOut(model, signal)));
  }
  for (const network of knownNetworks()) {
    const scales = network.files.map(({ scale: times }) => `×${times}`).join(' ');
    say(`${network.name}  ${scales}  ${network.license}  ${network.title}, ${network.credit}`);
  }
}

interface ConvertOptions extends FolderOptions {
  name?: string;
  license?: string;
  blind?: boolean;
}

async function convertModel(file: string, options: ConvertOptions): Promise<void> {
  const { convertNetwork } = await import('./add-network.ts');
  const network = { file, name: options.name, folder: folderOf(options), license: options.license, blind: options.blind };
  await interruptible((signal) =>
    convertNetwork({ ...network, signal }, async (model) => {
      await tryOut(model, signal);
      if (model.license === undefined) warn(`${model.name}: the file states no licence. Ask its author for one, and state it with --license.`);
    }),
  );
}

/** Small frames: a network of 17 million parameters needs seconds for each. */
const firstTrial = { width: 128, height: 96, frames: 2 };

/** Runs a new network once in the media child, as a job would, and prints the result. */
async function tryOut(model: InstalledModel, signal: AbortSignal): Promise<void> {
  const media = await open(configOfTerminal());
  const { toModelFile } = await manifests();
  const result = await media.checkModel({ model: toModelFile(model), trial: firstTrial, timeoutMs: trialTimeoutMs, signal });
  say(`${label(model)}, ${model.license ?? 'licence unknown'}: good. ${summary(result)}`);
}

interface ListOptions {
  speed?: boolean;
  json?: boolean;
}
const listTrial = { width: 480, height: 270, frames: 3 };

async function listModels(config: Config, { speed = false, json = false }: ListOptions): Promise<void> {
  const { installedModels, toModelFile } = await manifests();
  const found = installedModels(config.modelsDir);
  const media = speed ? await open(config) : undefined;
  const listed = [];
  for (const model of found) {
    const trial = { ...listTrial, threads: config.threads };
    const timed = await media?.checkModel({ model: toModelFile(model), trial, timeoutMs: trialTimeoutMs });
    listed.push({ ...model, ...(timed === undefined ? {} : { msPerFrame: timed.msPerFrame }) });
  }
  if (json) return print(listed);
  if (listed.length === 0) say('No networks are installed.');
  for (const model of listed) {
    const time = model.msPerFrame === undefined ? '' : `  ${model.msPerFrame.toFixed(1)} ms for 480×270`;
    const license = model.license ?? 'licence unknown';
    say(`${label(model)} ${model.layout}  ${license}${time}  ${model.title}  (${basename(model.path)})`);
  }
}

/** Describes a network file: by the manifest beside it if that lists the file, otherwise by the options. */
async function describeFile(file: string, options: Pick<CheckOptions, 'layout' | 'scale'>): Promise<ModelFile> {
  const { manifestName, readManifest, toModelFile } = await manifests();
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new Error(`There is no file ${file}.`);
  const folder = dirname(path);
  if (statSync(join(folder, manifestName), { throwIfNoEntry: false }) !== undefined) {
    const entry = readManifest(folder).find((model) => model.path === path);
    if (entry !== undefined) return toModelFile(entry);
  }
  const scale = options.layout === 'face' ? 1 : options.scale;
  return { name: basename(path), path, layout: options.layout, precision: 'fp32', scale };
}

async function checkModel(media: Media, file: string, options: CheckOptions): Promise<void> {
  const model = await describeFile(file, options);
  const report = await media.checkModel({ model, trial: { ...options.size, frames: 3 }, timeoutMs: trialTimeoutMs });
  say(`${model.name}: good. ${summary(report)}`);
}

function summary(report: ModelReport): string {
  const from = `${report.inputWidth}×${report.inputHeight}`;
  const tiles = report.tiles > 1 ? ` in ${report.tiles} tiles` : '';
  return `${from} → ${report.outputWidth}×${report.outputHeight}${tiles}, ${report.msPerFrame.toFixed(1)} ms a frame in ${report.precision} on ${report.backend}.`;
}

async function benchModels(media: Media, config: Config, options: { name: string | undefined; size: Size; json?: boolean }): Promise<void> {
  const { toModelFile } = await manifests();
  for (const model of await wantedModels(config, options.name)) {
    const trial = { ...options.size, frames: 20, threads: config.threads };
    const report = await media.checkModel({ model: toModelFile(model), trial, timeoutMs: trialTimeoutMs });
    say(options.json === true ? JSON.stringify({ ...identity(model), ...report }) : `${label(model)}: ${summary(report)}`);
  }
}

/** The installed networks of a kind, or those of them named `name`. Throws if there are none. `which` ends the error's “There is no model …”. */
async function wantedModels(config: Config, name: string | undefined, isOfKind: (model: InstalledModel) => boolean = () => true, which = '') {
  const { installedModels } = await manifests();
  const installed = installedModels(config.modelsDir);
  const wanted = installed.filter((model) => (name === undefined || model.name === name) && isOfKind(model));
  if (wanted.length > 0) return wanted;
  if (name === undefined) throw new Error('No networks are installed.');
  const names = new Set(installed.map((model) => model.name));
  throw new Error(`There is no model “${name}”${which}; there are ${[...names].toSorted().join(', ')}.`);
}

const identity = ({ name, scale, precision }: InstalledModel) => ({ name, scale, file_precision: precision });
const label = (model: InstalledModel) => `${model.name} ×${model.scale} ${model.precision}`;
