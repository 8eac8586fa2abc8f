/** Warns before live jobs are refused for a lack of credits. */
import { useSession } from '../api/session.ts';
import { formatCredits, formatTarget } from '../app/format.ts';
import { Notice } from '../ui/feedback.tsx';

/** Shows nothing while the balance covers a minute of video at the highest Standard price, and for accounts without live mode. */
export function LowCreditsNotice() {
  const { account, pricing } = useSession();
  const minute = Math.round(pricing.standard.per_minute['4k'] * 100);
  if (account.approval_status !== 'approved' || account.credits >= minute) return null;
  return (
    <Notice tone="warn" title={account.credits === 0 ? 'This account has no live credits.' : 'The live credits will soon be used up.'}>
      {account.credits > 0 && `The balance is ${formatCredits(account.credits)}; a minute of video at ${formatTarget('4k')} costs ${formatCredits(minute)}. `}
      A live job that costs more than the balance is refused. Ask the operator of this service for credits.
    </Notice>
  );
}
