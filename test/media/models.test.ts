/** Networks: manifests, operators' folders, and jobs that run one in the isolated child. */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addonFile, projectRoot } from '../../src/media/addon.ts';
import { createMedia } from '../../src/media/index.ts';
import {
  type InstalledModel,
  installedModels,
  describeModels,
  ModelsError,
  readManifest,
  shippedModelsDir,
  toModelFile,
} from '../../src/media/models.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const outputDir = join(folder.path, 'out');
const clip = join(folder.path, 'clip.mp4');
const shipped = installedModels();
const fast = shipped.find((model) => model.name === 'fast' && model.scale === 2 && model.precision === 'fp32')!;
const timeoutMs = hangMs;

beforeAll(async () => {
  mkdirSync(outputDir);
  await makeClip(clip, { seconds: 0.4, args: ['-c:v', 'libx264', '-preset', 'ultrafast'], audio: null });
});
afterAll(() => folder.remove());

/** A folder with a manifest of these entries and a copy of `fast` as net.onnx. */
function operators(name: string, manifest: unknown, text = JSON.stringify(manifest)): string {
  const path = join(folder.path, name);
  mkdirSync(path, { recursive: true });
  copyFileSync(fast.path, join(path, 'net.onnx'));
  writeFileSync(join(path, 'manifest.json'), text);
  return path;
}

const sha256 = createHash('sha256').update(readFileSync(fast.path)).digest('hex');
const good = { name: 'mine', task: 'super-resolution', scale: 2, file: 'net.onnx', layout: 'luma+strength', multiple: 2, halo: 32, sha256 };
const namesOf = (models: readonly InstalledModel[]) => describeModels(models).map(({ name }) => name);
const manifestOf = (...models: object[]) => ({ version: 1, models });

describe('the shipped manifest', () => {
  it('names files that are there, with the checksums that it states', () => {
    expect(namesOf(shipped)).toEqual(expect.arrayContaining(['fast', 'quality']));
    for (const name of ['fast', 'quality']) {
      expect(shipped.filter((model) => model.name === name).map(({ scale }) => scale)).toEqual(expect.arrayContaining([1, 2]));
    }
    for (const model of shipped) {
      expect(createHash('sha256').update(readFileSync(model.path)).digest('hex')).toBe(model.sha256);
      expect(dirname(model.path)).toBe(shippedModelsDir);
    }
  });
});

describe('an operator’s folder', () => {
  it('with a network for faces takes the place of the shipped one, and no job may name it', () => {
    const face = { name: 'my-faces', task: 'face-restoration', file: 'net.onnx', layout: 'face', max_change: 60 };
    const found = installedModels(operators('faces', manifestOf(face)));
    expect(found.filter(({ layout }) => layout === 'face')).toMatchObject([{ name: 'my-faces', scale: 1, maxChange: 60 }]);
    expect(namesOf(found)).not.toContain('my-faces');
    expect(() => installedModels(operators('mixed', manifestOf({ ...face, layout: 'rgb' })))).toThrow(/belong together/);
  });

  it('adds its models to the shipped ones', () => {
    const found = installedModels(operators('added', manifestOf(good)));
    expect(namesOf(found)).toEqual(expect.arrayContaining(['fast', 'mine']));
    expect(found.find((model) => model.name === 'mine')).toMatchObject({ scale: 2, precision: 'fp32', layout: 'luma+strength' });
  });

  it('passes the limits of a model to the engine', () => {
    const scores = { loss_db: 0.04, bf16_loss_db: 0.3 };
    const [model] = readManifest(operators('stated', manifestOf({ ...good, description: 'x', relative_cost: 2, precision: 'int8', max_strength: 0.5, blind: true, strength_gain: 1.5, scores })));
    expect(toModelFile(model!)).toEqual({
      ...{ name: 'mine', path: join(folder.path, 'stated', 'net.onnx'), layout: 'luma+strength', precision: 'int8', scale: 2 },
      ...{ multiple: 2, halo: 32, sha256, maxStrength: 0.5, blind: true, strengthGain: 1.5, lossDb: 0.04, allowBf16: false },
    });
  });

  it('takes the place of a shipped model of the same name, all its files', () => {
    const found = installedModels(operators('replaced', manifestOf({ ...good, name: 'fast' })));
    expect(found.filter((model) => model.name === 'fast').map((model) => dirname(model.path))).toEqual([join(folder.path, 'replaced')]);
  });

  const wrong: Record<string, { entry?: object; text?: string; says: RegExp }> = {
    'no JSON': { text: '{', says: /is not JSON/ },
    'another version': { text: '{"version":2,"models":[]}', says: /version/ },
    'a name that means something else': { entry: { name: 'auto' }, says: /models\.0\.name: must be neither auto nor none/ },
    'a name with a space': { entry: { name: 'My Model' }, says: /models\.0\.name/ },
    'a scale of 0': { entry: { scale: 0 }, says: /models\.0\.scale/ },
    'a file outside of the folder': { entry: { file: '../net.onnx' }, says: /models\.0\.file: must be the name of a file beside the manifest/ },
    'a file that is not there': { entry: { file: 'absent.onnx' }, says: /there is no file absent\.onnx for the model mine/ },
    'an unknown layout': { entry: { layout: 'yuv' }, says: /models\.0\.layout/ },
    'a checksum that is none': { entry: { sha256: 'abc' }, says: /models\.0\.sha256/ },
  };
  it.each(Object.entries(wrong))('%s is refused in one sentence', (_, { entry, text, says }) => {
    const path = operators('wrong', manifestOf({ ...good, ...entry }), text);
    expect(() => readManifest(path)).toThrow(ModelsError);
    expect(() => readManifest(path)).toThrow(says);
    expect(() => readManifest(path)).not.toThrow(/\n/);
  });

  it('needs a manifest', () => {
    expect(() => installedModels(join(folder.path, 'absent'))).toThrow(/manifest\.json: the manifest cannot be read\.$/);
  });
});

describe('a job', () => {
  const enhance = async (models: InstalledModel[], model: string, more: { memoryLimitMb?: number; input?: string; target?: '1080p' | '4k'; denoise?: 'off' } = {}) => {
    const { memoryLimitMb, input = clip, target = '1080p', ...strengths } = more;
    const media = await createMedia({ models, ...(memoryLimitMb === undefined ? {} : { memoryLimitMb }) });
    return media.enhance({ input, outputDir, outputName: 'out.mp4', options: { target, model, threads: 2, ...strengths }, timeoutMs });
  };

  it.each(['fast', 'quality'])('runs the network %s in the isolated child and says so', async (name) => {
    const result = await enhance(shipped, name);
    expect(result.applied.model).toBe(name);
    expect(result.stages.find((stage) => stage.name === 'network')!.cpuSeconds).toBeGreaterThan(0);
    const { streams } = await ffprobe(join(outputDir, 'out.mp4'));
    expect(streams[0]).toMatchObject({ width: 1920, height: 1080, nb_read_frames: '10' });
    expect(readdirSync(outputDir)).toEqual(['out.mp4']);
  });

  it('takes detail by itself for a small source that was encoded, and fast where nothing is to be restored', async () => {
    expect((await enhance(shipped, 'auto')).applied.model).toBe('detail');
    expect((await enhance(shipped, 'auto', { denoise: 'off' })).applied.model).toBe('fast');
  });

  it.each([['no network is installed', [], 'auto'], ['none is asked for', shipped, 'none']] as const)('is plain when %s', async (_, models, model) => {
    const result = await enhance([...models], model);
    expect(result.applied.model).toBe('none');
    expect(result.stages.map((stage) => stage.name)).not.toContain('network');
  });

  it('runs an operator’s model from its own folder', async () => {
    const result = await enhance(installedModels(operators('run', manifestOf(good))), 'mine');
    expect(result.applied.model).toBe('mine');
  });

  it.each([
    ['is not installed', shipped, 'absent', /no model named “absent”/],
    ['was changed after its manifest', installedModelsWith({ sha256: '0'.repeat(64) }), 'mine', /does not have the SHA-256 checksum/],
    ['has another scale than stated', installedModelsWith({ scale: 3 }), 'mine', /not a scale of 3/],
    ['has other planes than stated', installedModelsWith({ layout: 'rgb' }), 'mine', /takes 2 planes, but its layout has 3/],
    ['has no planes of colour, as stated', installedModelsWith({ layout: 'ycbcr+strength' }), 'mine', /takes 2 planes, but its layout has 4/],
  ])('fails with one sentence when the model %s', async (_, models, model, says) => {
    await expect(enhance(await models, model)).rejects.toMatchObject({ code: 'processing_failed', message: expect.stringMatching(says) as string });
  });

  it('stays below the ceiling of memory from 1080p to 4K', async () => {
    const input = join(folder.path, 'large.mp4');
    await makeClip(input, { seconds: 0.2, video: 'testsrc2=size=1920x1080:rate=25', args: ['-c:v', 'libx264', '-preset', 'ultrafast'], audio: null });
    const result = await enhance(shipped, 'fast', { memoryLimitMb: 2048, input, target: '4k' });
    expect(result).toMatchObject({ width: 3840, height: 2160, frames: 5, applied: { model: 'fast' } });
  });
});

/** Later than this file is read: the folder is made by then. */
async function installedModelsWith(changes: object): Promise<InstalledModel[]> {
  await Promise.resolve();
  return installedModels(operators(`with-${Object.keys(changes)[0]}`, manifestOf({ ...good, ...changes })));
}

const hasTensorRt = existsSync(join(dirname(projectRoot + addonFile), 'tensorrt', 'libtensorrt_rtx.so.1'));

// Not `runIf`: a file with a skipped test always runs, and what decides here is among the installed files of a fingerprint.
if (hasTensorRt) {
  describe('engines for GPUs', () => {
    it('are built on any machine, and once', async () => {
      const media = await createMedia();
      const request = { model: toModelFile(fast), folder: join(folder.path, 'engines'), width: 128, height: 64, timeoutMs };
      const engines = await media.compileModel(request);
      const targets = engines.filter((engine) => engine.backend.startsWith('tensorrt-rtx')).map((engine) => engine.target);
      expect(targets).toEqual(['7.5', '8.0', '8.6', '8.9', '12.0', '12.1']);
      expect(engines[0]).toMatchObject({ precision: 'fp16', width: 128, height: 64, device: '', notBuilt: '', notMeasured: '' });
      // Where one of these GPUs is here, engines for two pictures at once were built to be measured.
      const files = readdirSync(request.folder).filter((file) => file.endsWith('.engine') && !file.includes('-128x64x2-'));
      expect(files.sort()).toEqual(engines.map((engine) => engine.file).sort());
      expect((await media.compileModel(request)).every((engine) => engine.buildMs === 0)).toBe(true);
    });

    it('refuse what is no network in one sentence', async () => {
      const media = await createMedia();
      const model = { name: 'text', path: clip, layout: 'rgb', precision: 'fp32' } as const;
      const folderOf = join(folder.path, 'no-engines');
      await expect(media.compileModel({ model, folder: folderOf, width: 64, height: 64, timeoutMs })).rejects.toThrow(
        'Model “text”: The model file is not an ONNX network, or it is damaged.',
      );
      expect(readdirSync(folderOf)).toEqual([]);
    });
  });
} else {
  it('engines for GPUs: says what is missing without TensorRT', async () => {
    const media = await createMedia();
    const request = { model: toModelFile(fast), folder: join(folder.path, 'engines'), width: 128, height: 64, timeoutMs };
    await expect(media.compileModel(request)).rejects.toThrow('TensorRT');
  });
}

describe('trying a model', () => {
  it('reports its sizes and its speed', async () => {
    const media = await createMedia();
    const report = await media.checkModel({ model: toModelFile(fast), trial: { width: 64, height: 48, frames: 2 }, timeoutMs });
    expect(report).toMatchObject({ backend: 'openvino', inputWidth: 64, outputWidth: 128, outputHeight: 96, tiles: 1 });
    expect(report.msPerFrame).toBeGreaterThan(0);
  });

  it('says in one sentence what is wrong with a file', async () => {
    const media = await createMedia();
    const model = { name: 'text', path: clip, layout: 'rgb', precision: 'fp32' } as const;
    await expect(media.checkModel({ model, timeoutMs })).rejects.toThrow('Model “text”: The model file is not an ONNX network, or it is damaged.');
  });
});
