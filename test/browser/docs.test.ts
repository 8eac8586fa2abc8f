/** The documents in a browser: accessible in both themes and on phones, searched, copied, without anything of other hosts. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApi } from '../helpers/http.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { hangMs } from '../helpers/wait.ts';
import { axeViolations, launchBrowser, openTab, type Theme, unreachableByTab, violationsInBothThemes, type World } from './world.ts';

const buildDocs = join(import.meta.dirname, '../../scripts/build-docs');
const docsDir = join(import.meta.dirname, '../../build/docs');
let world: Pick<World, 'browser' | 'url'>;
let close: () => void;

beforeAll(async () => {
  await promisify(execFile)(buildDocs, [], { timeout: hangMs });
  const { app } = makeApi({ docsDir });
  const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
    const started: ReturnType<typeof serve> = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => resolve(started));
  });
  world = { browser: await launchBrowser(), url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  close = () => server.close();
});
afterAll(async () => {
  await world?.browser.close();
  close?.();
});

/** One page of each kind has screenshots. */
const kinds = ['', 'quick-start', 'reference', 'reference/jobs'];
const names = () => globSync('**/*.html', { cwd: docsDir }).map((name) => name.replace(/\.html$/, '').replace(/^index$/, ''));
const pathOf = (name: string) => (name === '' ? '/docs' : `/docs/${name}`);

/**
 * All pages share their elements and colours. So one page of each kind is scanned, and the others by `npm run test:long`: on phones in
 * the light theme, since colours do not depend on the width.
 */
async function violationsOf(page: Page, name: string, width: number): Promise<string[]> {
  const isKind = kinds.includes(name);
  if (!isKind && !isLongRun) return [];
  if (!isKind && width < 500) return axeViolations(page);
  const shot = (theme: Theme) => `docs-${name.replaceAll('/', '-') || 'home'}-${theme}-${width}`;
  return violationsInBothThemes(page, isKind ? shot : undefined);
}

describe.each([390, 1440])('%i pixels wide', (width) => {
  it('pages are accessible, fit, and are quiet', async () => {
    const { page, complaints } = await openTab(world, { width });
    expect(names().length).toBeGreaterThan(17);
    for (const name of names().toSorted()) {
      await page.goto(`${world.url}${pathOf(name)}`);
      expect(await violationsOf(page, name, width), name).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow, `${name}: pixels that stick out to the side`).toBe(0);
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('what the search finds, and the navigation of a phone, are accessible and fit', async () => {
    const { page } = await openTab(world, { width });
    const check = async (what: string) => {
      expect(await violationsInBothThemes(page), what).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow, `${what}: pixels that stick out to the side`).toBe(0);
    };
    await page.goto(`${world.url}/docs/errors`);
    if (width < 500) {
      await page.getByRole('button', { name: 'Menu' }).press('Enter');
      await page.getByRole('navigation', { name: 'Documentation' }).waitFor();
      await check('navigation');
      await page.keyboard.press('Escape');
    }
    await page.keyboard.press('/');
    await page.keyboard.type('job_not_done');
    await page.getByRole('link', { name: /^job_not_done/ }).first().waitFor();
    await check('results');
    // The first result is highlighted.
    await page.keyboard.press('ArrowDown');
    await check('highlighted result');
    await page.keyboard.press('/');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('xyzzyplugh');
    await page.getByText('Nothing was found.').waitFor();
    await check('no result');
    await page.context().close();
  });
});

describe('a reader', () => {
  it('searches without a mouse, and gets to the place', async () => {
    const { page, complaints } = await openTab(world, { width: 390 });
    await page.goto(`${world.url}/docs`);
    await page.keyboard.press('/');
    await page.keyboard.type('job_not_done');
    await page.getByRole('link', { name: /^job_not_done/ }).first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/errors#job_not_done');
    expect(await page.evaluate(() => document.querySelector(':target')?.textContent)).toContain('has not finished');
    await page.keyboard.press('/');
    await page.keyboard.type('xyzzyplugh');
    await page.getByText('Nothing was found.').waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('is told how many results there are, and that the best of them are shown', async () => {
    const { page } = await openTab(world);
    await page.goto(`${world.url}/docs`);
    await page.keyboard.press('/');
    const results = page.getByRole('list', { name: 'Results' }).getByRole('listitem');
    const searchFor = (text: string) => page.getByLabel('Search the documentation').fill(text);
    await searchFor('video');
    await page.getByText(/^The best 12 of \d+ results$/).waitFor();
    expect(await results.count()).toBe(12);
    await searchFor('job_not_done');
    const few = page.locator('.search-note', { hasText: /^[2-9] results$/ });
    await few.waitFor();
    expect(await results.count()).toBe(parseInt((await few.textContent())!, 10));
    await page.context().close();
  });

  it('reaches every control of each kind of page with the Tab key, on wide screens and phones', async () => {
    for (const width of [390, 1440]) {
      const { page } = await openTab(world, { width });
      for (const name of isLongRun ? names().toSorted() : kinds) {
        await page.goto(`${world.url}${pathOf(name)}`);
        expect(await unreachableByTab(page), `${name}, ${width} pixels`).toEqual([]);
      }
      await page.context().close();
    }
  });

  it('chooses a language once, copies a sample, and keeps the theme', async () => {
    const { page, complaints } = await openTab(world, { theme: 'light' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${world.url}/docs/reference/jobs`);
    await page.getByRole('tab', { name: 'curl' }).first().press('ArrowRight');
    await page.goto(`${world.url}/docs/reference/uploads`);
    expect(await page.getByRole('tab', { name: 'TypeScript' }).first().getAttribute('aria-selected')).toBe('true');
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('createReelmend()');
    // As on pages over http from another machine.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Copy', exact: true }).last().press('Enter');
    await page.getByRole('button', { name: 'Copied' }).last().waitFor();
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('copy');
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByRole('button', { name: 'Dark' }).click();
    const dark = await paper();
    expect(dark).not.toBe(light);
    await page.reload();
    expect(await paper()).toBe(dark);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('opens and closes the navigation of a phone', async () => {
    const { page } = await openTab(world, { width: 390 });
    await page.goto(`${world.url}/docs/errors`);
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('navigation', { name: 'Documentation' }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.context().close();
  });

  it('comes by a link to the former reference', async () => {
    const { page } = await openTab(world);
    await page.goto(`${world.url}/docs#/Jobs/createJob`);
    await page.waitForURL('**/docs/reference/jobs#createJob');
    await page.context().close();
  });

  it('reads without scripts', async () => {
    const context = await world.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${world.url}/docs/reference/jobs`);
    expect(await page.getByText('createReelmend()').first().isVisible()).toBe(true);
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    await context.close();
  });
});
