/** Credits per day as a bar chart, with the same figures as a table. */
import { useState } from 'react';
import type { ConsoleUsageDay } from '../../contract/types.gen.ts';
import { formatCount, formatDuration, plural } from '../app/format.ts';
import { niceCeiling, useWidth } from '../ui/plot.ts';

const height = 176;
const inset = { top: 8, right: 4, bottom: 22, left: 44 };
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

function nameOf(day: ConsoleUsageDay): string {
  return dayName.format(new Date(`${day.date}T00:00:00Z`));
}

export function UsagePlot({ days }: { days: readonly ConsoleUsageDay[] }) {
  const [box, width] = useWidth();
  const [pointed, setPointed] = useState<number | null>(null);
  const top = niceCeiling(Math.max(...days.map((day) => day.credits), 1));
  const inner = { width: Math.max(1, width - inset.left - inset.right), height: height - inset.top - inset.bottom };
  const slot = inner.width / days.length;
  const y = (credits: number) => inset.top + inner.height * (1 - credits / top);
  const labelEvery = Math.ceil(days.length / Math.max(2, Math.floor(inner.width / 70)));
  return (
    <div className="plot stack-s" ref={box}>
      <svg viewBox={`0 0 ${Math.max(width, 1)} ${height}`} role="img" aria-label={summary(days)} onPointerLeave={() => setPointed(null)}>
        {[0, top / 2, top].map((value) => (
          <g key={value}>
            <line className="grid" x1={inset.left} x2={width - inset.right} y1={y(value)} y2={y(value)} />
            <text x={inset.left - 8} y={y(value) + 4} textAnchor="end">
              {formatCount(value)}
            </text>
          </g>
        ))}
        {days.map((day, index) => {
          const x = inset.left + index * slot;
          const shown = day.credits === 0 ? 0 : Math.max(2, y(0) - y(day.credits));
          return (
            <g key={day.date} onPointerEnter={() => setPointed(index)}>
              <rect className={index === pointed ? 'bar-fill on' : 'bar-fill'} x={x + slot * 0.14} width={slot * 0.72} y={y(0) - shown} height={shown} rx={Math.min(2, slot * 0.2)} />
              <rect className="hit" x={x} width={slot} y={inset.top} height={inner.height} />
              {(days.length - 1 - index) % labelEvery === 0 && (
                <text x={x + slot / 2} y={height - 6} textAnchor="middle">
                  {nameOf(day)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <p className="plot-read small muted num" aria-hidden="true">
        {sentence(days[pointed ?? days.length - 1])}
      </p>
      <details className="more small">
        <summary>As a table</summary>
        <DayTable days={days} />
      </details>
    </div>
  );
}

function DayTable({ days }: { days: readonly ConsoleUsageDay[] }) {
  const used = days.filter((day) => day.jobs > 0 || day.refunded > 0).toReversed();
  if (used.length === 0) return <p className="muted">No usage in this period.</p>;
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Day (UTC)</th>
          <th className="num">Jobs</th>
          <th className="num">Video</th>
          <th className="num">Credits</th>
          <th className="num">Refunded</th>
        </tr>
      </thead>
      <tbody>
        {used.map((day) => (
          <tr key={day.date}>
            <td>{day.date}</td>
            <td className="num">{formatCount(day.jobs)}</td>
            <td className="num">{formatDuration(day.seconds)}</td>
            <td className="num">{formatCount(day.credits)}</td>
            <td className="num">{formatCount(day.refunded)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function sentence(day: ConsoleUsageDay | undefined): string {
  if (day === undefined) return '';
  const refund = day.refunded > 0 ? `, ${formatCount(day.refunded)} refunded` : '';
  return `${nameOf(day)}: ${formatCount(day.credits)} credits, ${plural(day.jobs, 'job')}${refund}`;
}

function summary(days: readonly ConsoleUsageDay[]): string {
  const total = days.reduce((sum, day) => sum + day.credits, 0);
  const best = days.reduce<ConsoleUsageDay | undefined>((most, day) => (most === undefined || day.credits > most.credits ? day : most), undefined);
  if (total === 0 || best === undefined) return `No credits were used in the last ${days.length} days.`;
  return `Credits used per day over ${days.length} days: ${formatCount(total)} in all, most on ${nameOf(best)} with ${formatCount(best.credits)}.`;
}
