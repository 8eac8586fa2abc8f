import { formatCount } from '../app/format.ts';
import { Button } from './button.tsx';

interface MoreProps {
  list: { data: unknown[] | undefined; hasMore: boolean; isLoadingMore: boolean; loadMore: () => unknown };
}

/** The "load more" button below a list. */
export function More({ list }: MoreProps) {
  if (!list.hasMore) return null;
  return (
    <div className="panel-foot row spread">
      <span>{formatCount(list.data?.length ?? 0)} loaded</span>
      <Button size="small" busy={list.isLoadingMore} onClick={() => void list.loadMore()}>
        Load more
      </Button>
    </div>
  );
}
