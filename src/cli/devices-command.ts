/** `reelmend devices`: devices that the engine can use here, the CPU's speed with each network, and engines that GPUs lack. */
import type { MissingEngines } from '../media/missing-engines.ts';
import type { DeviceInfo, MachineSpeeds, Media } from '../media/types.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { say, print, terminal } from './terminal.ts';

type FindMissing = (devices: DeviceInfo[]) => Promise<MissingEngines[]>;

interface DevicesOptions {
  json: boolean;
  measureAgain?: boolean;
}

export async function devicesCommand(media: Pick<Media, 'devices' | 'speeds'>, findMissing: FindMissing, { json, measureAgain = false }: DevicesOptions): Promise<void> {
  const [devices, speeds] = [await media.devices(), await media.speeds({ again: measureAgain })];
  const missing = await findMissing(devices);
  if (json || !terminal().isTerminal) return print(devices.map((device) => ({ ...device, ...factsOf(device, speeds, missing) })));
  for (const line of devices.flatMap((device) => describe(device, speeds))) say(line);
  for (const { sentence } of missing) say(sentence);
}

function factsOf({ id }: DeviceInfo, speeds: MachineSpeeds | undefined, missing: readonly MissingEngines[]) {
  const networks = missing.find(({ device }) => device === id)?.networks;
  return omitUndefined({ speeds: id === 'cpu' ? speeds : undefined, networksWithoutEngine: networks });
}

function describe(device: DeviceInfo, speeds: MachineSpeeds | undefined): string[] {
  const { id, name, usable, reason, simd, encoder } = device;
  if (!usable) return [`${id}: ${name}, cannot be used. ${reason}`];
  const head = `${id}: ${[name, simd, encoder].filter((word) => word !== '').join(', ')}`;
  if (id !== 'cpu' || speeds === undefined) return [head];
  const threads = speeds.threads === 1 ? '1 thread' : `${speeds.threads} threads`;
  const rows = speeds.networks.map((network) => [`${network.name} ×${network.scale} ${network.file}`, network.msPerMegapixel, inPrecision(network)] as const);
  return [
    `${head}; measured with ${threads} on ${speeds.measuredAt.slice(0, 10)}:`,
    ...rows.map(([label, time, precision]) => `  ${label.padEnd(24)} ${figure(time)} ms for a megapixel of input${precision}`),
    `  ${'everything else'.padEnd(24)} ${figure(speeds.otherMsPerMegapixel)} ms for a megapixel of output`,
  ];
}

const inPrecision = ({ file, precision }: { file: string; precision: string }) => (file === precision ? '' : `, in ${precision}`);
const figure = (value: number) => value.toFixed(1).padStart(7);
