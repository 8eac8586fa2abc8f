/** What an operator does in the console for the accounts of the tests. */
import type { Page } from 'playwright-core';
import type { Tab, World } from './world.ts';

/** Waits for a toast message. */
export function waitForToast(page: Page, text: string): Promise<void> {
  return page.locator('.toast', { hasText: text }).waitFor();
}

/** Makes whoever has signed up as grace@example.com an operator, on the command line. */
export async function makeOperator({ site }: World): Promise<void> {
  await site.reelmend('operators', 'add', 'grace@example.com', '--existing');
}

/** The operator approves an account and gives it credits. */
export async function letIn({ page }: Tab, name: string): Promise<void> {
  await page.reload();
  await page.getByRole('link', { name: /^Accounts/ }).click();
  await page.getByRole('button', { name: `Approve ${name}` }).click();
  await waitForToast(page, `${name} is approved.`);
  await page.getByRole('radio', { name: 'Approved' }).click();
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: 'Grant credits' }).click();
  await page.getByLabel('Credits', { exact: true }).fill('5000');
  await page.getByLabel('Note').fill('Welcome');
  await page.getByRole('button', { name: 'Grant', exact: true }).click();
  await waitForToast(page, `Granted 5,000 credits to ${name}.`);
}
