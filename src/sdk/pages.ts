/** Reads lists page by page. */

/** What every list of the service answers. */
export interface Page<Item, Cursor extends string | number = string | number> {
  data: Item[];
  has_more: boolean;
  /** what to pass as `starting_after` to read on */
  next_cursor: Cursor | null;
}

interface Query<Cursor> {
  starting_after?: Cursor;
}

/** The page that `query` asks for and those after it, each fetched when it is asked for. */
export async function* pages<Cursor extends string | number, Q extends Query<Cursor>, P extends Page<unknown, Cursor>>(
  fetchPage: (query: Q) => Promise<P>,
  query: Q,
): AsyncGenerator<P, void, undefined> {
  for (let next = query; ;) {
    const page = await fetchPage(next);
    yield page;
    if (!page.has_more || page.next_cursor === null) return;
    next = { ...next, starting_after: page.next_cursor };
  }
}

/** The items of those pages, one by one. */
export async function* items<Cursor extends string | number, Q extends Query<Cursor>, Item>(
  fetchPage: (query: Q) => Promise<Page<Item, Cursor>>,
  query: Q,
): AsyncGenerator<Item, void, undefined> {
  for await (const page of pages(fetchPage, query)) yield* page.data;
}
