/** The mode that this account can run the bundled sample in, and the text for it. */
import type { ConsoleSession, Mode } from '../../contract/types.gen.ts';

export interface SampleOffer {
  mode: Mode;
  url: string;
  text: string;
}

/** A balance that always covers the sample of a few seconds. */
const sampleCredits = 60;

export function sampleOffer({ account, capabilities }: ConsoleSession): SampleOffer {
  const { live, test } = capabilities.sample_url;
  if (live !== null && account.approval_status === 'approved' && account.credits >= sampleCredits) {
    const text = 'Enhances a clip of a few seconds in live mode. Then compare before and after.';
    return { mode: 'live', url: live, text };
  }
  const text = 'Look at a real video before and after. Then run a simulated job in test mode: it ends in seconds with a sample result and is free.';
  return { mode: 'test', url: test, text };
}
