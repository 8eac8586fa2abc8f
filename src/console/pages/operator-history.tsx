/** The queue, the devices and the failures of the last hours or days, as charts. */
import { useState } from 'react';
import type { OperatorHistory } from '../../contract/types.gen.ts';
import { type Period, useHistory } from '../api/operator.ts';
import { formatCount, formatDuration } from '../app/format.ts';
import { BarPlot } from '../ui/bar-plot.tsx';
import { Load } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { num, Table } from '../ui/table.tsx';

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const both = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const stepColumn = 'From (UTC)';
/** steps of six hours */
const stepsOfDay = 4;

export function HistoryPanel() {
  const [period, setPeriod] = useState<Period>('day');
  const history = useHistory(period);
  return (
    <Panel
      title="History"
      note="Live jobs and previews, times in UTC."
      actions={
        <Segmented<Period>
          label="Period"
          value={period}
          onChange={setPeriod}
          options={[
            { value: 'day', label: '24 hours' },
            { value: 'week', label: '7 days' },
          ]}
        />
      }
    >
      <Load query={history}>{(data) => <Charts history={data} />}</Load>
    </Panel>
  );
}

function Charts({ history }: { history: OperatorHistory }) {
  const { period, steps, devices, failures } = history;
  const axis = steps.map(({ from }) => ({ name: both.format(new Date(from)), label: (period === 'day' ? hour : day).format(new Date(from)) }));
  const barsOf = (values: readonly number[]) => axis.map((step, index) => ({ ...step, value: values[index] ?? 0 }));
  const group = period === 'day' ? 1 : stepsOfDay;
  const jobs = { format: formatCount, columns: [stepColumn, 'Jobs'], group } as const;
  return (
    <div className="plots">
      <BarPlot title="Waiting jobs" bars={barsOf(steps.map(({ queued }) => queued))} empty="No job waited at the end of a step." {...jobs} />
      <BarPlot title="Finished jobs" bars={barsOf(steps.map(({ finished }) => finished))} empty="No job finished." {...jobs} />
      <BarPlot title="Failed jobs" bars={barsOf(steps.map(({ failed }) => failed))} empty="No job failed." {...jobs} />
      {devices.map(({ device, video_seconds: seconds }) => (
        <BarPlot key={device} title={`Video enhanced by ${device}`} bars={barsOf(seconds)} format={formatDuration} group={group} columns={[stepColumn, 'Video']} empty="Nothing was enhanced." />
      ))}
      {failures.length > 0 && <Reasons failures={failures} />}
    </div>
  );
}

function Reasons({ failures }: Pick<OperatorHistory, 'failures'>) {
  return (
    <section className="stack-s" aria-label="Reasons of failures">
      <h3>Reasons of failures</h3>
      <Table columns={['Reason', num('Failed jobs')]}>
        {failures.map(({ code, jobs }) => (
          <tr key={code}>
            <td data-label="Reason">
              <code>{code}</code>
            </td>
            <td data-label="Failed jobs" className="num">{formatCount(jobs)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
