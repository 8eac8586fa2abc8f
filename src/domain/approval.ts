/** Approval of an account by an operator, which live mode needs. */
import { ReelmendError } from './errors.ts';

export type ApprovalStatus = 'pending' | 'approved' | 'rejected';

/** The refusal of live mode for an account that is not approved. */
export function notApproved(status: ApprovalStatus): ReelmendError {
  const why =
    status === 'pending'
      ? 'The account is not approved for live mode yet. Test keys work meanwhile.'
      : 'The account was rejected for live mode. Test keys work.';
  return new ReelmendError('account_pending_approval', why);
}
