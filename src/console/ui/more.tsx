import { useLayoutEffect, useRef } from 'react';
import { sentenceOf } from '../api/client.ts';
import { formatCount } from '../app/format.ts';
import { Button } from './button.tsx';

interface MoreProps {
  list: {
    data: unknown[] | undefined;
    error: unknown;
    hasMore: boolean;
    /** more than the first page is loaded */
    isExtended?: boolean;
    isLoadingMore: boolean;
    loadMore: () => unknown;
  };
}

/** The "load more" button below a list, and what went wrong when it was loaded. Once all is loaded, the focus of the button goes to the line that says so. */
export function More({ list }: MoreProps) {
  const { data, error, hasMore, isExtended = false, isLoadingMore, loadMore } = list;
  const line = useRef<HTMLSpanElement>(null);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (!hasMore && hadFocus.current) line.current?.focus({ preventScroll: true });
    hadFocus.current = false;
  }, [hasMore]);
  if (!hasMore && !isExtended) return null;
  const failed = hasMore && error !== null;
  return (
    <div className="panel-foot row spread">
      {failed ? (
        <span role="alert">{sentenceOf(error)}</span>
      ) : (
        <span ref={line} role="status" tabIndex={-1}>
          {hasMore ? '' : 'All '}
          {formatCount(data?.length ?? 0)} loaded
        </span>
      )}
      {hasMore && (
        <Button
          // What leaves the page has the focus until then.
          ref={(button) => () => {
            hadFocus.current = document.activeElement === button;
          }}
          size="small"
          busy={isLoadingMore}
          onClick={() => void loadMore()}
        >
          {failed ? 'Try again' : 'Load more'}
        </Button>
      )}
    </div>
  );
}
