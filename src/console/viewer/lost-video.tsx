/** Videos whose links end after some time. */
import { type RefObject, useEffect, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { Notice } from '../ui/feedback.tsx';

export interface TimeLimitedLinks {
  /** whether the time of the shown links is over */
  hasEnded: () => boolean;
  /** Gets new links, which replace the shown ones. */
  renew: () => Promise<unknown>;
}

/** The service may have made a link that much earlier than it arrived here. */
const marginMs = 5000;

/** Whether links that arrived at `arrivedAt` (ms since 1970), and last for `seconds`, have ended. */
export function haveLinksEnded(arrivedAt: number, seconds: number): boolean {
  return Date.now() > arrivedAt + seconds * 1000 - marginMs;
}

/** Browsers do not say that a link was refused. An error of the network may be one, or a connection that broke. */
export function mayRenew(links: TimeLimitedLinks | undefined, { error }: HTMLVideoElement): boolean {
  return links !== undefined && (links.hasEnded() || error?.code === MediaError.MEDIA_ERR_NETWORK);
}

/** The shortest time between two new links that nobody has asked for: if they do not help, more do not either. */
const pauseMs = 30_000;

interface LostVideoProps {
  links: TimeLimitedLinks;
  /** ms since 1970 */
  renewedAt: RefObject<number>;
}

/** Gets new links, and says so only if that fails. */
export function LostVideo({ links, renewedAt }: LostVideoProps) {
  const [isTooSoon] = useState(() => Date.now() - renewedAt.current < pauseMs);
  const { run, busy, error } = useAction(async () => {
    await links.renew();
    renewedAt.current = Date.now();
  });
  useEffect(() => {
    if (!isTooSoon) run();
    // Once: a user asks for any further attempt.
  }, []);
  if (!isTooSoon && error === null) return null;
  return (
    <Notice tone="warn" role="alert" title="The video can no longer be loaded.">
      <span>Its link has ended, or the connection broke.</span>
      <div>
        <Button size="small" busy={busy} onClick={run}>
          Get a new link
        </Button>
      </div>
    </Notice>
  );
}
