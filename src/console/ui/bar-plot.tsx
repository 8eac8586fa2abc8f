/** Numbers over time as a bar chart, with the same numbers as a table. */
import { niceCeiling, useWidth } from './plot.ts';

export interface Bar {
  /** unique, for the table */
  name: string;
  /** short, for the axis */
  label: string;
  value: number;
}

interface BarPlotProps {
  title: string;
  bars: readonly Bar[];
  /** the number with its unit */
  format: (value: number) => string;
  /** headings of the table */
  columns: readonly [string, string];
  /** bars that share a label, such as those of a day; default 1 */
  group?: number;
  /** text to show when all bars are 0 */
  empty: string;
}

const height = 128;
const inset = { top: 8, right: 16, bottom: 22, left: 52 };

export function BarPlot({ title, bars, format, columns, group = 1, empty }: BarPlotProps) {
  const [box, width] = useWidth();
  const most = Math.max(...bars.map(({ value }) => value), 0);
  const top = niceCeiling(Math.max(most, 1));
  const inner = { width: Math.max(1, width - inset.left - inset.right), height: height - inset.top - inset.bottom };
  const slot = inner.width / Math.max(1, bars.length);
  const y = (value: number) => inset.top + inner.height * (1 - value / top);
  const labelEvery = Math.ceil(bars.length / Math.max(2, Math.floor(inner.width / 64)) / group) * group;
  const peak = bars.find(({ value }) => value === most);
  const summary = most === 0 || peak === undefined ? `${title}: ${empty}` : `${title}: at most ${format(most)}, at ${peak.name}.`;
  return (
    <section className="plot stack-s" ref={box} aria-label={title}>
      <h3>{title}</h3>
      <svg viewBox={`0 0 ${Math.max(width, 1)} ${height}`} style={{ height }} role="img" aria-label={summary}>
        {[0, top / 2, top].map((value) => (
          <g key={value}>
            <line className="grid" x1={inset.left} x2={width - inset.right} y1={y(value)} y2={y(value)} />
            <text x={inset.left - 8} y={y(value) + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {bars.map(({ name, label, value }, index) => {
          const x = inset.left + index * slot;
          const shown = value === 0 ? 0 : Math.max(2, y(0) - y(value));
          return (
            <g key={name}>
              <rect className="bar-fill" x={x + slot * 0.14} width={slot * 0.72} y={y(0) - shown} height={shown} rx={Math.min(2, slot * 0.2)} />
              {(bars.length - 1 - index) % labelEvery === 0 && (
                <text x={x + slot / 2} y={height - 6} textAnchor="middle">
                  {label}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <details className="more small">
        <summary>{title} as a table</summary>
        {most === 0 ? <p className="muted">{empty}</p> : <BarTable bars={bars} format={format} columns={columns} />}
      </details>
    </section>
  );
}

function BarTable({ bars, format, columns }: Pick<BarPlotProps, 'bars' | 'format' | 'columns'>) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>{columns[0]}</th>
          <th className="num">{columns[1]}</th>
        </tr>
      </thead>
      <tbody>
        {bars.toReversed().map(({ name, value }) => (
          <tr key={name}>
            <td>{name}</td>
            <td className="num">{format(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
