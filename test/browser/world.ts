/** A real service with its built console, and a real Chromium that looks at it. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { makeClip } from '../helpers/ffmpeg.ts';
import { makeDemoClip } from '../helpers/samples.ts';
import { createSite, type Environment, type Running, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';

const run = promisify(execFile);
const buildConsole = fileURLToPath(new URL('../../scripts/build-console', import.meta.url));
const require = createRequire(import.meta.url);
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const shotDir = fileURLToPath(new URL('../../build/screenshots', import.meta.url));

export interface World {
  site: Site;
  service: Running;
  /** base of the console, without a trailing slash */
  url: string;
  browser: Browser;
  close(): Promise<void>;
}

function chromiumPath(): string {
  // Chromium without the parts that draw a window: the same engine for a third less processor time.
  const path = process.env['REELMEND_CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';
  if (!existsSync(path)) throw new Error(`There is no browser at ${path}; install Debian's chromium-headless-shell or set REELMEND_CHROMIUM`);
  return path;
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // The tests may run as root, where Chromium's own sandbox refuses to start; it sees nothing but this service.
    args: ['--no-sandbox', '--mute-audio', '--disable-gpu'],
  });
}

/** Builds the console, starts the service and the browser. There is an account already, so that no demo job runs. `quickDemo`: the demo's clip has few frames. */
export async function openWorld(env: Environment = {}, options: { quickDemo?: boolean } = {}): Promise<World> {
  const building = run(buildConsole, [], { timeout: hangMs });
  const site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '600', ...env });
  await building;
  await site.reelmend('accounts', 'create', 'Somebody else');
  if (options.quickDemo === true) await makeDemoClip(site.dataDir);
  const service = await site.start('start');
  const browser = await launchBrowser();
  return {
    site,
    service,
    url: `${service.url}/console`,
    browser,
    async close() {
      await browser.close();
      await site.close();
    },
  };
}

export interface Look {
  theme?: Theme;
  width?: number;
  height?: number;
  /** cookies of somebody who is signed in already */
  state?: Awaited<ReturnType<BrowserContext['storageState']>>;
}

/** A tab that keeps account of everything that should not happen. */
export interface Tab {
  page: Page;
  /** errors, violations of the policy, and requests to other hosts so far */
  complaints: string[];
}

export async function openTab(world: Pick<World, 'browser' | 'url'>, look: Look = {}): Promise<Tab> {
  const context = await world.browser.newContext({
    viewport: { width: look.width ?? 1280, height: look.height ?? 860 },
    colorScheme: look.theme ?? 'light',
    reducedMotion: 'reduce',
    ...(look.state === undefined ? {} : { storageState: look.state }),
  });
  const page = await context.newPage();
  page.setDefaultTimeout(hangMs);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refused call is in the browser's log however well the page answers it.
    if (message.type() === 'error' && !/status of (401|400|403|404|409)/.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    const own = ['blob:', 'data:'].includes(url.protocol) || url.origin === new URL(world.url).origin;
    if (!own) complaints.push(`request to ${url.origin}`);
  });
  return { page, complaints };
}

export interface Scan {
  /** only these rules */
  rules?: readonly string[];
  /** selector of the elements to check; default: the whole page */
  within?: string;
}

/** `id (impact): element` of every rule of accessibility that the page breaks. */
export async function axeViolations(page: Page, scan: Scan = {}): Promise<string[]> {
  // Half a megabyte of program, which a page keeps.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource);
  return page.evaluate(async ({ rules: values, within }) => {
    const { axe } = window as unknown as {
      axe: { run(where: Document | string, options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    // axe makes selectors and details of every element that passes, too, if it is not told that nobody reads them.
    const options = { resultTypes: ['violations'], selectors: false, ...(values === undefined ? {} : { runOnly: { type: 'rule', values } }) };
    const { violations } = await axe.run(within ?? document, options);
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => `${id} (${impact}): ${html.slice(0, 200)}`));
  }, scan);
}

const wantsScreenshots = process.env['REELMEND_SCREENSHOTS'] === '1';

/** Those of axe's usual rules that look at colours. */
const colourRules = ['color-contrast', 'link-in-text-block'];

export type Theme = 'light' | 'dark';

/**
 * Checks what is shown in both themes, and returns to the light one. Both have the same elements, since only colours depend on
 * `prefers-color-scheme`. So the rules that are not about colours are checked once. `shot`: name of the screenshot. `within`: as
 * of `Scan`, in the light theme and in the dark one; null: there the theme is not scanned.
 */
export async function violationsInBothThemes(page: Page, shot?: (theme: Theme) => string, within: { light?: string | null; dark?: string | null } = {}): Promise<string[]> {
  const inTheme = async (theme: Theme, scan: Scan = {}) => {
    const where = within[theme];
    if (where === null && !wantsScreenshots) return [];
    await page.emulateMedia({ colorScheme: theme });
    if (shot !== undefined) await screenshot(page, shot(theme));
    if (where === null) return [];
    return (await axeViolations(page, where === undefined ? scan : { ...scan, within: where })).map((violation) => `${theme}: ${violation}`);
  };
  const violations = [...(await inTheme('light')), ...(await inTheme('dark', { rules: colourRules }))];
  await page.emulateMedia({ colorScheme: 'light' });
  return violations;
}

/** Controls that are seen and can be used, and that the Tab key never reaches, as HTML. */
export async function unreachableByTab(page: Page): Promise<string[]> {
  const count = await page.evaluate(() => {
    const controls = [...document.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, summary, [tabindex]')];
    // Tab stops once in a group of radio buttons, at the checked one; arrow keys reach the others.
    const isOther = (element: HTMLElement) =>
      element instanceof HTMLInputElement && element.type === 'radio' && !element.checked && document.querySelector(`input[name="${element.name}"]:checked`) !== null;
    const left = new Set(controls.filter((each) => each.tabIndex >= 0 && !each.matches(':disabled') && each.checkVisibility({ visibilityProperty: true }) && !isOther(each)));
    for (const seen of [document.activeElement]) left.delete(seen as HTMLElement);
    document.addEventListener('focusin', ({ target }) => left.delete(target as HTMLElement));
    Object.assign(window, { leftByTab: left });
    return left.size;
  });
  const left = () => page.evaluate(() => [...(window as unknown as { leftByTab: Set<HTMLElement> }).leftByTab].filter((each) => each.isConnected).map(({ outerHTML }) => outerHTML.slice(0, 200)));
  // Twice around, should the page begin in its middle. Twenty keys go to the browser at once: waiting for each takes most of the time.
  const devtools = await page.context().newCDPSession(page);
  const tab = { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 };
  const pressTab = () => [devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...tab }), devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...tab })];
  for (let presses = 0; presses <= 2 * count + 10; presses += 20) {
    await Promise.all(Array.from({ length: 20 }, pressTab).flat());
    if ((await left()).length === 0) break;
  }
  await devtools.detach();
  return left();
}

/** Written to build/screenshots, for people to look at, if they are wanted (scripts/screens): they take a third of the browser's time. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!wantsScreenshots) return;
  mkdirSync(shotDir, { recursive: true });
  await page.screenshot({ path: join(shotDir, `${name}.png`), fullPage: true });
}

/** Makes a clip of a second in the data folder; returns its path. */
export async function makeTestClip(world: World, name: string): Promise<string> {
  const path = join(world.site.dataDir, name);
  await makeClip(path, { video: 'testsrc2=size=160x90:rate=10', seconds: 1, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
  return path;
}

/** The answer of a service that has too much to do. */
export const unavailable = { status: 503, json: { error: { code: 'service_unavailable', message: 'The service is busy.', type: 'api_error', request_id: 'req_x' } } };

/** Drops files and folders of this machine, as from a file manager, on the page for a new job. */
export async function dropFiles(page: Page, files: string[]): Promise<void> {
  const { x, y, width, height } = (await page.locator('.drop').boundingBox())!;
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await devtools.send('Input.dispatchDragEvent', { type, x: x + width / 2, y: y + height / 2, data });
  }
}

export const password = 'correct horse battery staple';

export async function signUp({ page }: Tab, world: World, email: string, name: string): Promise<void> {
  await page.goto(`${world.url}/sign-up`);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Account name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
}

/** A preview of whoever is signed in, in test mode; returns its id. */
export function createTestPreview(page: Page, world: Pick<World, 'url'>, settings: object[]): Promise<string> {
  return createInTestMode(page, world, 'previews', { video_url: 'https://media.example.com/holiday.mp4', settings });
}

/** A job of whoever is signed in, in test mode; returns its id. The file name selects the outcome. */
export function createTestJob(page: Page, world: Pick<World, 'url'>, fileName: string, more: object = {}): Promise<string> {
  return createInTestMode(page, world, 'jobs', { video_url: `https://media.example.com/${fileName}`, resolution: '1080p', ...more });
}

/** Deletes a job of whoever is signed in, as another tab would. */
export const deleteJob = (page: Page, world: Pick<World, 'url'>, id: string): Promise<void> => deleteElsewhere(page, world, `jobs/${id}`);

/** Deletes a preview in the same way. */
export const deletePreview = (page: Page, world: Pick<World, 'url'>, id: string): Promise<void> => deleteElsewhere(page, world, `previews/${id}`);

async function deleteElsewhere(page: Page, world: Pick<World, 'url'>, path: string): Promise<void> {
  const response = await page.request.delete(`${world.url}/api/${path}`, { headers: await changeHeaders(page, world) });
  if (response.status() !== 200) throw new Error(`It was refused: ${await response.text()}`);
}

/** Headers of a call that changes something. */
async function changeHeaders(page: Page, { url }: Pick<World, 'url'>): Promise<Record<string, string>> {
  const csrf = await page.evaluate(async () => {
    const session = (await (await fetch('/console/api/session')).json()) as { csrf_token: string };
    return session.csrf_token;
  });
  return { 'X-CSRF-Token': csrf, Origin: new URL(url).origin };
}

async function createInTestMode(page: Page, world: Pick<World, 'url'>, what: 'jobs' | 'previews', request: object): Promise<string> {
  const headers = await changeHeaders(page, world);
  const response = await page.request.post(`${world.url}/api/${what}`, { data: { mode: 'test', request }, headers });
  if (response.status() !== 201) throw new Error(`It was refused: ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

export interface Pixels {
  width: number;
  height: number;
  /** RGB, row by row */
  data: Buffer;
}

/** A PNG's pixels, decoded by the ffmpeg command line. */
export async function pixelsOf(png: Buffer): Promise<Pixels> {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const child = spawn('ffmpeg', ['-v', 'error', '-f', 'png_pipe', '-i', 'pipe:0', '-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1']);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdin.end(png);
  await ended;
  const data = Buffer.concat(chunks);
  if (data.length !== width * height * 3) throw new Error('the screenshot could not be decoded');
  return { width, height, data };
}

/** Mean difference of two pictures' samples (0…255) over the columns `from`…`to` (parts of the width). */
export function meanDifference(a: Pixels, b: Pixels, from: number, to: number): number {
  let sum = 0;
  let count = 0;
  for (let y = 0; y < a.height; y++) {
    for (let x = Math.ceil(from * a.width) * 3; x < Math.floor(to * a.width) * 3; x++) {
      const at = y * a.width * 3 + x;
      sum += Math.abs(a.data[at]! - b.data[at]!);
      count += 1;
    }
  }
  return sum / count;
}
