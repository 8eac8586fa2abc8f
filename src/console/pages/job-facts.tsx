/** The source, output and settings of a job. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { AppliedEnhancements, ConsoleJobDetail, Output, PlannedStage, Source } from '../../contract/types.gen.ts';
import { formatBytes, formatDuration, formatTarget } from '../app/format.ts';
import { CopyButton } from '../ui/button.tsx';
import { Facts, Panel } from '../ui/panel.tsx';
import { Ago, DateTime } from '../ui/time.tsx';

type Fact = readonly [string, ReactNode];

export function JobFacts({ detail }: { detail: ConsoleJobDetail }) {
  const { job } = detail;
  return (
    <div className="stack-l">
      <Panel title="Source">
        <Facts facts={[...urlFacts(detail), ...(job.source === null ? [] : sourceFacts(job.source)), ...conditionFacts(job.enhancements)]} />
      </Panel>
      {job.output !== null && (
        <Panel title="Result">
          <Facts facts={[...outputFacts(job.output), ...(job.enhancements === null ? [] : appliedFacts(job.enhancements))]} />
        </Panel>
      )}
      <Panel title="Job">
        <Facts facts={jobFacts(detail)} />
      </Panel>
    </div>
  );
}

/** A job from an upload has no URL. */
function urlFacts({ video_url: url, source_name: name, job }: ConsoleJobDetail): Fact[] {
  const video = <span key="video" className="wrap-anywhere">{url || name}</span>;
  return [
    [url ? 'URL' : 'Uploaded file', video],
    ['Billed', formatDuration(job.duration_seconds)],
  ];
}

function sourceFacts(source: Source): Fact[] {
  return [
    ['Picture', `${source.width} × ${source.height}${source.frame_rate > 0 ? `, ${Math.round(source.frame_rate * 100) / 100} fps` : ''}`],
    ['Codecs', [source.video_codec, source.audio_codec].filter((codec) => codec !== null).join(' + ')],
    ['Container', containerName(source.container)],
    ['Length', `${source.duration.toFixed(2)} s`],
    ['File', formatBytes(source.size_bytes)],
  ];
}

/** The damage that the engine found in the source. */
function conditionFacts(applied: AppliedEnhancements | null): Fact[] {
  return applied?.condition === undefined ? [] : [['Condition', applied.condition]];
}

/** FFmpeg names a demuxer after all its formats; these are names for people. */
const containers: Readonly<Record<string, string>> = { mov: 'MP4 or MOV', matroska: 'MKV or WebM', mpegts: 'MPEG-TS', asf: 'WMV' };

function containerName(container: string): string {
  const [first = ''] = container.split(',');
  return containers[first] ?? first.toUpperCase();
}

function outputFacts(output: Output): Fact[] {
  return [
    ['Picture', `${output.width} × ${output.height}`],
    ['File', `${formatBytes(output.size_bytes)}, H.264 in MP4${output.quality === undefined ? '' : `, CRF ${output.quality}`}`],
    [
      'SHA-256',
      <span key="hash" className="row">
        <code className="truncate grow">{output.sha256}</code>
        <CopyButton text={output.sha256} label="Copy the SHA-256" bare />
      </span>,
    ],
  ];
}

const stageLabels = [
  ['Denoise', 'denoise'],
  ['Sharpen', 'sharpen'],
  ['Faces', 'face_restoration'],
  ['Contrast', 'adaptive_contrast'],
] as const;

/** The applied strengths, each with the reason from the job's plan. */
function appliedFacts(applied: AppliedEnhancements): Fact[] {
  const planned = new Map(applied.plan.map((stage) => [stage.stage, stage]));
  return [
    ...stageLabels.map(([label, stage]): Fact => [label, <Strength key={stage} stage={stage} applied={applied[stage]} planned={planned.get(stage)} />]),
    ['Model', <Because key="model" what={applied.model} why={planned.get('model')?.reason} />],
    ['Device', applied.device],
  ];
}

interface StrengthProps {
  stage: (typeof stageLabels)[number][1];
  applied: number;
  planned: PlannedStage | undefined;
}

function Strength({ stage, applied, planned }: StrengthProps) {
  if (applied > 0) return <Because what={`${Math.round(applied * 100)} %`} why={planned?.reason} />;
  // Face restoration was planned, but no face was found: the plan's reason would contradict that.
  if (stage === 'face_restoration' && planned !== undefined && planned.strength > 0) return 'no face found';
  return <Because what="not applied" why={planned?.reason} />;
}

function Because({ what, why }: { what: string; why: string | undefined }) {
  return (
    <>
      {what}
      {why !== undefined && <span className="because small muted">{why}</span>}
    </>
  );
}

function jobFacts({ job, webhook_url: webhook, model }: ConsoleJobDetail): Fact[] {
  const facts: Fact[] = [
    ['Resolution', formatTarget(job.resolution)],
    ['Created', <DateTime key="created" at={job.created_at} />],
  ];
  if (job.finished_at !== null && job.started_at !== null) {
    const seconds = (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000;
    facts.push(['Took', formatDuration(seconds)]);
  }
  facts.push(['Files deleted', <Ago key="expires" at={job.expires_at} />]);
  if (model !== null && model !== 'auto') facts.push(['Requested model', model]);
  if (webhook !== null) {
    facts.push([
      'Webhook',
      <span key="hook">
        <span className="wrap-anywhere">{webhook}</span> · <Link href={`/webhooks?job=${job.id}`}>deliveries</Link>
      </span>,
    ]);
  }
  for (const [name, value] of Object.entries(job.metadata)) facts.push([name, value]);
  return facts;
}
