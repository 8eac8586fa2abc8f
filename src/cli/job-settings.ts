/** How to enhance a video, as options of `reelmend jobs create` and `jobs quote`, and the part of a request that they make. */
import type { Command } from 'commander';
import type { EnhancementsInput, JobInput, OutputInput, OutputQuality, PreviewSetting, Reelmend, Resolution } from '../sdk/index.ts';
import type { RemoteOptions } from './connect.ts';
import { bitrate, positiveWhole, qualityOption, strengthOption, targetOption } from './options.ts';

type Strength = NonNullable<EnhancementsInput['denoise']>;

/** Options that were not given are absent: then those of the preview hold, or the defaults of the service. */
export interface SettingOptions extends RemoteOptions {
  resolution?: Resolution;
  model?: string;
  secure?: boolean;
  quality?: OutputQuality;
  maxBitrate?: number;
  denoise?: Strength;
  sharpen?: Strength;
  faceRestoration?: Strength;
  adaptiveContrast?: Strength;
  /** id of a preview */
  preview?: string;
  /** number of its setting, from 1 */
  setting?: number;
}

export function withSettings(command: Command): Command {
  return command
    .addOption(targetOption(['1080p', '4k'], 'target size; default: 1080p'))
    .option('--model <name>', 'name of an installed network, auto, or none: only resizing and filters')
    .addOption(strengthOption('denoise', 'noise reduction'))
    .addOption(strengthOption('sharpen', 'sharpening'))
    .addOption(strengthOption('face-restoration', 'face restoration'))
    .addOption(strengthOption('adaptive-contrast', 'local contrast'))
    .addOption(qualityOption())
    .option('--max-bitrate <bits>', 'maximum bitrate of the video, in bits per second; default: no limit', bitrate)
    .option('--preview <preview>', 'use the settings of this preview, prv_…; other options override them')
    .option('--setting <number>', 'number of the setting in the preview; default: 1', positiveWhole)
    .option('--secure', 'create the job in the Secure tier, at twice the price');
}

export type Settings = Omit<JobInput, 'video_url' | 'upload_id'>;

/** The settings of the preview, if one is named, with the options that replace them. */
export async function settingsOf(reelmend: Reelmend, options: SettingOptions, signal?: AbortSignal): Promise<Settings> {
  const base = await settingOfPreview(reelmend, options, signal);
  const { resolution = base?.resolution ?? '1080p', model = base?.model, secure } = options;
  const enhancements = { ...base?.enhancements, ...enhancementsOf(options) };
  const output = { ...base?.output, ...outputOf(options) };
  return {
    resolution,
    ...(model === undefined ? {} : { model }),
    ...(secure === true ? { secure } : {}),
    ...(Object.keys(enhancements).length === 0 ? {} : { enhancements }),
    ...(Object.keys(output).length === 0 ? {} : { output }),
  };
}

async function settingOfPreview(
  reelmend: Reelmend,
  { preview: id, setting: number }: SettingOptions,
  signal: AbortSignal | undefined,
): Promise<PreviewSetting | undefined> {
  if (id === undefined && number !== undefined) throw new Error('--setting names a setting of a preview: add --preview prv_….');
  if (id === undefined) return undefined;
  const { settings } = await reelmend.previews.get(id, { signal });
  const chosen = settings[(number ?? 1) - 1];
  if (chosen === undefined) throw new Error(`The preview ${id} has ${settings.length === 1 ? 'one setting' : `${settings.length} settings`}.`);
  return chosen;
}

function enhancementsOf({ denoise, sharpen, faceRestoration, adaptiveContrast }: SettingOptions): EnhancementsInput {
  return {
    ...(denoise === undefined ? {} : { denoise }),
    ...(sharpen === undefined ? {} : { sharpen }),
    ...(faceRestoration === undefined ? {} : { face_restoration: faceRestoration }),
    ...(adaptiveContrast === undefined ? {} : { adaptive_contrast: adaptiveContrast }),
  };
}

function outputOf({ quality, maxBitrate }: SettingOptions): OutputInput {
  return { ...(quality === undefined ? {} : { quality }), ...(maxBitrate === undefined ? {} : { max_bitrate: maxBitrate }) };
}
