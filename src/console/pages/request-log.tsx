/** The request log: requests by the account's keys, with errors and bodies. */
import { hashKey } from '@tanstack/react-query';
import { ScrollText } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ConsoleKey, Mode, RequestLogEntry } from '../../contract/types.gen.ts';
import { useKeys } from '../api/account.ts';
import { type RequestLogFilter, useRequestLog } from '../api/request-log.ts';
import { formatDateTimeFull } from '../app/format.ts';
import { type FilterChange, oneOf, useUrlFilters } from '../app/url-filters.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Badge, Empty, LoadList, type Tone } from '../ui/feedback.tsx';
import { CompactSelect } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ModeBadge } from '../ui/job-status.tsx';
import { More } from '../ui/more.tsx';
import { Facts, Page, Panel } from '../ui/panel.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

export function RequestLogPage() {
  const [filter, setFilter] = useUrlFilters(readFilter);
  const [open, setOpen] = useState<RequestLogEntry | null>(null);
  const list = useRequestLog(filter);
  const filtered = Object.keys(filter).length > 0;
  // The same search once more: there may be new requests.
  const find = (change: Change) => (isChange(filter, change) ? setFilter(change) : void list.refetch());
  return (
    <Page title="Request log" intro="What your API keys called in the last 30 days. Bodies are shown without URLs, names and other free text.">
      <Panel title="Requests" flush actions={<Filters filter={filter} onChange={find} />}>
        <LoadList
          query={list}
          empty={
            <Empty icon={ScrollText} title={filtered ? 'No request matches' : 'No requests yet'}>
              A request appears a second or two after its response.
            </Empty>
          }
        >
          {(entries) => <RequestTable entries={entries} onOpen={setOpen} />}
        </LoadList>
        <More list={list} />
      </Panel>
      {open !== null && <RequestDialog entry={open} onClose={() => setOpen(null)} />}
    </Page>
  );
}

type Change = FilterChange<RequestLogFilter>;

function isChange(filter: RequestLogFilter, change: Change): boolean {
  return hashKey([{ ...filter, ...change }]) !== hashKey([filter]);
}

/** The filter that the URL names. */
function readFilter(params: URLSearchParams): RequestLogFilter {
  const status = oneOf(params, 'status', ['2xx', '4xx', '429', '5xx']);
  const mode = oneOf(params, 'mode', ['test', 'live']);
  const ids = ['key_id', 'request_id', 'resource_id'].flatMap((name) => {
    const value = params.get(name);
    return value === null || value === '' ? [] : [[name, value]];
  });
  return { ...(status !== undefined && { status }), ...(mode !== undefined && { mode }), ...Object.fromEntries(ids) };
}

/** Ids that the search field accepts, by their form. */
function searchFor(text: string): Change {
  const isResource = /^(?:job|prv|upl|hook)_[0-9a-hjkmnp-tv-z]{26}$/.test(text);
  return { request_id: isResource ? undefined : text || undefined, resource_id: isResource ? text : undefined };
}

/** All keys of the account: those that were revoked or replaced have requests, too. */
function useAllKeys(): readonly ConsoleKey[] {
  const { data = [], error, hasMore, isLoadingMore, loadMore } = useKeys();
  useEffect(() => {
    if (hasMore && !isLoadingMore && error === null) void loadMore();
  }, [hasMore, isLoadingMore, error, loadMore]);
  return data;
}

function Filters({ filter, onChange }: { filter: RequestLogFilter; onChange: (change: Change) => void }) {
  const keys = useAllKeys();
  const id = filter.request_id ?? filter.resource_id ?? '';
  const [text, setText] = useState(id);
  useEffect(() => setText(id), [id]);
  const set = (name: 'status' | 'mode' | 'key_id', value: string) => onChange({ [name]: value || undefined });
  return (
    <Form className="row" onSubmit={() => onChange(searchFor(text.trim()))}>
      <CompactSelect label="Status" value={filter.status ?? ''} onChange={(event) => set('status', event.target.value)}>
        <option value="">Any status</option>
        <option value="2xx">Success</option>
        <option value="4xx">Refused (4xx)</option>
        <option value="429">Over the limit (429)</option>
        <option value="5xx">Failed (5xx)</option>
      </CompactSelect>
      <CompactSelect label="Mode" value={filter.mode ?? ''} onChange={(event) => set('mode', event.target.value as Mode | '')}>
        <option value="">Any mode</option>
        <option value="test">Test</option>
        <option value="live">Live</option>
      </CompactSelect>
      <CompactSelect label="Key" value={filter.key_id ?? ''} onChange={(event) => set('key_id', event.target.value)}>
        <option value="">Any key</option>
        {filter.key_id !== undefined && !keys.some((key) => key.id === filter.key_id) && <option value={filter.key_id}>{filter.key_id}</option>}
        {keys.map((key) => (
          <option key={key.id} value={key.id}>
            {key.name === '' ? `svc_${key.mode}_…${key.last_four}` : key.name}
          </option>
        ))}
      </CompactSelect>
      <input
        className="input compact"
        aria-label="Request, job, upload or endpoint id"
        placeholder="req_… or job_…"
        value={text}
        pattern="[A-Za-z0-9._\-]{1,128}"
        onChange={(event) => setText(event.target.value)}
      />
      <Button size="small" type="submit">
        Find
      </Button>
    </Form>
  );
}

function toneOf(status: number): Tone {
  if (status < 400) return 'good';
  return status < 500 ? 'warn' : 'bad';
}

function RequestTable({ entries, onOpen }: { entries: readonly RequestLogEntry[]; onOpen: (entry: RequestLogEntry) => void }) {
  return (
    <Table columns={['Request', 'Mode', 'Status', 'Duration', 'Time', hidden('Details')]}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td data-label="Request">
            <code className="wrap-anywhere">
              {entry.method} {entry.path}
            </code>
          </td>
          <td data-label="Mode">
            <ModeBadge mode={entry.sandbox ? 'test' : 'live'} />
          </td>
          <td data-label="Status">
            <span className="row">
              <Badge tone={toneOf(entry.status)}>{entry.status}</Badge>
              {entry.error !== null && <span className="small muted">{entry.error.code}</span>}
            </span>
          </td>
          <td data-label="Duration" className="num">
            {entry.duration_ms} ms
          </td>
          <td data-label="Time" className="small muted">
            <Ago at={entry.at} />
          </td>
          <td className="acts">
            <Button size="small" onClick={() => onOpen(entry)} aria-label={`Details of ${entry.method} ${entry.path} ${entry.request_id}`}>
              Details
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function RequestDialog({ entry, onClose }: { entry: RequestLogEntry; onClose: () => void }) {
  return (
    <Dialog title={`${entry.method} ${entry.path}`} onClose={onClose} wide>
      <Facts
        facts={[
          ['Status', <Badge key="status" tone={toneOf(entry.status)}>{entry.status}</Badge>],
          ['Time', formatDateTimeFull(entry.at)],
          ['Request id', <code key="id" className="wrap-anywhere">{entry.request_id}</code>],
          ['Key', <code key="key">{entry.key_id}</code>],
          ...(entry.resource_id === null ? [] : ([['Resource', <code key="resource">{entry.resource_id}</code>]] as const)),
        ]}
      />
      {entry.error !== null && (
        <div className="stack-s">
          <h3>Error</h3>
          <CodeBlock text={JSON.stringify(entry.error, null, 2)} wrap label="error" />
        </div>
      )}
      {entry.request_body !== null && (
        <div className="stack-s">
          <h3>Body</h3>
          <CodeBlock text={JSON.stringify(entry.request_body, null, 2)} wrap label="body" />
        </div>
      )}
      <div className="dialog-foot">
        <Button tone="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
