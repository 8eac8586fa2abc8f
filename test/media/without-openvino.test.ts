/** An installation whose OpenVINO libraries are missing: what needs no network runs. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnhancePlan, EnhanceResult } from '../../native/index.d.ts';
import { addonFile, projectRoot } from '../../src/media/addon.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const clip = join(folder.path, 'clip.mp4');
const addon = join(folder.path, 'Release', 'reelmend.node');

/** The addon with its module and the face detector, but without the libraries that the module needs. */
beforeAll(async () => {
  const built = dirname(projectRoot + addonFile);
  mkdirSync(join(folder.path, 'Release', 'openvino'), { recursive: true });
  copyFileSync(projectRoot + addonFile, addon);
  for (const name of readdirSync(join(built, 'openvino'))) {
    if (!name.startsWith('lib')) copyFileSync(join(built, 'openvino', name), join(folder.path, 'Release', 'openvino', name));
  }
  // Damaged enough that faces are restored by default.
  await makeClip(clip, { seconds: 1, args: ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '38'] });
});
afterAll(() => folder.remove());

/** In a process of its own: this one may have loaded the libraries for another test, and they are found again by their names. */
function enhance(options: object): { plan: EnhancePlan; result: EnhanceResult } {
  const program = `
    import { loadAddon } from ${JSON.stringify(projectRoot + 'src/media/addon.ts')};
    import { installedModels, toModelFile } from ${JSON.stringify(projectRoot + 'src/media/models.ts')};
    const addon = loadAddon(${JSON.stringify(addon)});
    const options = { target: '1080p', device: 'cpu', models: installedModels().map(toModelFile), ...${JSON.stringify(options)} };
    const plan = await addon.plan(${JSON.stringify(clip)}, options);
    const result = await addon.enhance(${JSON.stringify(clip)}, ${JSON.stringify(join(folder.path, 'out.mp4'))}, options);
    console.log(JSON.stringify({ plan, result }));`;
  const node = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program];
  const output = execFileSync(process.execPath, node, { cwd: projectRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return JSON.parse(output) as { plan: EnhancePlan; result: EnhanceResult };
}

it.each([
  ['without a network', { model: 'none' }, 'turned off'],
  ['without a network, with a strength for faces', { model: 'none', faceRestoration: 0.5 }, 'turned off'],
  ['with the automatic choice', { model: 'auto' }, 'no installed network can run here'],
])('a video is enhanced %s, and the plan says why there is no network and no face is restored', (_name, options, whyNone) => {
  const { plan, result } = enhance(options);
  const why = Object.fromEntries(plan.stages.map((stage) => [stage.name, stage.why]));
  expect(why).toMatchObject({ model: whyNone, face_restoration: 'OpenVINO cannot be loaded here' });
  expect(result).toMatchObject({ width: 1920, applied: { model: 'none' } });
});

it('a network that is named is refused with the reason', () => {
  expect(() => enhance({ model: 'fast' })).toThrow('The OpenVINO backend cannot be loaded');
});
