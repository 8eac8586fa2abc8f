/** Which mode the bundled sample can run in for this account, and how to say so. */
import type { ConsoleSession, Mode } from '../../contract/types.gen.ts';

export interface SampleOffer {
  mode: Mode;
  url: string;
  text: string;
}

/** The smallest balance that surely pays for the sample of a few seconds. */
const sampleCredits = 60;

export function sampleOffer({ account, capabilities }: ConsoleSession): SampleOffer {
  const { live, test } = capabilities.sample_url;
  if (live !== null && account.approval_status === 'approved' && account.credits >= sampleCredits) {
    const text = 'A clip of a few seconds is enhanced for real; then compare before and after.';
    return { mode: 'live', url: live, text };
  }
  const text = 'A mock job in the sandbox: it runs through in seconds and hands out a test picture. Nothing is charged.';
  return { mode: 'test', url: test, text };
}
