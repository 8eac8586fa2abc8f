import { sentenceOf } from '../api/client.ts';
import { formatCount } from '../app/format.ts';
import { Button } from './button.tsx';

interface MoreProps {
  list: { data: unknown[] | undefined; error: unknown; hasMore: boolean; isLoadingMore: boolean; loadMore: () => unknown };
}

/** The "load more" button below a list, and what went wrong when it was loaded. */
export function More({ list }: MoreProps) {
  if (!list.hasMore) return null;
  const failed = list.error !== null;
  return (
    <div className="panel-foot row spread">
      {failed ? <span role="alert">{sentenceOf(list.error)}</span> : <span role="status">{formatCount(list.data?.length ?? 0)} loaded</span>}
      <Button size="small" busy={list.isLoadingMore} onClick={() => void list.loadMore()}>
        {failed ? 'Try again' : 'Load more'}
      </Button>
    </div>
  );
}
