/** The console's pure parts: figures as text, the viewer's lens, and changes worked into a loaded list. */
import { describe, expect, it } from 'vitest';
import { formatAgo, formatBytes, formatCount, formatDuration, formatPercent, formatPosition, formatSigned, formatTimeLeft, isolate, plural, segmentWords, shortId } from '../../src/console/app/format.ts';
import { type Changes, mergeIntoLatest, mergeIntoPages, type Pages } from '../../src/console/api/job-changes.ts';
import { niceCeiling } from '../../src/console/ui/plot.ts';
import { clampLens, pan, wholePicture, zoomAt } from '../../src/console/viewer/lens.ts';
import type { ConsoleJob, JobSegment } from '../../src/contract/types.gen.ts';

describe('figures as text', () => {
  const cases: [string, string][] = [
    [formatBytes(0), '0 B'],
    [formatBytes(999), '999 B'],
    [formatBytes(1500), '1.5 kB'],
    [formatBytes(999_499), '999 kB'],
    [formatBytes(999_700), '1.0 MB'],
    [formatBytes(2_000_000_000), '2.0 GB'],
    [formatPercent(0.29), '29 %'],
    [formatPercent(0.999), '99 %'],
    [formatDuration(4.2), '4.2 s'],
    [formatDuration(59.4), '59 s'],
    [formatDuration(125), '2 min 05 s'],
    [formatDuration(3780), '1 h 03 min'],
    [formatPosition(64.2), '1:04.20'],
    [formatPosition(0), '0:00.00'],
    [formatSigned(-1234), '−1,234'],
    [formatSigned(5), '+5'],
    [plural(1, 'job'), '1 job'],
    [plural(2000, 'job'), '2,000 jobs'],
    [shortId('job_01jdq4s9xkf5v8t2m6w0c3rhbz'), 'job_01jd…c3rhbz'],
  ];
  for (const [text, wanted] of cases) it(`says ${wanted}`, () => expect(text).toBe(wanted));

  it('says the time left once the start of the engine no longer makes it too long', () => {
    expect(formatTimeLeft({ progress: 0.03, eta_seconds: 420 })).toBeNull();
    expect(formatTimeLeft({ progress: 0.5, eta_seconds: null })).toBeNull();
    expect(formatTimeLeft({ progress: 0.05, eta_seconds: 166 })).toBe('2 min 46 s left');
  });

  it('formats elapsed time in the largest unit that fits', () => {
    const now = Date.parse('2026-11-21T12:00:00Z');
    const ago = (seconds: number) => formatAgo(new Date(now - seconds * 1000).toISOString(), now);
    // 47 hours ago was not yesterday.
    expect([ago(3), ago(60), ago(3 * 3600), ago(47 * 3600), ago(3 * 86_400), ago(-86_400), ago(40 * 86_400)]).toEqual([
      'just now',
      '1 minute ago',
      '3 hours ago',
      '1 day ago',
      '3 days ago',
      'in 1 day',
      '12 Oct 2026',
    ]);
  });
});

describe('a name within a text', () => {
  it.each(['holiday.mp4', 'été 夏.mp4', '“a” – b'])('is as it is: %s', (name) => expect(isolate(name)).toBe(name));

  it.each([
    ['clip\u202E4pm.exe', 'clip\u202E4pm.exe'],
    ['סרט 1', 'סרט 1'],
    ['\u{1E900}', '\u{1E900}'],
    ['ends it: \u2069\u2029\u202E', 'ends it: \u202E'],
  ])('is isolated if it may turn the direction of the text: %j', (name, inside) => expect(isolate(name)).toBe(`\u2068${inside}\u2069`));
});

describe('the axis of a chart', () => {
  it('reaches the largest number, and its middle is a whole number', () => {
    const tops = [0, 1, 2, 3, 5, 6, 7, 11, 45, 70, 500, 10_000].map((largest) => niceCeiling(Math.max(largest, 1)));
    expect(tops).toEqual([2, 2, 2, 4, 6, 6, 10, 20, 60, 100, 600, 10_000]);
    expect(tops.map((top) => formatCount(top / 2))).toEqual(['1', '1', '1', '2', '3', '3', '5', '10', '30', '50', '300', '5,000']);
  });
});

describe('the lens', () => {
  it('keeps the point under the pointer where it is', () => {
    const zoomed = zoomAt(wholePicture, 4, 0.25, -0.1);
    // A point at distance d from the middle is shown at x + d·zoom.
    expect(zoomed.x + 0.25 * 4).toBeCloseTo(0.25);
    expect(zoomed.y - 0.1 * 4).toBeCloseTo(-0.1);
  });

  it('never shows beyond the picture', () => {
    expect(pan(zoomAt(wholePicture, 2), 5, -5)).toEqual({ zoom: 2, x: 0.5, y: -0.5 });
    expect(zoomAt(pan(zoomAt(wholePicture, 2), 5, 5), 1)).toEqual(wholePicture);
    expect(clampLens({ zoom: 99, x: 0, y: 0 }).zoom).toBe(12);
    expect(clampLens({ zoom: 0.1, x: 0, y: 0 })).toEqual(wholePicture);
  });
});

describe('the bar of segments', () => {
  const words = (...statuses: JobSegment['status'][]) => segmentWords(statuses.map((status) => ({ status })));
  it('counts them in words', () => {
    expect(words('done', 'running', 'running', 'waiting')).toBe('1 of 4 segments done, 2 running');
    expect(words('done', 'done')).toBe('2 of 2 segments done');
  });
});

const job = (id: string, part: Partial<ConsoleJob> = {}) => ({ id, mode: 'live', status: 'queued', progress: 0, source_name: 'clip.mp4', ...part }) as ConsoleJob;
/** pages of a list with more jobs, as the service answers */
const pagesOf = (...pages: ConsoleJob[][]): Pages => ({
  pages: pages.map((data) => ({ data, has_more: data.length > 0, next_cursor: data.at(-1)?.id ?? null })),
  pageParams: pages.map(() => undefined),
});
const ids = (pages: Pages) => pages.pages.map((page) => page.data.map(({ id }) => id));
const changes = (...list: ConsoleJob[]): Changes => new Map(list.map((one) => [one.id, one]));

describe('changes of jobs worked into a loaded list', () => {
  const pages = pagesOf([job('job_9'), job('job_8')], [job('job_5', { status: 'running' }), job('job_4')]);

  it('replaces a job where it is, on whatever page, and leaves the other pages as they were', () => {
    const merged = mergeIntoPages(pages, changes(job('job_4', { status: 'running', progress: 0.5 })), {});
    expect(ids(merged)).toEqual(ids(pages));
    expect(merged.pages[1]?.data[1]).toMatchObject({ status: 'running', progress: 0.5 });
    expect(merged.pages[0]).toBe(pages.pages[0]);
  });

  it('puts new jobs on top, newest first, and ignores those of pages that are not loaded', () => {
    expect(ids(mergeIntoPages(pages, changes(job('job_91'), job('job_92'), job('job_2')), {}))[0]).toEqual(['job_92', 'job_91', 'job_9', 'job_8']);
  });

  it('takes out what was deleted and what no longer fits the filters', () => {
    expect(ids(mergeIntoPages(pages, new Map([['job_8', null]]), {}))).toEqual([['job_9'], ['job_5', 'job_4']]);
    const running = pagesOf([job('job_5', { status: 'running' })]);
    expect(ids(mergeIntoPages(running, changes(job('job_5', { status: 'done' })), { status: 'running' }))).toEqual([[]]);
  });

  it('adds only what fits the filters', () => {
    const fresh = changes(job('job_95', { mode: 'test' }), job('job_96'));
    expect(ids(mergeIntoPages(pages, fresh, { mode: 'test' }))[0]?.[0]).toBe('job_95');
    expect(ids(mergeIntoPages(pages, fresh, { q: '96' }))[0]?.[0]).toBe('job_96');
    expect(ids(mergeIntoPages(pagesOf([]), fresh, {}))).toEqual([['job_96', 'job_95']]);
    const named = changes(job('job_97', { source_name: 'Holiday.mov' }), job('job_98'));
    expect(ids(mergeIntoPages(pages, named, { q: 'holi' }))[0]).toContain('job_97');
    expect(ids(mergeIntoPages(pages, named, { q: 'holi' }))[0]).not.toContain('job_98');
    const apart = changes(job('job_97', { source_name: 'Café.mov'.normalize('NFD') }));
    expect(ids(mergeIntoPages(pages, apart, { q: 'CAFÉ'.normalize('NFC') }))[0]).toContain('job_97');
  });
});

describe('jobs that come to a loaded list later than newer ones', () => {
  const done = (id: string) => job(id, { status: 'done' });

  it('are put where they belong: for example those that end after newer ones, in a list of done jobs', () => {
    const pages = pagesOf([done('job_9'), done('job_6')], [done('job_5'), done('job_3')]);
    const late = changes(done('job_7'), done('job_4'), done('job_2'));
    expect(ids(mergeIntoPages(pages, late, { status: 'done' }))).toEqual([['job_9', 'job_7', 'job_6'], ['job_5', 'job_4', 'job_3']]);
  });

  it('are at the end of a list that is loaded whole', () => {
    const whole: Pages = { pages: [{ data: [done('job_9')], has_more: false, next_cursor: null }], pageParams: [undefined] };
    expect(ids(mergeIntoPages(whole, changes(done('job_7')), { status: 'done' }))).toEqual([['job_9', 'job_7']]);
  });

  it('are left to their page when it is not loaded, though all loaded jobs have left the list', () => {
    const running = pagesOf([job('job_9', { status: 'running' })]);
    const empty = mergeIntoPages(running, changes(done('job_9')), { status: 'running' });
    expect(ids(mergeIntoPages(empty, changes(job('job_5', { status: 'running' })), { status: 'running' }))).toEqual([[]]);
  });
});

describe('changes of jobs worked into the latest jobs', () => {
  const latest = (...data: ConsoleJob[]) => ({ data, has_more: false, next_cursor: null });
  const idsAfter = (list: ReturnType<typeof latest>, changed: Changes, limit: number) => mergeIntoLatest(list, changed, limit).data.map(({ id }) => id);

  it('adds new jobs up to the number that is shown', () => {
    const six = latest(...[6, 5, 4, 3, 2, 1].map((number) => job(`job_${number}`)));
    expect(idsAfter(six, changes(job('job_7')), 8)).toEqual(['job_7', 'job_6', 'job_5', 'job_4', 'job_3', 'job_2', 'job_1']);
    expect(idsAfter(six, changes(job('job_7'), job('job_8')), 6)).toEqual(['job_8', 'job_7', 'job_6', 'job_5', 'job_4', 'job_3']);
  });

  it('adds one that was created before newer ones and noticed after them', () => {
    expect(idsAfter(latest(job('job_3'), job('job_1')), changes(job('job_2')), 8)).toEqual(['job_3', 'job_2', 'job_1']);
  });

  it('leaves no gap: jobs that were pushed out do not come back alone', () => {
    const pushed = mergeIntoLatest(latest(job('job_3'), job('job_2'), job('job_1')), changes(job('job_5'), job('job_4')), 3);
    const { data } = mergeIntoLatest(mergeIntoLatest(pushed, new Map([['job_5', null]]), 3), changes(job('job_1')), 3);
    expect(data.map(({ id }) => id)).toEqual(['job_4', 'job_3']);
  });

  it('takes out what was deleted', () => {
    expect(idsAfter(latest(job('job_2'), job('job_1')), new Map([['job_2', null]]), 8)).toEqual(['job_1']);
  });
});
