/** The console as people see it who set their browser or system otherwise: forced colours, enlarged pages, paper. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseFiles, openSignedUp } from './steps.ts';
import { createTestJob, makeTestClip, openTab, pixelsOf, type World } from './world.ts';

let world: World;
let page: Page;
beforeAll(async () => {
  ({ world, page } = await openSignedUp());
});
afterAll(() => world?.close());

/** The colour left of the text, as painted: browsers do not report the colours that they force. */
async function paintedBehind(selector: string): Promise<number[]> {
  const { data, width, height } = await pixelsOf(await page.locator(selector).first().screenshot());
  const at = (Math.floor(height / 2) * width + 4) * 3;
  return [...data.subarray(at, at + 3)];
}

const backgroundOf = (selector: string): Promise<string> => page.locator(selector).first().evaluate((element) => getComputedStyle(element).backgroundColor);

describe.each(['light', 'dark'] as const)('in forced colours, %s', (colorScheme) => {
  beforeAll(() => page.emulateMedia({ forcedColors: 'active', colorScheme }));
  afterAll(() => page.emulateMedia({ forcedColors: 'none', colorScheme: 'light' }));

  it.each([
    ['the page in the navigation', '/enhance', ".nav a.item[aria-current='page']", '.nav a.item:not([aria-current])'],
    ['a choice', '/enhance', '.choice:has(input:checked)', '.choice:not(:has(input:checked))'],
    ['a segment of a control', '/credits', ".main .segmented [data-state='on']", ".main .segmented [data-state='off']"],
  ])('%s looks different where it is chosen', async (_name, path, chosen, other) => {
    await page.goto(`${world.url}${path}`);
    expect(await paintedBehind(chosen)).not.toEqual(await paintedBehind(other));
  });

  it('the tab that is open is underlined, the others are not', async () => {
    await page.goto(`${world.url}/secure`);
    const lineOf = (state: string) => page.locator(`.tab[data-state=${state}]`).first().evaluate((element) => getComputedStyle(element).borderBottomColor);
    const canvas = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await lineOf('inactive')).toBe(canvas);
    expect(await lineOf('active')).not.toBe(canvas);
  });

  it('the item of a menu that the keyboard is at looks different', async () => {
    await page.goto(`${world.url}/`);
    await page.getByRole('button', { name: 'Analytical Engines' }).press('Enter');
    await page.locator('.menu-item[data-highlighted]').waitFor();
    expect(await paintedBehind('.menu-item[data-highlighted]')).not.toEqual(await paintedBehind('.menu-item:not([data-highlighted])'));
  });

  it('the progress of an upload is seen', async () => {
    const clip = await makeTestClip(world, 'slow.mp4');
    await page.route('**/v1/upload-parts/**', () => undefined);
    await chooseFiles(page, world, [clip]);
    await page.getByRole('progressbar', { name: 'Upload of slow.mp4' }).waitFor();
    expect(await backgroundOf('.bar > span')).not.toBe(await backgroundOf('.bar'));
    await page.getByRole('button', { name: 'Cancel slow.mp4' }).click();
    await page.unroute('**/v1/upload-parts/**');
  });

  it('icons have a colour of the text', async () => {
    await page.goto(`${world.url}/`);
    await page.locator('.notice').waitFor();
    const colours = await page.locator('.brand, .notice').evaluateAll((all) => all.flatMap((each) => [...each.querySelectorAll('svg')].map((icon) => [getComputedStyle(icon).color, getComputedStyle(each).color])));
    expect(colours.length).toBeGreaterThan(1);
    for (const [icon, text] of colours) expect(icon).toBe(text);
  });
});

/** The contrast of the line around an element with what surrounds it. */
const contrastOfLine = (selector: string): Promise<number> =>
  page.locator(selector).first().evaluate((element) => {
    const colourIn = (text: string) => /rgba?\([^)]*\)/.exec(text)![0];
    const luminance = (colour: string) => {
      const [red, green, blue] = colour.match(/[\d.]+/g)!.map((value) => (Number(value) / 255 <= 0.04045 ? Number(value) / 255 / 12.92 : ((Number(value) / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
    };
    const { boxShadow, borderTopWidth, borderTopColor } = getComputedStyle(element);
    let around = element.parentElement!;
    while (getComputedStyle(around).backgroundColor === 'rgba(0, 0, 0, 0)') around = around.parentElement!;
    const line = borderTopWidth === '0px' ? colourIn(boxShadow.split(/,(?=\s*rgb)/).find((each) => each.includes('inset'))!) : borderTopColor;
    const [darker, lighter] = [line, getComputedStyle(around).backgroundColor].map(luminance).toSorted((a, b) => a - b);
    return (lighter! + 0.05) / (darker! + 0.05);
  });

it.each(['light', 'dark'] as const)('the lines that show what can be chosen, and what is, have a contrast of 3 : 1 in the %s theme', async (colorScheme) => {
  await page.emulateMedia({ colorScheme });
  await page.goto(`${world.url}/enhance`);
  for (const selector of [".segmented [data-state='on']", ".nav a.item[aria-current='page']", '.choice:not(:has(input:checked))']) {
    expect(await contrastOfLine(selector), selector).toBeGreaterThanOrEqual(3);
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

describe('on paper', () => {
  beforeAll(() => page.emulateMedia({ media: 'print' }));
  afterAll(() => page.emulateMedia({ media: 'screen' }));

  it('text is dark although the theme is, and the navigation is left out', async () => {
    await page.goto(`${world.url}/credits`);
    const colour = () => page.getByRole('heading', { name: 'Credits', exact: true }).evaluate((element) => getComputedStyle(element).color);
    const light = await colour();
    await page.evaluate(() => void (document.documentElement.dataset['theme'] = 'dark'));
    expect(await colour()).toBe(light);
    expect(await page.locator('.nav, .topbar').filter({ visible: true }).count()).toBe(0);
    await page.setViewportSize({ width: 718, height: 1000 });
    expect(await page.locator('.nav, .topbar').filter({ visible: true }).count()).toBe(0);
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  it('a dialog hides the page behind it', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    expect(await page.getByRole('dialog').evaluate((element) => getComputedStyle(element).getPropertyValue('print-color-adjust'))).toBe('exact');
    await page.keyboard.press('Escape');
  });
});

describe('on a page of 320 pixels', () => {
  let narrow: Page;
  beforeAll(async () => {
    narrow = (await openTab(world, { width: 320, height: 640, state: await page.context().storageState() })).page;
  });
  afterAll(() => narrow.context().close());

  it('the open navigation closes on Escape, and when the focus goes to the page behind it', async () => {
    await narrow.goto(`${world.url}/credits`);
    await narrow.getByRole('heading', { name: 'Ledger' }).waitFor();
    const isOpen = () => narrow.getByRole('navigation').isVisible();
    const button = narrow.locator('.topbar .button');
    await button.press('Enter');
    expect(await isOpen()).toBe(true);
    await narrow.keyboard.press('Escape');
    expect(await isOpen()).toBe(false);
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.press('Enter');
    for (let presses = 0; presses < 40 && (await narrow.evaluate(() => document.activeElement?.closest('main') === null)); presses++) await narrow.keyboard.press('Tab');
    expect(await isOpen()).toBe(false);
  });

  it('what gets the focus is not behind the bar at the top', async () => {
    await narrow.goto(`${world.url}/settings`);
    await narrow.getByText('Current', { exact: true }).waitFor();
    await narrow.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    const hidden: string[] = [];
    for (let presses = 0; presses < 25; presses++) {
      await narrow.keyboard.press('Shift+Tab');
      const behind = await narrow.evaluate(() => {
        const [focused, bar] = [document.activeElement!, document.querySelector('.topbar')!.getBoundingClientRect()];
        return focused.closest('main') !== null && focused.getBoundingClientRect().top < bar.bottom ? focused.outerHTML.slice(0, 100) : null;
      });
      if (behind !== null) hidden.push(behind);
    }
    expect(hidden).toEqual([]);
  });
});

it('screen readers hear how many entries are loaded', async () => {
  for (let job = 0; job < 10; job++) await createTestJob(page, world, `entry-${job}.mp4`);
  await page.goto(`${world.url}/secure`);
  await page.getByRole('status').getByText('25 loaded').waitFor({ timeout: 20_000 });
});

it('a name that turns the direction of the text turns nothing but itself', async () => {
  const { id } = await world.site.reelmend<{ id: string }>('accounts', 'create', 'left \u202Ethgir');
  const { url } = await world.site.reelmend<{ url: string }>('users', 'invite', id, 'joan@example.com');
  const { page: visitor } = await openTab(world);
  await visitor.goto(`${world.url}/invitation${new URL(url).hash}`);
  const sentence = visitor.getByText('You are invited to');
  await sentence.waitFor();
  const [as, until] = await sentence.evaluate((element) => {
    const rest = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    return [rest[1]!, rest.at(-2)!].map((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getBoundingClientRect().left;
    });
  });
  expect(as).toBeLessThan(until!);
  await visitor.context().close();
});

it('such a name turns neither the title of a dialog, nor a message, nor the title of the page', async () => {
  const lastIsRightmost = (text: string) =>
    page.locator(text).evaluate((element) => {
      const node = element.firstChild as Text;
      const leftOf = (index: number) => {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        return range.getBoundingClientRect().left;
      };
      return leftOf(node.length - 1) === Math.max(...Array.from({ length: node.length }, (_, index) => leftOf(index)));
    });
  await world.site.reelmend('operators', 'add', 'ada@example.com', '--existing');
  const { id } = await world.site.reelmend<{ id: string }>('accounts', 'create', 'lasting \u202Eemordnilap');
  await page.goto(`${world.url}/operator/accounts`);
  await page.getByRole('searchbox').fill(id);
  await page.getByRole('button', { name: /^Actions for .?lasting/ }).click();
  await page.getByRole('menuitem', { name: 'Close' }).click();
  await page.getByRole('heading', { name: /^Close .?lasting/ }).waitFor();
  expect(await lastIsRightmost('dialog h2')).toBe(true);
  await page.getByLabel('Name of the account').fill('lasting \u202Eemordnilap');
  await page.getByRole('button', { name: 'Close the account' }).click();
  await page.locator('.toast').waitFor();
  expect(await lastIsRightmost('.toast .wrap-anywhere')).toBe(true);
  await page.goto(`${world.url}/jobs/${await createTestJob(page, world, 'clip%E2%80%AE4pm.mp4')}`);
  await expect.poll(() => page.title()).toBe('\u2068clip\u202E4pm.mp4\u2069 · Reelmend');
});
