/** Forgotten passwords: an operator creates a one-time link, and its holder sets a new password. */
import { ReelmendError } from '../../domain/errors.ts';
import { generateLinkToken, hashLinkToken, linkUrl } from '../../domain/one-time-link.ts';
import type { WithConsole } from '../deps.ts';
import type { ConsoleHandlers } from '../register.ts';
import { clientIp } from './guard.ts';

type PasswordLinkHandlers = Pick<ConsoleHandlers, 'consoleUsePasswordLink' | 'operatorCreatePasswordLink'>;

export function passwordLinkHandlers(deps: WithConsole): PasswordLinkHandlers {
  const { store, passwords, proxyHops } = deps.console;
  return {
    consoleUsePasswordLink: async (c) => {
      const { token, new_password } = c.req.valid('json');
      const tokenHash = hashLinkToken('password', token, deps.keyPepper);
      // Before the slow hash, so that guesses cost little. A token cannot be guessed, so the time reveals nothing.
      if (!(await store.passwordLinks.isOpen(tokenHash))) throw linkInvalid();
      const password = await passwords.hash(new_password, clientIp(c, proxyHops));
      if (!(await store.passwordLinks.use(tokenHash, password))) throw linkInvalid();
      return c.json({ changed: true as const }, 200);
    },

    operatorCreatePasswordLink: async (c) => {
      const token = generateLinkToken();
      const actor = { operator_id: c.get('session').user.id };
      const hash = hashLinkToken('password', token, deps.keyPepper);
      const link = await store.passwordLinks.create(c.req.valid('param').id, hash, actor);
      if (link === null) throw new ReelmendError('not_found', 'There is no such person.');
      return c.json({ url: linkUrl(deps.publicUrl(), 'password', token), expires_at: link.expiresAt.toISOString() }, 201);
    },
  };
}

/** One message for all: unknown, used, replaced, expired. */
export function linkInvalid(): ReelmendError {
  const message = 'The link is not valid. It works once and only for a limited time. Ask for a new one.';
  return new ReelmendError('one_time_link_invalid', message);
}
