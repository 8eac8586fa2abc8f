/** Reads lists page by page. */

/** What every list of the service answers. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  /** what to pass as `starting_after` to read on */
  next_cursor: string | null;
}

type Query = { starting_after?: string };

/** The page that `query` asks for and those after it, each fetched when it is asked for. */
export async function* pages<Q extends Query, P extends Page<unknown>>(
  fetchPage: (query: Q) => Promise<P>,
  query: Q,
): AsyncGenerator<P, void, undefined> {
  for (let next = query; ; ) {
    const page = await fetchPage(next);
    yield page;
    if (!page.has_more || page.next_cursor === null) return;
    next = { ...next, starting_after: page.next_cursor };
  }
}

/** The items of those pages, one by one. */
export async function* items<Q extends Query, Item>(
  fetchPage: (query: Q) => Promise<Page<Item>>,
  query: Q,
): AsyncGenerator<Item, void, undefined> {
  for await (const page of pages(fetchPage, query)) yield* page.data;
}
